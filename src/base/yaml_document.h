/* yaml_document: what the two halves of yaml share: the reader on libyaml, and access to the tree. */
#ifndef GOODPUT_BASE_YAML_DOCUMENT_H
#define GOODPUT_BASE_YAML_DOCUMENT_H

#include "base/yaml.h"

/* What errors about a node need; lives in the arena of the tree. */
struct yaml_document {
	struct str source, text;
};

/* The byte where a character is. `line` and `column` count from 0, the column in characters, as libyaml does. */
size_t yaml_offset(struct str text, size_t line, size_t column);

#endif

/* read: what the readers of the file's parts share; not for other folders. All return false with an error at the value. */
#ifndef GOODPUT_WORKLOAD_READ_H
#define GOODPUT_WORKLOAD_READ_H

#include "base/yaml.h"
#include "workload/content.h"

/* A whole number without quotes; absent: left alone. */
bool read_whole(const struct yaml *map, const char *key, uint64_t least, uint64_t most, uint64_t *value, struct error *e);
bool read_u32(const struct yaml *map, const char *key, uint32_t least, uint32_t most, uint32_t *value, struct error *e);
bool read_number(const struct yaml *map, const char *key, double least, double most, double *value, struct error *e);
/* Sets the index in `names`, which a NULL ends. */
bool read_choice(const struct yaml *map, const char *key, const char *const *names, int *value, struct error *e);
/* A map with known keys only. */
bool read_map_of(const struct yaml *node, const char *const *known, struct error *e);
/* One number of tokens. No error is set. */
bool read_tokens(const struct yaml *node, uint32_t *tokens);
/* A member that must be there. */
bool read_length(const struct yaml *map, const char *key, struct arena *arena, struct length *l, struct error *e);
bool read_sampling(struct workload *w, const struct yaml *node, struct error *e);

#endif

/* compress: deflate with its state kept between calls. Internal to the store. */
#ifndef GOODPUT_STORE_COMPRESS_H
#define GOODPUT_STORE_COMPRESS_H

#include "base/buf.h"

enum { COMPRESS_MAX = 1 << 26 }; /* bytes of one blob, unpacked */

struct compressor;
/* `fast`: for the log, which is written every second and lives for minutes. */
struct compressor *compressor_new(bool fast);
void compressor_free(struct compressor *c);
/* Appends `plain` to `out`: deflated where that is shorter, else as it is. */
void compressor_pack(struct compressor *c, struct str plain, struct buf *out);
/* As it is, without looking for what is shorter. */
void compressor_keep(struct str plain, struct buf *out);
/* What compressor_pack or compressor_keep was given; may point into `packed`, else is valid until the next call. False: damaged. */
bool compressor_unpack(struct compressor *c, struct str packed, struct str *plain);

#endif

/* md5: only because relabelling's hashmod is defined by it; it protects nothing. */
#ifndef GOODPUT_BASE_MD5_H
#define GOODPUT_BASE_MD5_H

#include <stddef.h>
#include <stdint.h>

void md5(const void *bytes, size_t size, uint8_t digest[16]);

#endif

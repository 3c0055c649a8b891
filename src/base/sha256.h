/* sha256: content hashes that people compare by eye and files carry (FIPS 180-4). */
#ifndef GOODPUT_BASE_SHA256_H
#define GOODPUT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT = 65 };

void sha256(const void *bytes, size_t size, uint8_t digest[32]);
/* 64 lower-case hexadecimal digits, terminated. */
void sha256_text(const void *bytes, size_t size, char text[SHA256_TEXT]);

#endif

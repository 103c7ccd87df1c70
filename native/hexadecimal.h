/* Lower-case hexadecimal, both ways: ids are mostly digests, and each is read once and written twice. */
#ifndef SLUICE_HEXADECIMAL_H
#define SLUICE_HEXADECIMAL_H

#include <stddef.h>
#include <stdint.h>
#pragma GCC visibility push(hidden)

/* `bytes` as digits, without an end. */
void hex_of(const uint8_t *bytes, size_t length, char *out);

/* The bytes of `2 * length` digits; 0 where one is none. */
int bytes_of_hex(const uint8_t *digits, size_t length, uint8_t *out);

/* What a digit says; -1 where it is none. */
static inline int hex_digit(uint8_t c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

#pragma GCC visibility pop

#endif

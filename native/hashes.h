/* Hashes of the native core: SHA-256 (FIPS 180-4), CRC-32C (RFC 3720, B.4), and the two partitioners'. */
#ifndef SLUICE_HASHES_H
#define SLUICE_HASHES_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#pragma GCC visibility push(hidden)

enum { SHA256_BYTES = 32 };

void sha256_of(const void *data, size_t length, uint8_t out[SHA256_BYTES]);

/* Of two at once, which takes little longer than of the longer one. */
void sha256_of_both(View one, View other, uint8_t of_one[SHA256_BYTES], uint8_t of_other[SHA256_BYTES]);

/* RFC 6962: SHA-256 over 0x00 and the data. */
void leaf_hash(const void *data, size_t length, uint8_t out[SHA256_BYTES]);

/* The same of `count` pieces of some data, one behind the other, up to these ends. */
void leaf_hashes(const uint8_t *data, const size_t *ends, size_t count, uint8_t *leaves);

/* RFC 6962: the root of `count` leaves of 32 bytes each, at least one, over 0x01 and two hashes; overwrites them. */
void merkle_root(uint8_t *leaves, size_t count, uint8_t out[SHA256_BYTES]);

uint32_t murmur2(const uint8_t *key, size_t length);
uint32_t crc32_of(const uint8_t *key, size_t length);

/* The CRC-32C into `out`; 0, and nothing, where the processor has no instruction for it: aiokafka's tables do as well. */
int crc32c_of(const uint8_t *data, size_t length, uint32_t *out);

#pragma GCC visibility pop

#endif

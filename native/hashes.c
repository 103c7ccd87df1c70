/* SHA-256, RFC 6962 trees over it, CRC-32C, and what keys are partitioned by.
 *
 * SHA-256 uses the processor's SHA instructions where they are there: 0.04 us for 64 bytes, 0.3 without. One of them
 * waits for the one before, so leaves and nodes go through two at a time, which takes a fifth less than one by one.
 * Everything takes a pointer and a length, and reads nothing beyond. */
#include "hashes.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(SLUICE_PLAIN_HASHES) /* the tests define that */
#define HAS_SHA_NI 1
#define HAS_CRC32C 1
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate32(uint32_t value, int by) { return value >> by | value << (32 - by); }

static inline uint32_t big32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* One round. Nothing moves: the names of the eight words go round by one from call to call. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                              \
    do {                                                                                                              \
        uint32_t one = h + (rotate32(e, 6) ^ rotate32(e, 11) ^ rotate32(e, 25)) + (g ^ (e & (f ^ g))) + K[i] + w[i];  \
        d += one;                                                                                                     \
        h = one + (rotate32(a, 2) ^ rotate32(a, 13) ^ rotate32(a, 22)) + ((a & b) | (c & (a | b)));                   \
    } while (0)

static void sha256_plain(uint32_t state[8], const uint8_t *data, size_t blocks)
{
    for (; blocks; blocks--, data += 64) {
        uint32_t w[64];
        for (int i = 0; i < 16; i++)
            w[i] = big32(data + 4 * i);
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotate32(w[i - 15], 7) ^ rotate32(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = rotate32(w[i - 2], 17) ^ rotate32(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i += 8) {
            ROUND(a, b, c, d, e, f, g, h, i);
            ROUND(h, a, b, c, d, e, f, g, i + 1);
            ROUND(g, h, a, b, c, d, e, f, i + 2);
            ROUND(f, g, h, a, b, c, d, e, i + 3);
            ROUND(e, f, g, h, a, b, c, d, i + 4);
            ROUND(d, e, f, g, h, a, b, c, i + 5);
            ROUND(c, d, e, f, g, h, a, b, i + 6);
            ROUND(b, c, d, e, f, g, h, a, i + 7);
        }
        const uint32_t after[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; i++)
            state[i] += after[i];
    }
}

#ifdef HAS_SHA_NI
/* The instructions want the state as (a, b, e, f) and (c, d, g, h), the first in the highest lane. `lanes` messages go
 * side by side; each is as long as the others. */
__attribute__((target("sha,sse4.1,ssse3"), always_inline)) static inline void
sha256_ni_lanes(uint32_t *const state[], const uint8_t *const data[], size_t blocks, const int lanes)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i abef[2], cdgh[2], abef_before[2], cdgh_before[2], w[2][4];
    for (int lane = 0; lane < lanes; lane++) {
        __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state[lane]), 0xb1);
        __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state[lane] + 4)), 0x1b);
        abef[lane] = _mm_alignr_epi8(low, high, 8);
        cdgh[lane] = _mm_blend_epi16(high, low, 0xf0);
    }
    for (size_t at = 0; at < 64 * blocks; at += 64) {
        for (int lane = 0; lane < lanes; lane++) {
            abef_before[lane] = abef[lane];
            cdgh_before[lane] = cdgh[lane];
        }
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            const __m128i constant = _mm_loadu_si128((const __m128i *)(K + 4 * i));
#pragma GCC unroll 2
            for (int lane = 0; lane < lanes; lane++) {
                __m128i *words = w[lane];
                if (i < 4) {
                    const __m128i *from = (const __m128i *)(data[lane] + at + 16 * i);
                    words[i] = _mm_shuffle_epi8(_mm_loadu_si128(from), swap);
                } else {
                    __m128i sum = _mm_sha256msg1_epu32(words[i & 3], words[(i + 1) & 3]);
                    sum = _mm_add_epi32(sum, _mm_alignr_epi8(words[(i + 3) & 3], words[(i + 2) & 3], 4));
                    words[i & 3] = _mm_sha256msg2_epu32(sum, words[(i + 3) & 3]);
                }
                __m128i both = _mm_add_epi32(words[i & 3], constant);
                cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], both);
                abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], _mm_shuffle_epi32(both, 0x0e));
            }
        }
        for (int lane = 0; lane < lanes; lane++) {
            abef[lane] = _mm_add_epi32(abef[lane], abef_before[lane]);
            cdgh[lane] = _mm_add_epi32(cdgh[lane], cdgh_before[lane]);
        }
    }
    for (int lane = 0; lane < lanes; lane++) {
        __m128i low = _mm_shuffle_epi32(abef[lane], 0x1b), high = _mm_shuffle_epi32(cdgh[lane], 0xb1);
        _mm_storeu_si128((__m128i *)state[lane], _mm_blend_epi16(low, high, 0xf0));
        _mm_storeu_si128((__m128i *)(state[lane] + 4), _mm_alignr_epi8(high, low, 8));
    }
}

__attribute__((target("sha,sse4.1,ssse3"))) static void sha256_ni(uint32_t state[8], const uint8_t *data, size_t blocks)
{
    sha256_ni_lanes(&state, &data, blocks, 1);
}

__attribute__((target("sha,sse4.1,ssse3"))) static void sha256_ni_two(uint32_t *const state[2],
                                                                     const uint8_t *const data[2], size_t blocks)
{
    sha256_ni_lanes(state, data, blocks, 2);
}

static int sha_ni_is_there(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 9) || !(c & 1u << 19))
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}
#endif

static int has_sha_ni(void)
{
#ifdef HAS_SHA_NI
    static int there = -1; /* every thread finds the same */
    if (there < 0)
        there = sha_ni_is_there();
    return there;
#else
    return 0;
#endif
}

static void sha256_blocks(uint32_t state[8], const uint8_t *data, size_t blocks)
{
#ifdef HAS_SHA_NI
    if (has_sha_ni()) {
        sha256_ni(state, data, blocks);
        return;
    }
#endif
    sha256_plain(state, data, blocks);
}

static void sha256_two(uint32_t *const state[2], const uint8_t *const data[2], size_t blocks)
{
#ifdef HAS_SHA_NI
    if (has_sha_ni()) {
        sha256_ni_two(state, data, blocks);
        return;
    }
#endif
    sha256_plain(state[0], data[0], blocks);
    sha256_plain(state[1], data[1], blocks);
}

static const uint32_t INITIAL[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* A word with its bytes in the order of the standard, the highest first; compilers know it for one instruction. */
static uint32_t big_endian(uint32_t word)
{
    const uint8_t bytes[4] = {(uint8_t)(word >> 24), (uint8_t)(word >> 16), (uint8_t)(word >> 8), (uint8_t)word};
    uint32_t found;
    memcpy(&found, bytes, sizeof found);
    return found;
}

static void put_state(const uint32_t state[8], uint8_t out[SHA256_BYTES])
{
    uint32_t words[8];
    for (int i = 0; i < 8; i++)
        words[i] = big_endian(state[i]);
    memcpy(out, words, sizeof words);
}

static void put_length(uint8_t end[8], uint64_t bytes)
{
    const uint32_t words[2] = {big_endian((uint32_t)(bytes >> 29)), big_endian((uint32_t)(bytes << 3))};
    memcpy(end, words, sizeof words);
}

/* ---------------------------------------------------------------- messages, one or two at a time */

/* A message as blocks: the first, which begins with the prefix; those that lie as they are; and the padded rest. */
enum { BARE = -1, LEAF = 0, NODE = 1 }; /* RFC 6962's prefixes */
enum { HEAD, MIDDLE, TAIL, PARTS };
typedef struct {
    uint32_t state[8];
    const uint8_t *parts[PARTS];
    size_t blocks[PARTS];
    uint8_t head[64], tail[128];
} Message;

/* The message of `prefix` and then the data; without a prefix where that is `BARE`. */
static void message_begin(Message *self, int prefix, const uint8_t *data, size_t length)
{
    size_t before = prefix != BARE, whole = (length + before) / 64, rest = (length + before) % 64;
    memcpy(self->state, INITIAL, sizeof INITIAL);
    self->blocks[HEAD] = whole > 0;
    self->blocks[MIDDLE] = whole > 0 ? whole - 1 : 0;
    self->blocks[TAIL] = rest < 56 ? 1 : 2;
    size_t end = 64 * self->blocks[TAIL];
    uint8_t *first = whole > 0 ? self->head : self->tail;
    if (before)
        *first++ = (uint8_t)prefix;
    if (whole > 0) {
        memcpy(first, data, 64 - before);
        memcpy(self->tail, data + length - rest, rest);
    } else if (length) {
        memcpy(first, data, length);
    }
    self->tail[rest] = 0x80;
    memset(self->tail + rest + 1, 0, end - 8 - rest - 1);
    put_length(self->tail + end - 8, (uint64_t)length + before);
    self->parts[HEAD] = self->head;
    self->parts[MIDDLE] = whole > 0 ? data + 64 - before : data;
    self->parts[TAIL] = self->tail;
}

static void hash_of(int prefix, const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
    Message self;
    message_begin(&self, prefix, data, length);
    for (int part = 0; part < PARTS; part++)
        sha256_blocks(self.state, self.parts[part], self.blocks[part]);
    put_state(self.state, out);
}

void sha256_of(const void *data, size_t length, uint8_t out[SHA256_BYTES]) { hash_of(BARE, data, length, out); }

void leaf_hash(const void *data, size_t length, uint8_t out[SHA256_BYTES]) { hash_of(LEAF, data, length, out); }

static void two_messages(Message *one, Message *other)
{
    uint32_t *const states[2] = {one->state, other->state};
    for (int part = 0; part < PARTS; part++) {
        const uint8_t *const data[2] = {one->parts[part], other->parts[part]};
        size_t first = one->blocks[part], second = other->blocks[part], both = first < second ? first : second;
        if (both)
            sha256_two(states, data, both);
        if (first > both)
            sha256_blocks(states[0], data[0] + 64 * both, first - both);
        if (second > both)
            sha256_blocks(states[1], data[1] + 64 * both, second - both);
    }
}

void sha256_of_both(View one, View other, uint8_t of_one[SHA256_BYTES], uint8_t of_other[SHA256_BYTES])
{
    Message first, second;
    message_begin(&first, BARE, one.at, one.length);
    message_begin(&second, BARE, other.at, other.length);
    two_messages(&first, &second);
    put_state(first.state, of_one);
    put_state(second.state, of_other);
}

void leaf_hashes(const uint8_t *data, const size_t *ends, size_t count, uint8_t *leaves)
{
    Message one, other;
    size_t start = 0, place = 0;
    for (; place + 1 < count; start = ends[place + 1], place += 2) {
        message_begin(&one, LEAF, data + start, ends[place] - start);
        message_begin(&other, LEAF, data + ends[place], ends[place + 1] - ends[place]);
        two_messages(&one, &other);
        put_state(one.state, leaves + place * SHA256_BYTES);
        put_state(other.state, leaves + (place + 1) * SHA256_BYTES);
    }
    if (place < count)
        leaf_hash(data + start, ends[place] - start, leaves + place * SHA256_BYTES);
}

/* Of two neighbours each, which lie as they go into the hash; `out` may be where they lie. */
static void node_hashes(const uint8_t *nodes, size_t pairs, uint8_t *out)
{
    Message one, other;
    size_t pair = 0;
    for (; pair + 1 < pairs; pair += 2) {
        message_begin(&one, NODE, nodes + pair * 64, 64);
        message_begin(&other, NODE, nodes + (pair + 1) * 64, 64);
        two_messages(&one, &other);
        put_state(one.state, out + pair * SHA256_BYTES);
        put_state(other.state, out + (pair + 1) * SHA256_BYTES);
    }
    if (pair < pairs)
        hash_of(NODE, nodes + pair * 64, 64, out + pair * SHA256_BYTES);
}

void merkle_root(uint8_t *leaves, size_t count, uint8_t out[SHA256_BYTES])
{
    while (count > 1) {
        node_hashes(leaves, count / 2, leaves);
        if (count & 1)
            memmove(leaves + count / 2 * 32, leaves + (count - 1) * 32, 32);
        count = count / 2 + (count & 1);
    }
    memcpy(out, leaves, SHA256_BYTES);
}

/* ---------------------------------------------------------------- partitioners */

uint32_t murmur2(const uint8_t *key, size_t length)
{
    const uint32_t m = 0x5bd1e995;
    uint32_t h = 0x9747b28c ^ (uint32_t)length;
    for (; length >= 4; length -= 4, key += 4) {
        uint32_t k = ((uint32_t)key[0] | (uint32_t)key[1] << 8 | (uint32_t)key[2] << 16 | (uint32_t)key[3] << 24) * m;
        h = h * m ^ (k ^ k >> 24) * m;
    }
    if (length) {
        uint32_t rest = 0;
        for (size_t i = length; i-- > 0;)
            rest = rest << 8 | key[i];
        h = (h ^ rest) * m;
    }
    h = (h ^ h >> 13) * m;
    return h ^ h >> 15;
}

uint32_t crc32_of(const uint8_t *key, size_t length)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < length; i++) {
        crc ^= key[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320 & (0u - (crc & 1)));
    }
    return ~crc;
}

#ifdef HAS_CRC32C
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse(const uint8_t *data, size_t length)
{
    uint64_t crc = 0xffffffff;
    for (; length >= 8; data += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, data, sizeof word);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; length; length--)
        crc = _mm_crc32_u8((uint32_t)crc, *data++);
    return ~(uint32_t)crc;
}

static int crc32c_is_there(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & 1u << 20);
}

int crc32c_of(const uint8_t *data, size_t length, uint32_t *out)
{
    static int there = -1; /* every thread finds the same; to ask is dear where the machine is a virtual one */
    if (there < 0)
        there = crc32c_is_there();
    if (!there)
        return 0;
    *out = crc32c_sse(data, length);
    return 1;
}
#else
int crc32c_of(const uint8_t *data, size_t length, uint32_t *out)
{
    (void)data, (void)length, (void)out;
    return 0;
}
#endif

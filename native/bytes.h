/* Bytes read and written with their bounds: a view of some, a buffer that grows, MessagePack both ways.
 *
 * The writer gives what msgspec gives: every number and length in its shortest form. The reader takes that form only;
 * whatever else MessagePack allows is for Python to read. */
#ifndef SLUICE_BYTES_H
#define SLUICE_BYTES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *at;
    size_t length;
} View;

static inline int view_is(View self, const char *text, size_t length)
{
    return self.length == length && memcmp(self.at, text, length) == 0;
}
#define VIEW(literal) {(const uint8_t *)(literal), sizeof(literal) - 1}
#define IS(view, literal) view_is(view, literal, sizeof(literal) - 1)

static inline int same_view(View one, View other)
{
    return one.length == other.length && memcmp(one.at, other.at, one.length) == 0;
}

/* Writes into room that was made before; gives where that goes on. */
static inline uint8_t *lay_view(uint8_t *at, View view)
{
    memcpy(at, view.at, view.length);
    return at + view.length;
}

/* ---------------------------------------------------------------- a buffer; `failed` once memory was refused */

typedef struct {
    uint8_t *data;
    size_t length, room;
    int failed, fixed; /* `fixed`: it is another one's memory, and there is no more of it */
} Buffer;

static inline void buffer_free(Buffer *self)
{
    free(self->data);
    memset(self, 0, sizeof *self);
}

static inline int buffer_reserve(Buffer *self, size_t more)
{
    if (self->room - self->length >= more)
        return 1;
    if (self->failed || self->fixed || more > SIZE_MAX / 4 - self->length) {
        self->failed = 1;
        return 0;
    }
    size_t room = (self->length + more) * 2 + 256;
    uint8_t *data = realloc(self->data, room);
    if (data == NULL) {
        self->failed = 1;
        return 0;
    }
    self->data = data;
    self->room = room;
    return 1;
}

static inline void put(Buffer *self, const void *data, size_t length)
{
    if (length && buffer_reserve(self, length)) {
        memcpy(self->data + self->length, data, length);
        self->length += length;
    }
}
static inline void put_byte(Buffer *self, uint8_t byte)
{
    if (self->length < self->room || buffer_reserve(self, 1))
        self->data[self->length++] = byte;
}
static inline void put_view(Buffer *self, View view) { put(self, view.at, view.length); }
#define PUT(buffer, literal) put(buffer, literal, sizeof(literal) - 1)

enum { DECIMAL_DIGITS = 20 };

/* A number in decimals, without an end; how many bytes those are. */
static inline size_t decimal_of(int64_t value, char out[DECIMAL_DIGITS])
{
    char digits[DECIMAL_DIGITS];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        digits[--at] = '-';
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

static inline void put_decimal(Buffer *self, int64_t value)
{
    char digits[DECIMAL_DIGITS];
    put(self, digits, decimal_of(value, digits));
}

/* ---------------------------------------------------------------- MessagePack, written */

/* The bytes of a number, the highest first; compilers know it for one instruction. */
static inline uint64_t big_endian64(uint64_t value)
{
    const uint8_t bytes[8] = {(uint8_t)(value >> 56), (uint8_t)(value >> 48), (uint8_t)(value >> 40),
                               (uint8_t)(value >> 32), (uint8_t)(value >> 24), (uint8_t)(value >> 16),
                               (uint8_t)(value >> 8),  (uint8_t)value};
    uint64_t found;
    memcpy(&found, bytes, sizeof found);
    return found;
}

/* A tag, and the last `bytes` of a number. */
static inline void pack_big(Buffer *self, uint8_t tag, uint64_t value, int bytes)
{
    uint64_t swapped = big_endian64(value << (64 - 8 * bytes));
    if (buffer_reserve(self, 9)) {
        uint8_t *at = self->data + self->length;
        at[0] = tag;
        memcpy(at + 1, &swapped, sizeof swapped); /* what is too much is written over */
        self->length += 1 + (size_t)bytes;
    }
}

static inline void pack_int(Buffer *self, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    if (value >= -32 && value < 128)
        put_byte(self, (uint8_t)value);
    else if (value >= 0)
        value < 1 << 8             ? pack_big(self, 0xcc, bits, 1)
        : value < 1 << 16          ? pack_big(self, 0xcd, bits, 2)
        : value < (int64_t)1 << 32 ? pack_big(self, 0xce, bits, 4)
                                   : pack_big(self, 0xcf, bits, 8);
    else
        value >= -128                   ? pack_big(self, 0xd0, bits, 1)
        : value >= -(1 << 15)           ? pack_big(self, 0xd1, bits, 2)
        : value >= -((int64_t)1 << 31)  ? pack_big(self, 0xd2, bits, 4)
                                        : pack_big(self, 0xd3, bits, 8);
}

static inline void pack_array(Buffer *self, size_t count)
{
    count < 16 ? put_byte(self, (uint8_t)(0x90 | count))
    : count < 1 << 16 ? pack_big(self, 0xdc, count, 2)
                      : pack_big(self, 0xdd, count, 4);
}

static inline void pack_text(Buffer *self, View text)
{
    size_t length = text.length;
    length < 32        ? put_byte(self, (uint8_t)(0xa0 | length))
    : length < 1 << 8  ? pack_big(self, 0xd9, length, 1)
    : length < 1 << 16 ? pack_big(self, 0xda, length, 2)
                       : pack_big(self, 0xdb, length, 4);
    put_view(self, text);
}

static inline void pack_bytes(Buffer *self, View bytes)
{
    size_t length = bytes.length;
    length < 1 << 8    ? pack_big(self, 0xc4, length, 1)
    : length < 1 << 16 ? pack_big(self, 0xc5, length, 2)
                       : pack_big(self, 0xc6, length, 4);
    put_view(self, bytes);
}

static inline void pack_bool(Buffer *self, int value) { put_byte(self, value ? 0xc3 : 0xc2); }
static inline void pack_nil(Buffer *self) { put_byte(self, 0xc0); }
static inline void pack_float(Buffer *self, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    pack_big(self, 0xcb, bits, 8);
}

/* ---------------------------------------------------------------- MessagePack, read: 1, or 0 and nothing is known */

typedef struct {
    const uint8_t *at, *end;
} Reader;

static inline int take_big(Reader *self, int bytes, uint64_t *value)
{
    uint64_t found = 0;
    const uint8_t *at = self->at;
    if (self->end - at >= 8) { /* as nearly always */
        memcpy(&found, at, 8);
        found = big_endian64(found) >> (64 - 8 * bytes);
    } else if (self->end - at < bytes) {
        return 0;
    } else {
        for (int i = 0; i < bytes; i++)
            found = found << 8 | at[i];
    }
    self->at = at + bytes;
    *value = found;
    return 1;
}

static inline int take_tag(Reader *self, uint8_t *tag)
{
    if (self->at >= self->end)
        return 0;
    *tag = *self->at++;
    return 1;
}

static inline int take_view(Reader *self, uint64_t length, View *view)
{
    if ((uint64_t)(self->end - self->at) < length)
        return 0;
    *view = (View){self->at, (size_t)length};
    self->at += length;
    return 1;
}

static inline int take_int(Reader *self, int64_t *value)
{
    uint8_t tag;
    uint64_t bits = 0;
    if (!take_tag(self, &tag))
        return 0;
    if (tag < 0x80 || tag >= 0xe0) {
        *value = (int8_t)tag;
        return 1;
    }
    int bytes = tag >= 0xcc && tag <= 0xd3 ? 1 << ((tag - 0xcc) & 3) : 0;
    if (!bytes || !take_big(self, bytes, &bits))
        return 0;
    if (tag >= 0xd0) {
        int shift = 64 - 8 * bytes;
        int64_t found = (int64_t)(bits << shift) >> shift;
        static const int64_t above[4] = {-32, -128, -(1 << 15), -((int64_t)1 << 31)};
        *value = found;
        return found < above[tag - 0xd0];
    }
    static const uint64_t below[4] = {128, 1 << 8, 1 << 16, (uint64_t)1 << 32};
    *value = (int64_t)bits;
    return bits >= below[tag - 0xcc] && bits <= INT64_MAX;
}

static inline int take_array(Reader *self, uint64_t *count)
{
    uint8_t tag;
    if (!take_tag(self, &tag))
        return 0;
    if ((tag & 0xf0) == 0x90) {
        *count = tag & 15;
        return 1;
    }
    if (tag == 0xdc)
        return take_big(self, 2, count) && *count >= 16;
    return tag == 0xdd && take_big(self, 4, count) && *count >= 1 << 16;
}

static inline int take_array_of(Reader *self, uint64_t wanted)
{
    uint64_t count;
    return take_array(self, &count) && count == wanted;
}

static inline int take_text(Reader *self, View *text)
{
    uint8_t tag;
    uint64_t length;
    if (!take_tag(self, &tag))
        return 0;
    if ((tag & 0xe0) == 0xa0)
        return take_view(self, tag & 31, text);
    if (tag == 0xd9)
        return take_big(self, 1, &length) && length >= 32 && take_view(self, length, text);
    if (tag == 0xda)
        return take_big(self, 2, &length) && length >= 1 << 8 && take_view(self, length, text);
    return tag == 0xdb && take_big(self, 4, &length) && length >= 1 << 16 && take_view(self, length, text);
}

static inline int take_bytes(Reader *self, View *bytes)
{
    uint8_t tag;
    uint64_t length;
    if (!take_tag(self, &tag))
        return 0;
    if (tag == 0xc4)
        return take_big(self, 1, &length) && take_view(self, length, bytes);
    if (tag == 0xc5)
        return take_big(self, 2, &length) && length >= 1 << 8 && take_view(self, length, bytes);
    return tag == 0xc6 && take_big(self, 4, &length) && length >= 1 << 16 && take_view(self, length, bytes);
}

static inline int take_bool(Reader *self, int *value)
{
    uint8_t tag;
    if (!take_tag(self, &tag))
        return 0;
    *value = tag == 0xc3;
    return tag == 0xc3 || tag == 0xc2;
}

static inline int take_nil(Reader *self) /* only where one is there */
{
    if (self->at < self->end && *self->at == 0xc0) {
        self->at++;
        return 1;
    }
    return 0;
}

static inline int take_float(Reader *self, double *value)
{
    uint8_t tag;
    uint64_t bits;
    if (!take_tag(self, &tag) || tag != 0xcb || !take_big(self, 8, &bits))
        return 0;
    memcpy(value, &bits, 8);
    return 1;
}

#pragma GCC visibility push(hidden) /* here and elsewhere: no call inside an extension goes through a table */

/* Passes so many values of whatever kind, with all that is in them. */
int pass_values(Reader *self, uint64_t count);

#pragma GCC visibility pop

#endif

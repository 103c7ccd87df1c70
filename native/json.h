/* JSON as msgspec reads it, less what is rare: numbers with an exponent or of more than 15 characters, and what is
 * nested deeper than `JSON_DEPTH`. Nothing is taken that msgspec would refuse. Every function gives 1, or 0 where
 * Python has to look. */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include "arena.h"
#include "bytes.h"
#include "sse.h"
#pragma GCC visibility push(hidden)

enum { JSON_DEPTH = 32, JSON_NUMBER = 15 };

typedef struct {
    const uint8_t *at, *end;
    Arena *arena; /* for texts with escapes */
} Json;

static inline const uint8_t *behind_space(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

static inline void json_space(Json *self) { self->at = behind_space(self->at, self->end); }

static inline int json_is(Json *self, char byte)
{
    if (self->at < self->end && *self->at == (uint8_t)byte) {
        self->at++;
        return 1;
    }
    return 0;
}

/* Passes what needs no look; stops at a quotation mark, a backslash, a control or what is not ASCII. */
static inline const uint8_t *plain_end(const uint8_t *at, const uint8_t *end)
{
#ifdef __SSE2__
    while (end - at >= 16) {
        const __m128i some = _mm_loadu_si128((const __m128i *)at);
        const __m128i quote = _mm_cmpeq_epi8(some, _mm_set1_epi8('"')), slash = _mm_cmpeq_epi8(some, _mm_set1_epi8('\\'));
        const __m128i outside = _mm_cmplt_epi8(some, _mm_set1_epi8(0x20)); /* signed: what is not ASCII is below as well */
        int found = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), outside));
        if (found)
            return at + __builtin_ctz((unsigned)found);
        at += 16;
    }
#endif
    /* Eight bytes at a time: a bit of each byte that is one of those. A borrow can only mark more, never fewer. */
    while (end - at >= 8) {
        uint64_t eight;
        memcpy(&eight, at, 8);
        const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
        uint64_t quote = eight ^ ones * '"', slash = eight ^ ones * '\\';
        if (((quote - ones) | (slash - ones) | (eight - ones * 0x20) | eight) & highs)
            break;
        at += 8;
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* The same behind a quotation mark, where something in it has to be unescaped, or is not ASCII. */
int json_any_text(Json *self, View *text, int *ascii);

/* A text, unescaped: UTF-8. Where it holds something beyond ASCII, `ascii` becomes 0. */
static inline int json_text(Json *self, View *text, int *ascii)
{
    const uint8_t *start = self->at + 1;
    if (self->at >= self->end || *self->at != '"')
        return 0;
    const uint8_t *at = plain_end(start, self->end);
    if (at < self->end && *at == '"') { /* as nearly all are */
        *text = (View){start, (size_t)(at - start)};
        self->at = at + 1;
        return 1;
    }
    self->at = start;
    return json_any_text(self, text, ascii);
}

/* An integer that is not negative. */
int json_whole(Json *self, int64_t *value);

/* The characters of a number. */
int json_number(Json *self, View *number);
int json_bool(Json *self, int *value);

/* Passes one value of any kind, or of one kind. */
int json_pass(Json *self, int depth);
int json_pass_text(Json *self);
int json_pass_object(Json *self);

/* The next member of an object or element of an array whose first bracket has been taken: 1 there is one, and `name`
 * is read; 0 it was the last; -1 Python has to look. `first` begins as 1. */
int json_member(Json *self, int *first, View *name);
int json_element(Json *self, int *first);

/* A member's name that is looked for, with the quotation mark that ends it: at most 15 characters. */
typedef struct {
    char text[16];
    unsigned length;
} Name;
#define NAME(literal) {literal "\"", sizeof(literal) - 1}

/* As `json_member`: `*which` is the place of the name in a list, or the list's length. It is looked for from `*next`
 * on, and what follows is next: mostly members come in this order. */
int json_named(Json *self, int *first, const Name *names, unsigned count, unsigned *next, unsigned *which);
#define JSON_NAMED(self, first, names, next, which)                                                                    \
    json_named(self, first, names, sizeof(names) / sizeof *(names), next, which)

/* Writes a text as msgspec does. */
void put_json(Buffer *self, View text);

/* The length of the UTF-8 character that begins here, 0 where none does. */
int utf8_character(const uint8_t *at, const uint8_t *end);

#pragma GCC visibility pop

#endif

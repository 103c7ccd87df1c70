/* JSON as msgspec reads it, less what is rare: numbers with an exponent or of more than 15 characters, and what is
 * nested deeper than `JSON_DEPTH`. Nothing is taken that msgspec would refuse. Every function gives 1, or 0 where
 * Python has to look. */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include "arena.h"
#include "bytes.h"

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

static inline int json_is(Json *self, char octet)
{
    if (self->at < self->end && *self->at == (uint8_t)octet) {
        self->at++;
        return 1;
    }
    return 0;
}

/* A text, unescaped: UTF-8. Where it holds something beyond ASCII, `ascii` becomes 0. */
int json_text(Json *self, View *text, int *ascii);

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

/* Writes a text as msgspec does. */
void put_json(Buffer *self, View text);

/* The length of the UTF-8 character that begins here, 0 where none does. */
int utf8_character(const uint8_t *at, const uint8_t *end);

#endif

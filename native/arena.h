/* Memory for as long as one record is looked at: given out from the front, taken back all at once. */
#ifndef SLUICE_ARENA_H
#define SLUICE_ARENA_H

#include <stdint.h>
#include <stdlib.h>

typedef struct Chunk {
    struct Chunk *next;
    size_t used, room;
} Chunk;

typedef struct {
    Chunk *chunks; /* the newest first */
} Arena;

enum { ARENA_CHUNK = 1 << 16 };

/* Aligned for anything here; NULL where memory was refused. */
static inline void *arena_take(Arena *self, size_t bytes)
{
    Chunk *chunk = self->chunks;
    if (bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (chunk == NULL || chunk->room - chunk->used < bytes) {
        size_t room = bytes > ARENA_CHUNK ? bytes : ARENA_CHUNK;
        chunk = malloc(32 + room);
        if (chunk == NULL)
            return NULL;
        *chunk = (Chunk){self->chunks, 0, room};
        self->chunks = chunk;
    }
    void *found = (char *)chunk + 32 + chunk->used;
    chunk->used += bytes;
    return found;
}

static inline void arena_free(Arena *self)
{
    while (self->chunks != NULL) {
        Chunk *next = self->chunks->next;
        free(self->chunks);
        self->chunks = next;
    }
}

/* Keeps one chunk of the usual size: a record mostly needs less. */
static inline void arena_reset(Arena *self)
{
    Chunk *chunk = self->chunks;
    if (chunk == NULL)
        return;
    if (chunk->next != NULL || chunk->room > ARENA_CHUNK)
        arena_free(self);
    else
        chunk->used = 0;
}

#endif

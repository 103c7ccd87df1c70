/* Records of Kafka's batches, read as events, and written of outputs (codecs/record_batches.py). */
#ifndef SLUICE_BATCHES_H
#define SLUICE_BATCHES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bytes.h"
#pragma GCC visibility push(hidden)

PyObject *read_events(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *read_stored(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *pack_records(PyObject *module, PyObject *args);

/* A header as it was written last at its place: most headers of a block's outputs are the same objects in each. Only good
 * as long as a list that has the pair is held. */
enum { KEPT_HEADERS = 8, LONGEST_HEADER = 112 };
typedef struct {
    PyObject *pair; /* borrowed; NULL: none */
    size_t length;
    uint8_t bytes[LONGEST_HEADER];
} KeptHeader;

static inline void no_headers(KeptHeader kept[KEPT_HEADERS])
{
    for (int place = 0; place < KEPT_HEADERS; place++)
        kept[place].pair = NULL;
}

/* The pair as it was written there; NULL where it was another, or is too long to be kept. */
static inline const KeptHeader *kept_header(const KeptHeader *kept, Py_ssize_t place, PyObject *pair)
{
    return place < KEPT_HEADERS && kept[place].pair == pair ? &kept[place] : NULL;
}

/* Appends what is kept, without a call. */
static inline void put_kept_header(Buffer *buffer, const KeptHeader *kept)
{
    if (buffer_reserve(buffer, LONGEST_HEADER)) {
        memcpy(buffer->data + buffer->length, kept->bytes, LONGEST_HEADER); /* what is too much is written over */
        buffer->length += kept->length;
    }
}

/* Keeps what the buffer has from there on as this pair's. */
static inline void keep_header(KeptHeader *kept, Py_ssize_t place, PyObject *pair, const Buffer *buffer, size_t from)
{
    size_t length = buffer->length - from;
    if (place >= KEPT_HEADERS || length > LONGEST_HEADER || buffer->failed)
        return;
    kept[place].pair = pair;
    kept[place].length = length;
    memcpy(kept[place].bytes, buffer->data + from, length);
}

PyObject *stored_headers(View raw, int64_t count);
int same_headers(PyObject *list, View raw, int64_t count);
int is_next_header(Reader *headers, View name, View content); /* of a stored record; and it is passed */
int is_next_pair(Reader *headers, PyObject *pair);            /* the same; 0 also where that is no (text, bytes) */

#pragma GCC visibility pop

#endif

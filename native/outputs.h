/* Outputs as the fold's core makes them: each lies in bytes that it shares with its block's others, and is one object,
 * where an `Output` made of its parts is seven. A part that is asked for by name or by place is made then. */
#ifndef SLUICE_OUTPUTS_H
#define SLUICE_OUTPUTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tuples.h"
#pragma GCC visibility push(hidden)

typedef struct {
    PyObject_HEAD
    PyObject *owner;         /* the bytes, held */
    PyObject *topic;         /* a text; held, as are the next two */
    PyObject *shared, *type; /* `RECORD_HEADER` of the block, and the header that names its kind */
    View key, value, id;
    View traceparent; /* `at` NULL: none */
} OutputInPlace;

/* Its headers, in their order. */
enum {
    OWN_SPECVERSION,
    OWN_ID,
    OWN_SOURCE,
    OWN_TYPE,
    OWN_TIME,
    OWN_CONTENT_TYPE,
    OWN_TRACEPARENT,
    OWN_HEADERS
};

static inline Py_ssize_t own_headers(const OutputInPlace *self)
{
    return self->traceparent.at == NULL ? OWN_HEADERS - 1 : OWN_HEADERS;
}

/* A header that others have as well, borrowed; NULL for one of its own, whose name and content are given instead. */
static inline PyObject *own_header(const OutputInPlace *self, Py_ssize_t place, View *name, View *content)
{
    static const View id_name = VIEW("ce_id"), traceparent_name = VIEW("traceparent");
    switch (place) {
    case OWN_SPECVERSION:
        return field_of(self->shared, RECORD_HEADER_SPECVERSION);
    case OWN_SOURCE:
        return field_of(self->shared, RECORD_HEADER_SOURCE);
    case OWN_TYPE:
        return self->type;
    case OWN_TIME:
        return field_of(self->shared, RECORD_HEADER_TIME);
    case OWN_CONTENT_TYPE:
        return field_of(self->shared, RECORD_HEADER_CONTENT_TYPE);
    default:
        *name = place == OWN_ID ? id_name : traceparent_name;
        *content = place == OWN_ID ? self->id : self->traceparent;
        return NULL;
    }
}

/* What follows is the codecs module's (outputs.c); the streams module takes `OutputInPlace` from there. */
extern PyTypeObject *output_in_place;

int outputs_begin(PyObject *module); /* before anything else; 0 with an exception */

static inline const OutputInPlace *output_of_object(PyObject *object)
{
    return Py_IS_TYPE(object, output_in_place) ? (OutputInPlace *)object : NULL;
}

/* A part by its place; NULL with an exception. */
PyObject *output_part(PyObject *output, Py_ssize_t place);

#pragma GCC visibility pop

#endif

/* Records that lie where they were read: in the bytes of a block, or of a batch without its compression. Each is one
 * object, where an event or a stored record made of its parts is six; a part that is asked for by name is made then. */
#ifndef SLUICE_IN_PLACE_H
#define SLUICE_IN_PLACE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bytes.h"
#pragma GCC visibility push(hidden)

typedef struct {
    PyObject_HEAD
    PyObject *owner; /* the bytes, held */
    View key, value; /* `at` NULL: null */
    int64_t kind, source, offset, timestamp; /* a stored record has neither of the first two */
    PyObject *headers;                       /* of an event: a list, NULL where there is none */
    View raw_headers;                        /* of a stored record: as its batch has them, looked through already */
    int64_t header_count;
} InPlace;

static inline View view_of_bytes(PyObject *bytes)
{
    return (View){(const uint8_t *)PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)};
}

static inline PyObject *bytes_or_none(View part)
{
    return part.at == NULL ? Py_NewRef(Py_None)
                           : PyBytes_FromStringAndSize((const char *)part.at, (Py_ssize_t)part.length);
}

/* What follows is the codecs module's (in_place.c); the streams module takes `EventInPlace` from there. */
extern PyTypeObject *event_in_place, *stored_in_place;

int in_place_begin(PyObject *module); /* before anything else; 0 with an exception */

/* Holds `owner`; `headers` is taken over. NULL with an exception. */
InPlace *in_place(PyTypeObject *type, PyObject *owner, View key, View value, PyObject *headers);

/* An object of the type, called with the parts in their order; NULL with an exception. */
PyObject *made_of_parts(PyObject *in_place, PyObject *type);

static inline InPlace *event_of_object(PyObject *object)
{
    return Py_IS_TYPE(object, event_in_place) ? (InPlace *)object : NULL;
}

#pragma GCC visibility pop

#endif

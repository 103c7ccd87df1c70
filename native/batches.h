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

PyObject *stored_headers(View raw, int64_t count);
int same_headers(PyObject *list, View raw, int64_t count);

#pragma GCC visibility pop

#endif

/* Tuples that Python hands over and takes back: fields by their names in layout.h, never by a number. */
#ifndef SLUICE_TUPLES_H
#define SLUICE_TUPLES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <stdint.h>

#include "bytes.h"
#include "layout.h"

static inline int is_tuple_of(PyObject *object, Py_ssize_t fields)
{
    return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == fields;
}

static inline PyObject *field_of(PyObject *tuple, Py_ssize_t field) { return PyTuple_GET_ITEM(tuple, field); }

/* Each takes one field of a tuple that has it; 0 with an exception. */
static inline int take_integer(PyObject *tuple, Py_ssize_t field, int64_t *value)
{
    *value = PyLong_AsLongLong(field_of(tuple, field));
    return *value != -1 || !PyErr_Occurred();
}

static inline int take_size(PyObject *tuple, Py_ssize_t field, Py_ssize_t *value)
{
    *value = PyLong_AsSsize_t(field_of(tuple, field));
    return *value != -1 || !PyErr_Occurred();
}

static inline int take_flag(PyObject *tuple, Py_ssize_t field, int *value)
{
    *value = PyObject_IsTrue(field_of(tuple, field));
    return *value >= 0;
}

static inline int take_code(PyObject *tuple, Py_ssize_t field, int *value)
{
    int64_t number;
    *value = 0;
    if (!take_integer(tuple, field, &number))
        return 0;
    *value = number < INT_MIN || number > INT_MAX ? INT_MIN : (int)number;
    return 1;
}

/* A field of this type; borrowed. */
static inline int take_object(PyObject *tuple, Py_ssize_t field, PyTypeObject *type, PyObject **value)
{
    *value = field_of(tuple, field);
    if (PyObject_TypeCheck(*value, type))
        return 1;
    PyErr_Format(PyExc_TypeError, "a %s is wanted, not a %s", type->tp_name, Py_TYPE(*value)->tp_name);
    return 0;
}

/* The same, with an exception where it is none. */
static inline int demand_tuple_of(PyObject *object, Py_ssize_t fields)
{
    if (is_tuple_of(object, fields))
        return 1;
    PyErr_Format(PyExc_TypeError, "a tuple of %zd is wanted", fields);
    return 0;
}

/* A field that is a tuple of so many; borrowed. */
static inline int take_tuple(PyObject *tuple, Py_ssize_t field, Py_ssize_t fields, PyObject **value)
{
    *value = field_of(tuple, field);
    return demand_tuple_of(*value, fields);
}

/* A field that is a text, as long as the tuple holds it. */
static inline int take_utf8(PyObject *tuple, Py_ssize_t field, const char **at, Py_ssize_t *length)
{
    *at = PyUnicode_AsUTF8AndSize(field_of(tuple, field), length);
    return *at != NULL;
}

/* A text's bytes, as long as it is held; 0 with an exception where it is no text, or half a character stands in it. */
static inline int utf8_of(PyObject *text, View *view)
{
    Py_ssize_t length;
    if (PyUnicode_Check(text) && PyUnicode_IS_COMPACT_ASCII(text)) { /* as nearly always: no call */
        *view = (View){(const uint8_t *)PyUnicode_DATA(text), (size_t)PyUnicode_GET_LENGTH(text)};
        return 1;
    }
    const char *at = PyUnicode_AsUTF8AndSize(text, &length);
    *view = (View){(const uint8_t *)at, (size_t)length};
    return at != NULL;
}

/* A tuple of these fields, which it takes over; NULL with an exception where one of them is NULL. */
static inline PyObject *tuple_of(PyObject *const *fields, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    int fine = tuple != NULL;
    for (Py_ssize_t field = 0; field < count; field++) {
        fine = fine && fields[field] != NULL;
        if (tuple != NULL)
            PyTuple_SET_ITEM(tuple, field, fields[field]);
        else
            Py_XDECREF(fields[field]);
    }
    if (!fine)
        Py_CLEAR(tuple);
    return tuple;
}

#endif

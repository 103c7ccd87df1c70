#include "in_place.h"
#include "batches.h"
#include "layout.h"
#include "members.h"

PyTypeObject *event_in_place, *stored_in_place;

static Members event_names = {.names = {EVENT_NAMES}};
static Members stored_names = {.names = {STORED_NAMES}};

static const Members *names_of(PyObject *self)
{
    return Py_IS_TYPE(self, event_in_place) ? &event_names : &stored_names;
}

InPlace *in_place(PyTypeObject *type, PyObject *owner, View key, View value, PyObject *headers)
{
    InPlace *self = PyObject_New(InPlace, type);
    if (self == NULL) {
        Py_XDECREF(headers);
        return NULL;
    }
    self->owner = Py_NewRef(owner);
    self->key = key;
    self->value = value;
    self->kind = self->source = self->offset = self->timestamp = 0;
    self->headers = headers;
    self->raw_headers = (View){NULL, 0};
    self->header_count = 0;
    return self;
}

static void in_place_dealloc(InPlace *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(self->owner);
    Py_XDECREF(self->headers);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- parts by name */

static PyObject *get_kind(InPlace *self, void *Py_UNUSED(more)) { return PyLong_FromLongLong(self->kind); }
static PyObject *get_source(InPlace *self, void *Py_UNUSED(more)) { return PyLong_FromLongLong(self->source); }
static PyObject *get_offset(InPlace *self, void *Py_UNUSED(more)) { return PyLong_FromLongLong(self->offset); }
static PyObject *get_timestamp(InPlace *self, void *Py_UNUSED(more)) { return PyLong_FromLongLong(self->timestamp); }
static PyObject *get_key(InPlace *self, void *Py_UNUSED(more)) { return bytes_or_none(self->key); }
static PyObject *get_value(InPlace *self, void *Py_UNUSED(more)) { return bytes_or_none(self->value); }

static PyObject *get_headers(InPlace *self, void *Py_UNUSED(more))
{
    if (self->header_count)
        return stored_headers(self->raw_headers, self->header_count);
    return self->headers == NULL ? PyList_New(0) : Py_NewRef(self->headers);
}

/* ---------------------------------------------------------------- compared, and shown */

/* Equal to whatever has the same parts: an event or a stored record that was made of them. */
static PyObject *in_place_compare(PyObject *self, PyObject *other, int how)
{
    const Members *members = names_of(self);
    int equal = 1;
    if (how != Py_EQ && how != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    for (int part = 0; equal == 1 && part < MEMBERS && members->names[part] != NULL; part++) {
        PyObject *theirs = PyObject_GetAttr(other, members->interned[part]);
        if (theirs == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError))
                return NULL;
            PyErr_Clear();
            Py_RETURN_NOTIMPLEMENTED;
        }
        PyObject *ours = PyObject_GetAttr(self, members->interned[part]);
        equal = ours == NULL ? -1 : PyObject_RichCompareBool(ours, theirs, Py_EQ);
        Py_XDECREF(ours);
        Py_DECREF(theirs);
    }
    return equal < 0 ? NULL : PyBool_FromLong(equal == (how == Py_EQ));
}

static PyObject *in_place_repr(PyObject *self)
{
    const Members *members = names_of(self);
    PyObject *said = PyUnicode_FromString(Py_IS_TYPE(self, event_in_place) ? "Event(" : "Stored(");
    for (int part = 0; said != NULL && part < MEMBERS && members->names[part] != NULL; part++) {
        PyObject *value = PyObject_GetAttr(self, members->interned[part]);
        PyObject *longer = value == NULL ? NULL
                                         : PyUnicode_FromFormat("%U%s%s=%R", said, part ? ", " : "",
                                                                members->names[part], value);
        Py_XDECREF(value);
        Py_SETREF(said, longer);
    }
    PyObject *whole = said == NULL ? NULL : PyUnicode_FromFormat("%U)", said);
    Py_XDECREF(said);
    return whole;
}

PyObject *made_of_parts(PyObject *self, PyObject *type)
{
    const Members *members = names_of(self);
    PyObject *parts[MEMBERS] = {NULL}, *made = NULL;
    int count = 0, whole = 1;
    for (; whole && count < MEMBERS && members->names[count] != NULL; count += whole)
        whole = (parts[count] = PyObject_GetAttr(self, members->interned[count])) != NULL;
    if (whole)
        made = PyObject_Vectorcall(type, parts, (size_t)count, NULL);
    while (count--)
        Py_DECREF(parts[count]);
    return made;
}

/* ---------------------------------------------------------------- the two types */

#define PART(name) {#name, (getter)get_##name, NULL, NULL, NULL}
static PyGetSetDef event_parts[] = {PART(kind), PART(source), PART(offset), PART(timestamp),
                                    PART(headers), PART(key), PART(value), {NULL}};
static PyGetSetDef stored_parts[] = {PART(offset), PART(timestamp), PART(key), PART(value), PART(headers), {NULL}};

#define SLOTS(parts, doc)                                                                                             \
    {                                                                                                                 \
        {Py_tp_dealloc, in_place_dealloc}, {Py_tp_getset, parts}, {Py_tp_richcompare, in_place_compare},              \
            {Py_tp_hash, PyObject_HashNotImplemented}, {Py_tp_repr, in_place_repr}, {Py_tp_doc, doc}, {0, NULL},      \
    }
static PyType_Slot event_slots[] = SLOTS(event_parts, "An event that lies in the bytes it was read from.");
static PyType_Slot stored_slots[] = SLOTS(stored_parts, "A stored record that lies in the bytes it was read from.");

enum { FLAGS = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE };
static PyType_Spec event_spec = {"sluice.codecs._native.EventInPlace", sizeof(InPlace), 0, FLAGS, event_slots};
static PyType_Spec stored_spec = {"sluice.codecs._native.StoredInPlace", sizeof(InPlace), 0, FLAGS, stored_slots};

int in_place_begin(PyObject *module)
{
    return members_begin(&event_names) && members_begin(&stored_names) &&
           (event_in_place = (PyTypeObject *)PyType_FromSpec(&event_spec)) != NULL &&
           (stored_in_place = (PyTypeObject *)PyType_FromSpec(&stored_spec)) != NULL &&
           PyModule_AddObjectRef(module, "EventInPlace", (PyObject *)event_in_place) == 0 &&
           PyModule_AddObjectRef(module, "StoredInPlace", (PyObject *)stored_in_place) == 0;
}

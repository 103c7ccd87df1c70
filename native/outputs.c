#include "outputs.h"
#include "in_place.h"
#include "members.h"

PyTypeObject *output_in_place;

static PyObject *id_name, *traceparent_name;

static void output_dealloc(OutputInPlace *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->topic);
    Py_XDECREF(self->shared);
    Py_XDECREF(self->type);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- its parts */

static PyObject *get_topic(OutputInPlace *self, void *Py_UNUSED(more)) { return Py_NewRef(self->topic); }
static PyObject *get_key(OutputInPlace *self, void *Py_UNUSED(more)) { return bytes_or_none(self->key); }
static PyObject *get_value(OutputInPlace *self, void *Py_UNUSED(more)) { return bytes_or_none(self->value); }

static PyObject *get_headers(OutputInPlace *self, void *Py_UNUSED(more))
{
    PyObject *list = PyList_New(own_headers(self));
    for (Py_ssize_t place = 0; list != NULL && place < own_headers(self); place++) {
        View name, content;
        PyObject *pair = Py_XNewRef(own_header(self, place, &name, &content));
        if (pair == NULL) {
            PyObject *fields[HEADER_FIELDS] = {
                [HEADER_NAME] = Py_NewRef(place == OWN_ID ? id_name : traceparent_name),
                [HEADER_VALUE] = bytes_or_none(content),
            };
            pair = tuple_of(fields, HEADER_FIELDS);
        }
        if (pair == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, place, pair);
    }
    return list;
}

PyObject *output_part(PyObject *output, Py_ssize_t place)
{
    static PyObject *(*const parts[OUTPUT_FIELDS])(OutputInPlace *, void *) = {
        [OUTPUT_TOPIC] = get_topic, [OUTPUT_KEY] = get_key, [OUTPUT_VALUE] = get_value, [OUTPUT_HEADERS] = get_headers};
    if (place >= 0 && place < OUTPUT_FIELDS)
        return parts[place]((OutputInPlace *)output, NULL);
    PyErr_SetString(PyExc_IndexError, "an output has no such part");
    return NULL;
}

static Py_ssize_t output_length(PyObject *Py_UNUSED(self)) { return OUTPUT_FIELDS; }

/* ---------------------------------------------------------------- compared, and shown */

/* Equal to whatever tuple has the same parts: an output that was made of them. */
static PyObject *output_compare(PyObject *self, PyObject *other, int how)
{
    if ((how != Py_EQ && how != Py_NE) || !(PyTuple_Check(other) || Py_IS_TYPE(other, output_in_place)))
        Py_RETURN_NOTIMPLEMENTED;
    int equal = PySequence_Size(other) == OUTPUT_FIELDS;
    for (Py_ssize_t place = 0; equal == 1 && place < OUTPUT_FIELDS; place++) {
        PyObject *ours = output_part(self, place), *theirs = PySequence_GetItem(other, place);
        equal = ours == NULL || theirs == NULL ? -1 : PyObject_RichCompareBool(ours, theirs, Py_EQ);
        Py_XDECREF(ours);
        Py_XDECREF(theirs);
    }
    return equal < 0 ? NULL : PyBool_FromLong(equal == (how == Py_EQ));
}

static PyObject *output_repr(PyObject *self)
{
    PyObject *parts[OUTPUT_FIELDS], *said = NULL;
    int whole = 1;
    for (Py_ssize_t place = 0; place < OUTPUT_FIELDS; place++)
        whole &= (parts[place] = output_part(self, place)) != NULL;
    if (whole)
        said = PyUnicode_FromFormat("Output(topic=%R, key=%R, value=%R, headers=%R)", parts[OUTPUT_TOPIC],
                                    parts[OUTPUT_KEY], parts[OUTPUT_VALUE], parts[OUTPUT_HEADERS]);
    for (Py_ssize_t place = 0; place < OUTPUT_FIELDS; place++)
        Py_XDECREF(parts[place]);
    return said;
}

/* ---------------------------------------------------------------- the type */

#define PART(name) {#name, (getter)get_##name, NULL, NULL, NULL}
static PyGetSetDef parts[] = {PART(topic), PART(key), PART(value), PART(headers), {NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, output_dealloc},
    {Py_tp_getset, parts},
    {Py_sq_length, output_length},
    {Py_sq_item, output_part},
    {Py_tp_richcompare, output_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_repr, output_repr},
    {Py_tp_doc, "An output that lies in bytes which it shares with others."},
    {0, NULL},
};
static PyType_Spec spec = {"sluice.codecs._native.OutputInPlace", sizeof(OutputInPlace), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

int outputs_begin(PyObject *module)
{
    return is_interned(&id_name, "ce_id") && is_interned(&traceparent_name, "traceparent") &&
           (output_in_place = (PyTypeObject *)PyType_FromSpec(&spec)) != NULL &&
           PyModule_AddObjectRef(module, "OutputInPlace", (PyObject *)output_in_place) == 0;
}

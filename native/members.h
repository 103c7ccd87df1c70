/* Attributes of one Python type's objects, read where they lie: a block's events are asked for theirs some twenty times
 * each, and the interpreter's way by name costs as much as what is done with them. */
#ifndef SLUICE_MEMBERS_H
#define SLUICE_MEMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

enum { MEMBERS = 7 };

typedef struct {
    const char *names[MEMBERS]; /* up to the first NULL */
    PyObject *interned[MEMBERS];
    PyTypeObject *type; /* whose members lie at `offset`; NULL until one was met whose members can be read so */
    Py_ssize_t offset[MEMBERS];
} Members;

/* A name as Python has it, made once; 0 with an exception. */
static inline int is_interned(PyObject **place, const char *text)
{
    return *place != NULL || (*place = PyUnicode_InternFromString(text)) != NULL;
}

/* Before anything else; 0 with an exception. */
static inline int members_begin(Members *self)
{
    for (int part = 0; part < MEMBERS && self->names[part] != NULL; part++)
        if (!is_interned(&self->interned[part], self->names[part]))
            return 0;
    return 1;
}

/* Where a type's slots lie, if all of these are plain ones that hold an object. */
static inline void members_learn(Members *self, PyTypeObject *type)
{
    Py_ssize_t offset[MEMBERS] = {0};
    for (int part = 0; part < MEMBERS && self->names[part] != NULL; part++) {
        PyObject *found = PyObject_GetAttr((PyObject *)type, self->interned[part]);
        const PyMemberDef *member =
            found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)found)->d_member : NULL;
        int plain = member != NULL && member->type == T_OBJECT_EX;
        offset[part] = plain ? member->offset : 0;
        Py_XDECREF(found);
        if (!plain) {
            PyErr_Clear();
            return;
        }
    }
    memcpy(self->offset, offset, sizeof offset);
    self->type = (PyTypeObject *)Py_NewRef((PyObject *)type); /* for ever: no other may come to lie there */
}

/* An attribute by its place among the names; a new reference, or NULL with an exception. */
static inline PyObject *member_of(Members *self, PyObject *object, int part)
{
    if (self->type == NULL)
        members_learn(self, Py_TYPE(object));
    if (Py_TYPE(object) == self->type) {
        PyObject *value = *(PyObject **)((char *)object + self->offset[part]);
        if (value != NULL)
            return Py_NewRef(value);
    }
    return PyObject_GetAttr(object, self->interned[part]);
}

#endif

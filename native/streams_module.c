/* `sluice.streams._native`: the type `Folder`, one for each block that is folded (streams/adjudication/compiled_core.py makes it). */
#include "folder.h"
#include "in_place.h"
#include "members.h"
#include "version.h"

PyTypeObject *event_in_place; /* in_place.h */

static PyObject *name_order, *name_live, *name_asides;
enum { KIND, SOURCE, KEY, VALUE, HEADERS };
static Members event_members = {.names = {"kind", "source", "key", "value", "headers"}};
static const char *const COUNTER_NAMES[COUNTERS] = {"late",      "not-counted", "newer-vocabulary", "duplicate",
                                                    "unmatched", "stalled",     "discarded",        "unreviewed"};

/* ---------------------------------------------------------------- the state's numbers, taken and given back */

static int take_number(PyObject *state, PyObject *name, int64_t *value)
{
    PyObject *number = PyObject_GetAttr(state, name);
    if (number == NULL)
        return 0;
    *value = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return *value != -1 || !PyErr_Occurred();
}

static int give_number(PyObject *state, PyObject *name, int64_t value)
{
    PyObject *number = PyLong_FromLongLong(value);
    int failed = number == NULL || PyObject_SetAttr(state, name, number) < 0;
    Py_XDECREF(number);
    return !failed;
}

static int take_state(Folder *self)
{
    return take_number(self->state, name_order, &self->order) && take_number(self->state, name_live, &self->live) &&
           take_number(self->state, name_asides, &self->asides);
}

static int give_counter(Folder *self, int counter)
{
    PyObject *name = PyUnicode_InternFromString(COUNTER_NAMES[counter]), *sum = NULL;
    PyObject *was = name == NULL ? NULL : PyDict_GetItemWithError(self->counters, name);
    long long before = was == NULL ? 0 : PyLong_AsLongLong(was);
    int failed = name == NULL || PyErr_Occurred() || (sum = PyLong_FromLongLong(before + self->count[counter])) == NULL ||
                 PyDict_SetItem(self->counters, name, sum) < 0;
    Py_XDECREF(name);
    Py_XDECREF(sum);
    self->count[counter] = self->counted[counter] = 0;
    return !failed;
}

static int give_state(Folder *self)
{
    for (int counter = 0; counter < COUNTERS; counter++)
        if (self->counted[counter] && !give_counter(self, counter))
            return 0;
    return give_number(self->state, name_order, self->order) && give_number(self->state, name_live, self->live) &&
           give_number(self->state, name_asides, self->asides);
}

/* Gives the numbers back beside an exception, which stays. */
static PyObject *failed(Folder *self)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    give_state(self);
    PyErr_Restore(type, value, traceback);
    return NULL;
}

/* ---------------------------------------------------------------- methods */

static PyObject *fire(Folder *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2) {
        PyErr_SetString(PyExc_TypeError, "fire(most, mark)");
        return NULL;
    }
    long long most = PyLong_AsLongLong(args[0]), mark = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred() || !take_state(self))
        return NULL;
    int64_t fired = folder_fire(self, most, mark);
    if (fired < 0)
        return failed(self);
    return give_state(self) ? PyLong_FromLongLong(fired) : NULL;
}

static int small_of(PyObject *event, int part, int64_t *value)
{
    PyObject *number = member_of(&event_members, event, part);
    if (number == NULL)
        return 0;
    *value = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return *value != -1 || !PyErr_Occurred();
}

/* What a record says, for the source that it is of. `headers`: NULL where there are none. */
static int take_record(Folder *self, char topic, View value, View key, PyObject *headers)
{
    arena_reset(&self->arena);
    return topic == 'E' ? folder_emission(self, value, key, headers) : folder_observation(self, value, key);
}

static View view_of(PyObject *bytes)
{
    return PyBytes_CheckExact(bytes) ? view_of_bytes(bytes) : (View){NULL, 0};
}

/* One event: DONE, PYTHON or FAILED. `topics`: E, O or anything else for each source of the block. */
static int take_in(Folder *self, PyObject *event, PyObject *topics)
{
    const InPlace *lies = Py_IS_TYPE(event, event_in_place) ? (InPlace *)event : NULL;
    int64_t kind, source;
    if (lies != NULL) {
        kind = lies->kind;
        source = lies->source;
    } else if (!small_of(event, KIND, &kind) || !small_of(event, SOURCE, &source)) {
        return FAILED;
    }
    if (kind != 0 || source < 0 || source >= PyBytes_GET_SIZE(topics))
        return PYTHON;
    char topic = PyBytes_AS_STRING(topics)[source];
    if (topic != 'E' && topic != 'O')
        return PYTHON;
    if (lies != NULL)
        return lies->value.at == NULL ? PYTHON : take_record(self, topic, lies->value, lies->key, lies->headers);
    PyObject *key = member_of(&event_members, event, KEY), *value = member_of(&event_members, event, VALUE);
    PyObject *headers = topic == 'E' ? member_of(&event_members, event, HEADERS) : Py_NewRef(Py_None);
    int done = FAILED;
    if (key != NULL && value != NULL && headers != NULL)
        done = PyBytes_CheckExact(value) ? take_record(self, topic, view_of(value), view_of(key), headers) : PYTHON;
    Py_XDECREF(key);
    Py_XDECREF(value);
    Py_XDECREF(headers);
    return done;
}

/* apply(events, topics, other): takes events in, in order; those that are Python's go to `other`. */
static PyObject *apply(Folder *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3 || !PyBytes_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "apply(events, topics, other)");
        return NULL;
    }
    PyObject *events = PySequence_Fast(args[0], "the events are a sequence");
    if (events == NULL || !take_state(self)) {
        Py_XDECREF(events);
        return NULL;
    }
    int64_t python = 0;
    for (Py_ssize_t place = 0; place < PySequence_Fast_GET_SIZE(events); place++) {
        PyObject *event = Py_NewRef(PySequence_Fast_GET_ITEM(events, place)), *nothing = NULL;
        int done = take_in(self, event, args[1]);
        if (done == PYTHON) {
            python++;
            if (give_state(self) && (nothing = PyObject_CallOneArg(args[2], event)) != NULL && take_state(self))
                done = DONE;
            else
                done = FAILED;
            Py_XDECREF(nothing);
            Py_DECREF(event);
            if (done == FAILED) {
                Py_DECREF(events);
                return NULL;
            }
            continue;
        }
        Py_DECREF(event);
        if (done == FAILED) {
            Py_DECREF(events);
            return failed(self);
        }
    }
    Py_DECREF(events);
    return give_state(self) ? PyLong_FromLongLong(python) : NULL;
}

/* renew(renewed): tells of one renewal; whether that was done, else it is Python's. */
static PyObject *renew(Folder *self, PyObject *renewed)
{
    if (!PyTuple_CheckExact(renewed)) {
        PyErr_SetString(PyExc_TypeError, "renew((emission id, attempt, span key))");
        return NULL;
    }
    arena_reset(&self->arena);
    int done = folder_renew(self, renewed);
    return done == FAILED ? NULL : PyBool_FromLong(done == DONE);
}

/* ---------------------------------------------------------------- made and unmade */

static void *array_of(Py_ssize_t count, size_t size) { return PyMem_Calloc(count ? (size_t)count : 1, size); }

static int take_terms(Folder *self, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->terms = array_of(count, sizeof *self->terms);
    if (self->terms == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    self->terms_count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        long long window[CLASSES], horizon, max_validity, least[2], coverage[2];
        int plainly;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "LLLLLLLLLLLLLp", &window[0], &window[1], &window[2],
                              &window[3], &window[4], &window[5], &window[6], &horizon, &max_validity, &least[0],
                              &least[1], &coverage[0], &coverage[1], &plainly))
            return 0;
        for (int number = 0; number < CLASSES; number++)
            self->terms[i].window[number] = window[number];
        self->terms[i].horizon = horizon;
        self->terms[i].max_validity = max_validity;
        self->terms[i].min_observers[0] = least[0];
        self->terms[i].min_observers[1] = least[1];
        self->terms[i].min_coverage[0] = coverage[0];
        self->terms[i].min_coverage[1] = coverage[1];
        self->terms[i].counts_plainly = plainly;
    }
    return 1;
}

static int take_max_validities(Folder *self, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->max_validities = array_of(count, sizeof *self->max_validities);
    if (self->max_validities == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    self->max_validity_count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        long long since, milliseconds;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "LL", &since, &milliseconds))
            return 0;
        self->max_validities[i] = (MaxValidity){since, milliseconds};
    }
    return 1;
}

static int take_dispositions(Folder *self, PyObject *bytes)
{
    if (PyBytes_GET_SIZE(bytes) != 2 * ENDS)
        return 0;
    for (int i = 0; i < 2 * ENDS; i++) {
        uint8_t disposition = (uint8_t)PyBytes_AS_STRING(bytes)[i];
        if (disposition > REFUSE)
            return 0;
        self->disposition[i / 2][i % 2] = disposition;
    }
    return 1;
}

static int take_texts(Folder *self, PyObject *texts)
{
    View *const views[6] = {&self->ledger, &self->behind, &self->frame, &self->frame_type, &self->no_text, &self->meta};
    for (Py_ssize_t i = 0; i < 6; i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        if (!PyBytes_CheckExact(text))
            return 0;
        self->texts[i] = Py_NewRef(text);
        *views[i] = (View){(const uint8_t *)PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text)};
    }
    return 1;
}

static int same_classes(PyObject *classes)
{
    if (PyTuple_GET_SIZE(classes) != CLASSES)
        return 0;
    for (int number = 0; number < CLASSES; number++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(classes, number)) ||
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(classes, number), (const char *)CLASS_NAMES[number].at) != 0)
            return 0;
    return 1;
}

/* The tables, the numbers, the rules and the texts, each a tuple; streams/adjudication/compiled_core.py is the only caller. */
static int folder_parse(Folder *self, PyObject *args)
{
    PyObject *tables, *numbers, *rules, *writing, *terms, *max_validities, *classes, *dispositions, *texts;
    PyObject *held[13];
    long long n[13];
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyTuple_Type, &tables, &PyTuple_Type, &numbers, &PyTuple_Type, &rules,
                          &PyTuple_Type, &writing) ||
        !PyArg_ParseTuple(tables, "OO!O!O!O!O!O!O!O!", &held[0], &PyDict_Type, &held[1], &PyDict_Type, &held[2],
                          &PyDict_Type, &held[3], &PyList_Type, &held[4], &PyList_Type, &held[5], &PyList_Type,
                          &held[6], &PyType_Type, &held[7], &PyList_Type, &held[11]) ||
        !PyArg_ParseTuple(numbers, "LLLLLLpO!O!L", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &self->crc32,
                          &PyList_Type, &terms, &PyList_Type, &max_validities, &n[6]) ||
        !PyArg_ParseTuple(rules, "O!LLdLLLO!pO!O!Lppiipppi", &PyTuple_Type, &classes, &n[7], &n[8], &self->min_confidence,
                          &n[9], &n[10], &n[11], &PyDict_Type, &held[8], &self->external_default, &PyDict_Type,
                          &held[9], &PyBytes_Type, &dispositions, &n[12], &self->reject_internal,
                          &self->reject_external, &self->shown, &self->refuses, &self->cites, &self->only_signed,
                          &self->accepts_checks, &self->mending) ||
        !PyArg_ParseTuple(writing, "O!O!O!", &PyTuple_Type, &texts, &PyTuple_Type, &held[10], &PyTuple_Type,
                          &held[12]))
        return 0;
    for (int i = 0; i < CALLABLES && i < PyTuple_GET_SIZE(held[12]); i++)
        self->callables[i] = Py_NewRef(PyTuple_GET_ITEM(held[12], i));
    PyObject **const places[12] = {&self->state,    &self->packed,  &self->open,        &self->counters,
                                   &self->pending,  &self->expiring, &self->outputs,    &self->output_type,
                                   &self->effects,  &self->observers, &self->headers,
                                   &self->renewed};
    for (int i = 0; i < 12; i++)
        *places[i] = Py_NewRef(held[i]);
    int64_t *const integers[13] = {&self->time,         &self->latest,     &self->oldest,       &self->watermark,
                                   &self->lane,         &self->lanes,      &self->terms_number, &self->k_internal,
                                   &self->k_external,   &self->horizon,    &self->review_window, &self->max_attempts,
                                   &self->cap};
    for (int i = 0; i < 13; i++)
        *integers[i] = n[i];
    if (!take_terms(self, terms) || !take_max_validities(self, max_validities))
        return 0;
    if (!same_classes(classes) || !take_dispositions(self, dispositions) || PyTuple_GET_SIZE(texts) != 6 ||
        !take_texts(self, texts) || PyTuple_GET_SIZE(self->headers) != 4 || self->callables[CALLABLES - 1] == NULL || self->lanes < 1 || self->terms_number < 0 ||
        self->terms_number >= self->terms_count || self->max_validity_count < 1 ||
        !PyType_IsSubtype((PyTypeObject *)self->output_type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_ValueError, "these are not the rules that the compiled core was made for");
        return 0;
    }
    return 1;
}

static void folder_dealloc(Folder *self)
{
    PyObject **const held[] = {&self->state,   &self->packed,      &self->open,    &self->counters, &self->pending,
                               &self->expiring, &self->outputs,    &self->output_type, &self->headers, &self->effects,
                               &self->observers, &self->renewed};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        Py_CLEAR(*held[i]);
    for (int i = 0; i < CALLABLES; i++)
        Py_CLEAR(self->callables[i]);
    for (int i = 0; i < ABOUTS; i++)
        about_leave(&self->abouts[i]);
    for (int i = 0; i < 6; i++)
        Py_CLEAR(self->texts[i]);
    for (int i = 0; i < TOPICS * STATUSES; i++)
        Py_CLEAR(self->type_headers[i / STATUSES][i % STATUSES]);
    PyMem_Free(self->terms);
    PyMem_Free(self->max_validities);
    arena_free(&self->arena);
    buffer_free(&self->packing);
    buffer_free(&self->head);
    buffer_free(&self->more);
    buffer_free(&self->checked);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *folder_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Folder *self = (Folder *)type->tp_alloc(type, 0); /* all zero */
    if (self == NULL)
        return NULL;
    if ((keywords != NULL && PyDict_GET_SIZE(keywords)) || !folder_parse(self, args)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "Folder takes no keywords");
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyMethodDef folder_methods[] = {
    {"fire", (PyCFunction)(void (*)(void))fire, METH_FASTCALL,
     "Fires what is due, at most so many, up to the first that is Python's; how many."},
    {"renew", (PyCFunction)renew, METH_O, "Tells of one renewal; False where it is Python's."},
    {"apply", (PyCFunction)(void (*)(void))apply, METH_FASTCALL,
     "Takes events in, in order; those that are Python's go to a callable. How many those were."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot folder_slots[] = {
    {Py_tp_new, folder_new},
    {Py_tp_dealloc, folder_dealloc},
    {Py_tp_methods, folder_methods},
    {Py_tp_doc, "One block being folded."},
    {0, NULL},
};
static PyType_Spec folder_spec = {"sluice.streams._native.Folder", sizeof(Folder), 0, Py_TPFLAGS_DEFAULT, folder_slots};

/* timer(bytes, order) -> (clock, due), None where the item is gone, NotImplemented where Python has to look. */
static PyObject *timer(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    int64_t clock, due = 0;
    int has_due = 0;
    if (nargs != 2 || !PyBytes_CheckExact(args[0]))
        Py_RETURN_NOTIMPLEMENTED;
    long long order = PyLong_AsLongLong(args[1]);
    if (order == -1 && PyErr_Occurred())
        return NULL;
    View packed = {(const uint8_t *)PyBytes_AS_STRING(args[0]), (size_t)PyBytes_GET_SIZE(args[0])};
    int found = known_timer(packed, order, &clock, &has_due, &due);
    if (found < 0)
        Py_RETURN_NOTIMPLEMENTED;
    if (!found)
        Py_RETURN_NONE;
    return has_due ? Py_BuildValue("LL", (long long)clock, (long long)due)
                   : Py_BuildValue("LO", (long long)clock, Py_None);
}

static PyMethodDef methods[] = {
    {"timer", (PyCFunction)(void (*)(void))timer, METH_FASTCALL,
     "The clock and the instant that an item of a packed emission waits for."},
    {NULL, NULL, 0, NULL},
};

/* The type of events that lie where they were read; without it, each part of theirs is asked for by its name. */
static int find_event_in_place(void)
{
    PyObject *codecs = PyImport_ImportModule("sluice.codecs._native");
    PyObject *found = codecs == NULL ? NULL : PyObject_GetAttrString(codecs, "EventInPlace");
    Py_XDECREF(codecs);
    if (found == NULL || !PyType_Check(found) || ((PyTypeObject *)found)->tp_basicsize != sizeof(InPlace)) {
        PyErr_Clear();
        Py_CLEAR(found);
    }
    event_in_place = (PyTypeObject *)found;
    return 1;
}

static int on_start(PyObject *module)
{
    if (!find_event_in_place() || !members_begin(&event_members) || !decision_begin() || !is_interned(&name_order, "order") ||
        !is_interned(&name_live, "live") || !is_interned(&name_asides, "asides"))
        return -1;
    PyObject *type = PyType_FromSpec(&folder_spec);
    int added = type == NULL ? -1 : PyModule_AddObjectRef(module, "Folder", type);
    Py_XDECREF(type);
    if (added < 0 || PyModule_AddIntConstant(module, "PURE", sluice_pure()) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "VERSION", SLUICE_NATIVE_VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, on_start}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sluice.streams._native", NULL, 0, methods, slots, NULL, NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }

/* `sluice.streams._native`: the type `Folder`, one for each block that is folded (streams/adjudication/fold_layout.py makes it). */
#include "folder.h"
#include "in_place.h"
#include "members.h"
#include "version.h"

PyTypeObject *event_in_place;  /* in_place.h */
PyTypeObject *output_in_place; /* outputs.h */

static const char *const STATE_NUMBERS[] = {STATE_NUMBER_NAMES};
static PyObject *state_names[STATE_NUMBER_FIELDS];
static Members event_members = {.names = {EVENT_NAMES}};
static const char *const COUNTER_NAMES[COUNTERS] = {"late",      "not-counted", "newer-vocabulary", "duplicate",
                                                    "unmatched", "stalled",     "discarded",        "unreviewed"};

/* ---------------------------------------------------------------- the state's numbers, taken and given back */

static int get_number(PyObject *state, PyObject *name, int64_t *value)
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
    return get_number(self->state, state_names[STATE_NUMBER_ORDER], &self->order) &&
           get_number(self->state, state_names[STATE_NUMBER_LIVE], &self->live) &&
           get_number(self->state, state_names[STATE_NUMBER_ASIDES], &self->asides);
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
    return give_number(self->state, state_names[STATE_NUMBER_ORDER], self->order) &&
           give_number(self->state, state_names[STATE_NUMBER_LIVE], self->live) &&
           give_number(self->state, state_names[STATE_NUMBER_ASIDES], self->asides);
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
    } else if (!small_of(event, EVENT_KIND, &kind) || !small_of(event, EVENT_SOURCE, &source)) {
        return FAILED;
    }
    if (kind != 0 || source < 0 || source >= PyBytes_GET_SIZE(topics))
        return PYTHON;
    char topic = PyBytes_AS_STRING(topics)[source];
    if (topic != 'E' && topic != 'O')
        return PYTHON;
    if (lies != NULL)
        return lies->value.at == NULL ? PYTHON : take_record(self, topic, lies->value, lies->key, lies->headers);
    PyObject *key = member_of(&event_members, event, EVENT_KEY), *value = member_of(&event_members, event, EVENT_VALUE);
    PyObject *headers = topic == 'E' ? member_of(&event_members, event, EVENT_HEADERS) : Py_NewRef(Py_None);
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
            if (give_state(self) && folder_share(self) && (nothing = PyObject_CallOneArg(args[2], event)) != NULL && take_state(self))
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
    arena_reset(&self->arena);
    int done = folder_renew(self, renewed);
    if (done == PYTHON && !folder_share(self))
        done = FAILED;
    return done == FAILED ? NULL : PyBool_FromLong(done == DONE);
}

/* publish(other): what became of each emission that changed; those that are Python's go to `other`. */
static PyObject *publish(Folder *self, PyObject *other)
{
    return folder_publish(self, other) ? Py_NewRef(Py_None) : NULL;
}

/* ---------------------------------------------------------------- outputs */

enum { ROOM = 1 << 16 }; /* an output that is held alone holds so many bytes, or as many as it has */

uint8_t *folder_room(Folder *self, size_t length)
{
    if (self->room == NULL || (size_t)PyBytes_GET_SIZE(self->room) - self->taken < length) {
        PyObject *room = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(length > ROOM ? length : ROOM));
        if (room == NULL)
            return NULL;
        Py_XSETREF(self->room, room);
        self->taken = 0;
    }
    return (uint8_t *)PyBytes_AS_STRING(self->room) + self->taken;
}

static View view_on(const uint8_t **at, size_t length)
{
    View found = {*at, length};
    *at += length;
    return found;
}

int folder_put(Folder *self, PyObject *topic, PyObject *type, size_t key, size_t id, size_t value, Py_ssize_t traceparent)
{
    const uint8_t *at = (uint8_t *)PyBytes_AS_STRING(self->room) + self->taken;
    OutputInPlace *output = PyObject_New(OutputInPlace, output_in_place);
    if (output == NULL)
        return FAILED;
    output->owner = Py_NewRef(self->room);
    output->topic = Py_NewRef(topic);
    output->shared = Py_NewRef(self->headers);
    output->type = Py_NewRef(type);
    output->key = view_on(&at, key);
    output->id = view_on(&at, id);
    output->value = view_on(&at, value);
    output->traceparent = traceparent < 0 ? (View){NULL, 0} : view_on(&at, (size_t)traceparent);
    self->taken = (size_t)(at - (uint8_t *)PyBytes_AS_STRING(self->room));
    int failed = PyList_Append(self->outputs, (PyObject *)output);
    Py_DECREF(output);
    return failed ? FAILED : DONE;
}

/* ---------------------------------------------------------------- made and unmade */

static void *array_of(Py_ssize_t count, size_t size) { return PyMem_Calloc(count ? (size_t)count : 1, size); }

static int take_pair(PyObject *tuple, Py_ssize_t field, int64_t value[EFFECT_CODES])
{
    PyObject *pair;
    return take_tuple(tuple, field, EFFECT_CODES, &pair) && take_integer(pair, EFFECT_INTERNAL, &value[EFFECT_INTERNAL]) &&
           take_integer(pair, EFFECT_EXTERNAL, &value[EFFECT_EXTERNAL]);
}

static int terms_read(Terms *self, PyObject *tuple)
{
    PyObject *windows;
    if (!take_tuple(tuple, TERMS_WINDOWS, CLASSES, &windows))
        return 0;
    for (int number = 0; number < CLASSES; number++)
        if (!take_integer(windows, number, &self->window[number]))
            return 0;
    return take_integer(tuple, TERMS_HORIZON, &self->horizon) &&
           take_integer(tuple, TERMS_LATE_HORIZON, &self->late_horizon) &&
           take_integer(tuple, TERMS_MAX_VALIDITY, &self->max_validity) &&
           take_pair(tuple, TERMS_MIN_OBSERVERS, self->min_observers) &&
           take_pair(tuple, TERMS_MIN_COVERAGE, self->min_coverage) &&
           take_flag(tuple, TERMS_COUNTS_ONCE, &self->counts_once) &&
           take_flag(tuple, TERMS_HAS_K_BY_CHECK, &self->has_k_by_check);
}

static int take_terms(Folder *self, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    self->terms = array_of(count, sizeof *self->terms);
    if (self->terms == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    self->terms_count = count;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!is_tuple_of(PyList_GET_ITEM(list, i), TERMS_FIELDS) ||
            !terms_read(&self->terms[i], PyList_GET_ITEM(list, i)))
            return 0;
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
        PyObject *one = PyList_GET_ITEM(list, i);
        if (!is_tuple_of(one, MAX_VALIDITY_FIELDS) ||
            !take_integer(one, MAX_VALIDITY_SINCE, &self->max_validities[i].since) ||
            !take_integer(one, MAX_VALIDITY_MILLISECONDS, &self->max_validities[i].milliseconds))
            return 0;
    }
    return 1;
}

static int take_dispositions(Folder *self, PyObject *bytes)
{
    if (PyBytes_GET_SIZE(bytes) != EFFECT_CODES * ENDS)
        return 0;
    for (int i = 0; i < EFFECT_CODES * ENDS; i++) {
        uint8_t disposition = (uint8_t)PyBytes_AS_STRING(bytes)[i];
        if (disposition >= DISPOSITION_CODES)
            return 0;
        self->disposition[i / EFFECT_CODES][i % EFFECT_CODES] = disposition;
    }
    return 1;
}

static int take_text_of(Folder *self, PyObject *texts, Py_ssize_t field, View *view)
{
    PyObject *text;
    if (!take_object(texts, field, &PyBytes_Type, &text))
        return 0;
    self->texts[field] = Py_NewRef(text);
    *view = view_of_bytes(text);
    return 1;
}

static int take_texts(Folder *self, PyObject *texts)
{
    return take_text_of(self, texts, TEXT_LEDGER, &self->ledger) && take_text_of(self, texts, TEXT_BEHIND, &self->behind) &&
           take_text_of(self, texts, TEXT_FRAME, &self->frame) &&
           take_text_of(self, texts, TEXT_FRAME_TYPE, &self->frame_type) &&
           take_text_of(self, texts, TEXT_NO_TEXT, &self->no_text) && take_text_of(self, texts, TEXT_META, &self->meta) &&
           take_text_of(self, texts, TEXT_REVIEWING, &self->reviewing);
}

static int same_classes(PyObject *classes)
{
    if (PyTuple_GET_SIZE(classes) != CLASSES)
        return 0;
    for (int number = 0; number < CLASSES; number++)
        if (!PyUnicode_Check(field_of(classes, number)) ||
            PyUnicode_CompareWithASCIIString(field_of(classes, number), (const char *)CLASS_NAMES[number].at) != 0)
            return 0;
    return 1;
}

/* A field of this type, held. */
static int take_held(PyObject *tuple, Py_ssize_t field, PyTypeObject *type, PyObject **held)
{
    PyObject *value;
    if (!take_object(tuple, field, type, &value))
        return 0;
    *held = Py_NewRef(value);
    return 1;
}

static int tables_parse(Folder *self, PyObject *tables)
{
    return take_held(tables, TABLES_STATE, &PyBaseObject_Type, &self->state) &&
           take_held(tables, TABLES_PACKED, &PyDict_Type, &self->packed) &&
           take_held(tables, TABLES_OPEN, &PyDict_Type, &self->open) &&
           take_held(tables, TABLES_CROWDS, &PyDict_Type, &self->crowds) &&
           take_held(tables, TABLES_HELD, &PyDict_Type, &self->held) &&
           take_held(tables, TABLES_COUNTERS, &PyDict_Type, &self->counters) &&
           take_held(tables, TABLES_PENDING, &PyList_Type, &self->pending) &&
           take_held(tables, TABLES_EXPIRING, &PyList_Type, &self->expiring) &&
           take_held(tables, TABLES_OUTPUTS, &PyList_Type, &self->outputs) &&
           take_held(tables, TABLES_RENEWED, &PyList_Type, &self->renewed) &&
           take_held(tables, TABLES_CHANGED, &PyDict_Type, &self->changed);
}

static int moment_parse(Folder *self, PyObject *moment)
{
    PyObject *terms, *max_validities;
    return take_integer(moment, MOMENT_TIME, &self->time) && take_integer(moment, MOMENT_LATEST, &self->latest) &&
           take_integer(moment, MOMENT_OLDEST, &self->oldest) &&
           take_integer(moment, MOMENT_WATERMARK, &self->watermark) && take_integer(moment, MOMENT_LANE, &self->lane) &&
           take_integer(moment, MOMENT_LANES, &self->lanes) && take_flag(moment, MOMENT_CRC32, &self->crc32) &&
           take_integer(moment, MOMENT_TERMS_NUMBER, &self->terms_number) &&
           take_object(moment, MOMENT_TERMS, &PyList_Type, &terms) &&
           take_object(moment, MOMENT_MAX_VALIDITIES, &PyList_Type, &max_validities) && take_terms(self, terms) &&
           take_max_validities(self, max_validities);
}

static int rules_parse(Folder *self, PyObject *rules)
{
    PyObject *classes, *dispositions;
    self->min_confidence = PyFloat_AsDouble(field_of(rules, RULES_MIN_CONFIDENCE));
    return !PyErr_Occurred() && take_integer(rules, RULES_K_INTERNAL, &self->k_internal) &&
           take_integer(rules, RULES_K_EXTERNAL, &self->k_external) &&
           take_integer(rules, RULES_HORIZON, &self->horizon) &&
           take_integer(rules, RULES_REVIEW_WINDOW, &self->review_window) &&
           take_integer(rules, RULES_MAX_ATTEMPTS, &self->max_attempts) &&
           take_held(rules, RULES_EFFECTS, &PyDict_Type, &self->effects) &&
           take_flag(rules, RULES_EXTERNAL_DEFAULT, &self->external_default) &&
           take_held(rules, RULES_OBSERVERS, &PyDict_Type, &self->observers) &&
           take_integer(rules, RULES_CAP, &self->cap) &&
           take_flag(rules, RULES_REJECT_INTERNAL, &self->reject_internal) &&
           take_flag(rules, RULES_REJECT_EXTERNAL, &self->reject_external) &&
           take_code(rules, RULES_SHOWN_IDS, &self->shown_ids) &&
           take_code(rules, RULES_REFUSED_EMITTERS, &self->refused_emitters) &&
           take_flag(rules, RULES_BINDS_SIGHTINGS, &self->binds_sightings) &&
           take_flag(rules, RULES_ONLY_SIGNED, &self->only_signed) &&
           take_flag(rules, RULES_ACCEPTS_CHECKS, &self->accepts_checks) &&
           take_integer(rules, RULES_LOOKS_KEPT, &self->looks_kept) &&
           take_flag(rules, RULES_NAMES_VENDORS, &self->names_vendors) &&
           take_integer(rules, RULES_MAX_ANNOTATIONS, &self->max_annotations) &&
           take_integer(rules, RULES_MAX_WAITING, &self->max_waiting) &&
           take_integer(rules, RULES_WAITING_SHARE, &self->waiting_share) &&
           take_code(rules, RULES_VERDICTS, &self->verdicts) &&
           take_flag(rules, RULES_LONE_REVIEWER, &self->lone_reviewer) &&
           take_integer(rules, RULES_REVIEWED, &self->reviewed) &&
           take_object(rules, RULES_CLASSES, &PyTuple_Type, &classes) && same_classes(classes) &&
           take_object(rules, RULES_DISPOSITIONS, &PyBytes_Type, &dispositions) && take_dispositions(self, dispositions);
}

static int writing_parse(Folder *self, PyObject *writing)
{
    PyObject *texts, *verdicts, *headers, *functions;
    if (!take_tuple(writing, WRITING_TEXTS, TEXT_FIELDS, &texts) ||
        !take_tuple(writing, WRITING_VERDICTS, VERDICT_TEXT_FIELDS, &verdicts) ||
        !take_tuple(writing, WRITING_HEADERS, RECORD_HEADER_FIELDS, &headers) ||
        !take_tuple(writing, WRITING_FUNCTIONS, FUNCTION_FIELDS, &functions) || !take_texts(self, texts))
        return 0;
    for (int i = 0; i < VERDICT_TEXT_FIELDS; i++) {
        PyObject *text;
        if (!take_object(verdicts, i, &PyBytes_Type, &text))
            return 0;
    }
    self->verdict_texts = Py_NewRef(verdicts);
    self->headers = Py_NewRef(headers);
    for (int i = 0; i < FUNCTION_FIELDS; i++)
        self->functions[i] = Py_NewRef(field_of(functions, i));
    return 1;
}

/* The tables, the moment, the rules and the writing, each a tuple; streams/adjudication/compiled.py is the only caller. */
static int folder_parse(Folder *self, PyObject *args)
{
    PyObject *tables, *moment, *rules, *writing;
    if (!PyArg_UnpackTuple(args, "Folder", 4, 4, &tables, &moment, &rules, &writing))
        return 0;
    if (is_tuple_of(tables, TABLES_FIELDS) && is_tuple_of(moment, MOMENT_FIELDS) && is_tuple_of(rules, RULES_FIELDS) &&
        is_tuple_of(writing, WRITING_FIELDS) && tables_parse(self, tables) && moment_parse(self, moment) &&
        rules_parse(self, rules) && writing_parse(self, writing) && self->lanes >= 1 && self->terms_number >= 0 &&
        self->terms_number < self->terms_count && self->max_validity_count >= 1)
        return 1;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "these are not the rules that the compiled core was made for");
    return 0;
}

static void folder_dealloc(Folder *self)
{
    PyObject **const held[] = {&self->state,   &self->packed,      &self->open,    &self->counters, &self->pending,
                               &self->expiring, &self->outputs,    &self->headers, &self->effects,  &self->observers,
                               &self->renewed,  &self->crowds,     &self->held,    &self->changed,  &self->verdict_texts,
                               &self->emitter,  &self->room};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        Py_CLEAR(*held[i]);
    for (int i = 0; i < FUNCTION_FIELDS; i++)
        Py_CLEAR(self->functions[i]);
    for (int i = 0; i < ABOUTS; i++)
        about_leave(&self->abouts[i]);
    for (int i = 0; i < TEXT_FIELDS; i++)
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
    marks_leave(self);
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
    } else {
        self->with_python = PyDict_GET_SIZE(self->open) || PyDict_GET_SIZE(self->changed);
    }
    return (PyObject *)self;
}

static PyMethodDef folder_methods[] = {
    {"fire", (PyCFunction)(void (*)(void))fire, METH_FASTCALL,
     "Fires what is due, at most so many, up to the first that is Python's; how many."},
    {"renew", (PyCFunction)renew, METH_O, "Tells of one renewal; False where it is Python's."},
    {"publish", (PyCFunction)publish, METH_O, "Publishes what became of the emissions that changed; those that are Python's go to a callable."},
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
    PyObject *fields[TIMER_FIELDS] = {
        [TIMER_CLOCK] = PyLong_FromLongLong(clock),
        [TIMER_DUE] = has_due ? PyLong_FromLongLong(due) : Py_NewRef(Py_None),
    };
    return tuple_of(fields, TIMER_FIELDS);
}

static PyMethodDef methods[] = {
    {"timer", (PyCFunction)(void (*)(void))timer, METH_FASTCALL,
     "The clock and the instant that an item of a packed emission waits for."},
    {NULL, NULL, 0, NULL},
};

/* A type of the codecs module, whose objects have this size; NULL where there is none such. */
static PyTypeObject *codecs_type(PyObject *codecs, const char *name, Py_ssize_t size)
{
    PyObject *found = codecs == NULL ? NULL : PyObject_GetAttrString(codecs, name);
    if (found == NULL || !PyType_Check(found) || ((PyTypeObject *)found)->tp_basicsize != size) {
        PyErr_Clear();
        Py_CLEAR(found);
    }
    return (PyTypeObject *)found;
}

/* The types of what lies in place. Without that of events, each part of theirs is asked for by its name; 0 with an
 * exception where that of outputs is missing. */
static int find_types(void)
{
    PyObject *codecs = PyImport_ImportModule("sluice.codecs._native");
    event_in_place = codecs_type(codecs, "EventInPlace", sizeof(InPlace));
    output_in_place = codecs_type(codecs, "OutputInPlace", sizeof(OutputInPlace));
    Py_XDECREF(codecs);
    if (output_in_place == NULL)
        PyErr_SetString(PyExc_ImportError, "sluice.codecs._native is not the one that belongs to sluice.streams._native");
    return output_in_place != NULL;
}

static int on_start(PyObject *module)
{
    if (!find_types() || !members_begin(&event_members) || !decision_begin() || !verdicts_begin())
        return -1;
    for (int i = 0; i < STATE_NUMBER_FIELDS; i++)
        if (!is_interned(&state_names[i], STATE_NUMBERS[i]))
            return -1;
    PyObject *type = PyType_FromSpec(&folder_spec);
    int added = type == NULL ? -1 : PyModule_AddObjectRef(module, "Folder", type);
    Py_XDECREF(type);
    if (added < 0 || PyModule_AddIntConstant(module, "PURE", sluice_pure()) < 0 ||
        PyModule_AddStringConstant(module, "LAYOUT", SLUICE_STREAMS_LAYOUT) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "VERSION", SLUICE_NATIVE_VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, on_start}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sluice.streams._native", NULL, 0, methods, slots, NULL, NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }

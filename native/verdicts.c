/* streams/adjudication/verdict_json.py: what the topic `verdicts` says of an emission, and what is remembered for it of an
 * assertion that was closed. */
#include "folder.h"
#include "in_place.h"
#include "members.h"
#include "times.h"

/* The words of layout.h's numbers, in their order (fold_layout.py, `CODES`; the tests hold both to it). */
static const View KINDS[] = {VIEW("assertion"), VIEW("denial"), VIEW("refusal")};
static const View DISPOSITIONS[] = {VIEW("discard"), VIEW("review"), VIEW("re-emit"), VIEW("refuse")};
static const View COVERAGES[] = {VIEW("none"), VIEW("part"), VIEW("whole")};
static const View STATUSES_TOLD[] = {
    VIEW("pending"), VIEW("admitted"),             VIEW("decayed-to-uncertainty"), VIEW("contradicted"), VIEW("rejected"),
    VIEW("refused"), VIEW("unverified-inference"), VIEW("below-floor"),            VIEW("unannotated"),
};
static const View REASONS[] = {
    VIEW("declared-terminal"), VIEW("unknown-class"),   VIEW("ungrounded"),            VIEW("citation-violation"),
    VIEW("low-confidence"),    VIEW("confusable-text"), VIEW("fabricated-annotation"), VIEW("contradicted"),
    VIEW("superseded"),        VIEW("partly-checked"),  VIEW("below-floor"),           VIEW("aged-out"),
    VIEW("not-checked"),       VIEW("no-corroboration"), VIEW("review"),               VIEW("validity-ended"),
};
#define LENGTH_OF(list) (sizeof(list) / sizeof *(list))
_Static_assert(LENGTH_OF(KINDS) == KIND_CODES && LENGTH_OF(DISPOSITIONS) == DISPOSITION_CODES &&
                   LENGTH_OF(COVERAGES) == COVERAGE_CODES && LENGTH_OF(STATUSES_TOLD) == STATUS_CODES &&
                   LENGTH_OF(REASONS) == REASON_CODES,
               "each word has its number");

const char *word_of_reason(int64_t reason)
{
    return reason >= 0 && reason < REASON_CODES ? (const char *)REASONS[reason].at : NULL;
}

static PyObject *topic_name, *id_name, *settled_header, *pending_header; /* of every record: made once */

static PyObject *type_header(const char *type)
{
    PyObject *header[HEADER_FIELDS] = {
        [HEADER_NAME] = PyUnicode_InternFromString("ce_type"),
        [HEADER_VALUE] = PyBytes_FromString(type),
    };
    return tuple_of(header, HEADER_FIELDS);
}

int verdicts_begin(void)
{
    settled_header = type_header("sluice.verdicts.settled");
    pending_header = type_header("sluice.verdicts.pending");
    return is_interned(&topic_name, "verdicts") && is_interned(&id_name, "ce_id") && settled_header != NULL &&
           pending_header != NULL;
}

int folder_mark(Folder *self, PyObject *name, int has_emitter, View emitter)
{
    if (self->verdicts == VERDICTS_NONE)
        return DONE;
    if (!has_emitter)
        return PyDict_SetItem(self->changed, name, Py_None) < 0 ? FAILED : DONE;
    View last = {NULL, 0};
    if (self->emitter != NULL && !utf8_of(self->emitter, &last))
        return FAILED;
    if (last.at == NULL || !same_view(last, emitter))
        Py_XSETREF(self->emitter, PyUnicode_DecodeUTF8((const char *)emitter.at, (Py_ssize_t)emitter.length, NULL));
    return self->emitter == NULL || PyDict_SetItem(self->changed, name, self->emitter) < 0 ? FAILED : DONE;
}

int folder_closed(Folder *self, const AssertionState *assertion, int64_t status, int64_t reason, int64_t disposition,
                  Closed *closed)
{
    const Checking *checks = assertion->checks;
    int64_t any = 0;
    *closed = (Closed){.span_key = assertion->span_key, .external = assertion->external, .status = status, .reason = reason,
                       .disposition = disposition, .coverage = -1, .missing = missing(assertion),
                       .valid_until = assertion->valid_until, .kind = KIND_CODES};
    for (int64_t kind = 0; kind < KIND_CODES; kind++)
        if (same_view(assertion->kind, KINDS[kind]))
            closed->kind = kind;
    for (int64_t number = 0; number < CLASSES; number++)
        for (size_t i = 0; i < assertion->seen_count && closed->class_count < CLASSES; i++)
            if (assertion->seen[i].number == number && (assertion->seen[i].latest >= 0 || assertion->seen[i].ts >= 0))
                closed->classes[closed->class_count++] = number;
    for (size_t i = 0; checks != NULL && i < checks->count; i++)
        any |= closed->checks[i] = classes_of_check(assertion, i);
    closed->check_count = checks != NULL && (any || checks->texts != NULL) ? checks->count : 0;
    if (any) {
        Ranges unchecked;
        closed->coverage = coverage_of(assertion, &self->arena, &unchecked);
        if (closed->coverage < 0) {
            PyErr_NoMemory();
            return FAILED;
        }
    }
    return closed->kind < KIND_CODES ? DONE : PYTHON;
}

/* ---------------------------------------------------------------- written */

/* A member up to its text, which stands in `literal`, and that text. */
#define PUT_WORD(out, literal, word) (PUT(out, literal), put_view(out, word), put_byte(out, '"'))

static int in_words(const Closed *one)
{
    return one->kind >= 0 && one->kind < KIND_CODES && one->status >= 0 && one->status < STATUS_CODES && one->reason >= -1 &&
           one->reason < REASON_CODES && one->disposition >= -1 && one->disposition < DISPOSITION_CODES &&
           one->coverage >= -1 && one->coverage < COVERAGE_CODES && one->valid_until <= LATEST &&
           one->span_key.length > 2 && memcmp(one->span_key.at, "c:", 2) == 0;
}

static void put_entry(Buffer *out, int64_t attempt, const Closed *one)
{
    PUT(out, "{\"attempt\":");
    put_decimal(out, attempt);
    PUT_WORD(out, ",\"span_key\":\"", one->span_key);
    PUT_WORD(out, ",\"kind\":\"", KINDS[one->kind]);
    one->external ? PUT(out, ",\"effect\":\"external\"") : PUT(out, ",\"effect\":\"internal\"");
    PUT_WORD(out, ",\"status\":\"", STATUSES_TOLD[one->status]);
    if (one->reason >= 0)
        PUT_WORD(out, ",\"reason\":\"", REASONS[one->reason]);
    if (one->disposition >= 0)
        PUT_WORD(out, ",\"disposition\":\"", DISPOSITIONS[one->disposition]);
    if (one->coverage >= 0)
        PUT_WORD(out, ",\"coverage\":\"", COVERAGES[one->coverage]);
    for (size_t i = 0; i < one->check_count; i++) {
        i ? PUT(out, ",{\"number\":") : PUT(out, ",\"checks\":[{\"number\":");
        put_decimal(out, (int64_t)i);
        PUT(out, ",\"classes\":");
        put_decimal(out, one->checks[i]);
        put_byte(out, '}');
    }
    if (one->check_count)
        put_byte(out, ']');
    PUT(out, ",\"classes_seen\":[");
    for (size_t i = 0; i < one->class_count; i++)
        i ? PUT_WORD(out, ",\"", CLASS_NAMES[one->classes[i]]) : PUT_WORD(out, "\"", CLASS_NAMES[one->classes[i]]);
    PUT(out, "],\"missing_floor\":");
    put_decimal(out, one->missing);
    if (one->valid_until >= 0) {
        PUT(out, ",\"valid_until\":\"");
        put_time(out, one->valid_until);
        put_byte(out, '"');
    }
    put_byte(out, '}');
}

/* One entry more, behind those that are there. */
static int add(Buffer *out, int64_t attempt, const Closed *one)
{
    if (!in_words(one))
        return PYTHON;
    if (out->length)
        put_byte(out, ',');
    put_entry(out, attempt, one);
    return DONE;
}

/* What lives of an attempt, in `more`; `pending`: whether anything of it is. */
static int add_living(Folder *self, Reader *reader, const EmissionState *attempt, View id, int *pending)
{
    self->more.length = 0;
    for (uint64_t i = 0; i < attempt->assertions; i++) {
        AssertionState one;
        Closed told;
        if (!assertion_state_read(&one, reader, &self->arena, attempt, id) || folder_is_pythons(self, &one))
            return PYTHON;
        int64_t status = STATUS_PENDING, reason = -1, disposition = -1;
        if (one.phase == PENDING) {
            *pending = 1;
            if (self->verdicts == VERDICTS_SETTLED)
                return DONE; /* nothing is told of it */
        } else if (one.phase == ADMITTED) {
            status = STATUS_ADMITTED;
        } else if (one.has_asked) {
            status = one.asked_status;
            reason = one.asked_reason;
            disposition = DISPOSITION_REVIEW;
        } else {
            continue; /* nobody knows why it waits for a reviewer */
        }
        int done = folder_closed(self, &one, status, reason, disposition, &told);
        if (done == DONE)
            done = add(&self->more, attempt->number, &told);
        if (done != DONE)
            return done;
    }
    return DONE;
}

/* What was closed of an attempt, in `checked`. */
static int add_closed(Folder *self, Reader *reader, int64_t attempt, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        Closed one;
        int told;
        if (!closed_read(&one, reader, &told))
            return PYTHON;
        int done = told ? add(&self->checked, attempt, &one) : DONE;
        if (done != DONE)
            return done;
    }
    return DONE;
}

/* The entries of an emission, in `checked`. */
static int entries(Folder *self, const Place *place, int64_t *newest, int *pending)
{
    View whole = view_of_bytes(place->bytes);
    Reader reader = {whole.at, whole.at + whole.length};
    uint64_t attempts, closed;
    self->checked.length = 0;
    *newest = -1;
    *pending = 0;
    if (!take_array_of(&reader, EMISSION_STATE_FIELDS) || !take_array(&reader, &attempts))
        return PYTHON;
    for (uint64_t i = 0; i < attempts; i++) {
        EmissionState one;
        if (!take_array_of(&reader, ATTEMPT_FIELDS) || !take_int(&reader, &one.number) ||
            !take_int(&reader, &one.emitted_at) || !take_bytes(&reader, &one.digest) || !take_int(&reader, &one.order) ||
            !take_array(&reader, &one.assertions))
            return PYTHON;
        *newest = one.number > *newest ? one.number : *newest;
        int done = add_living(self, &reader, &one, place->id, pending);
        if (done == DONE && *pending && self->verdicts == VERDICTS_SETTLED)
            return DONE;
        if (done == DONE)
            done = take_array(&reader, &closed) ? add_closed(self, &reader, one.number, closed) : PYTHON;
        if (done != DONE)
            return done;
        if (self->more.length) {
            if (self->checked.length)
                put_byte(&self->checked, ',');
            put_view(&self->checked, (View){self->more.data, self->more.length});
        }
        if (!pass_values(&reader, ATTEMPT_FIELDS - ATTEMPT_CLOCK))
            return PYTHON;
    }
    return DONE;
}

static View text_of(const Folder *self, int text) { return view_of_bytes(field_of(self->verdict_texts, text)); }

/* The record's headers, by its place among the block's outputs. */
static PyObject *headers_of(const Folder *self, Py_ssize_t index, int settled)
{
    char digits[DECIMAL_DIGITS];
    View before = text_of(self, VERDICT_TEXT_ID);
    size_t length = decimal_of(index, digits);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(before.length + length));
    if (bytes != NULL) {
        memcpy(PyBytes_AS_STRING(bytes), before.at, before.length);
        memcpy(PyBytes_AS_STRING(bytes) + before.length, digits, length);
    }
    PyObject *id[HEADER_FIELDS] = {[HEADER_NAME] = Py_NewRef(id_name), [HEADER_VALUE] = bytes};
    PyObject *given[] = {
        Py_NewRef(field_of(self->headers, RECORD_HEADER_SPECVERSION)),
        tuple_of(id, HEADER_FIELDS),
        Py_NewRef(field_of(self->headers, RECORD_HEADER_SOURCE)),
        Py_NewRef(settled ? settled_header : pending_header),
        Py_NewRef(field_of(self->headers, RECORD_HEADER_TIME)),
        Py_NewRef(field_of(self->headers, RECORD_HEADER_CONTENT_TYPE)),
    };
    PyObject *list = PyList_New(LENGTH_OF(given));
    int fine = list != NULL;
    for (size_t i = 0; i < LENGTH_OF(given); i++) {
        fine = fine && given[i] != NULL;
        if (list != NULL)
            PyList_SET_ITEM(list, (Py_ssize_t)i, given[i]);
        else
            Py_XDECREF(given[i]);
    }
    if (!fine)
        Py_CLEAR(list);
    return list;
}

static int put_output(Folder *self, View id, View emitter, int64_t newest, int settled)
{
    Buffer *out = &self->head;
    Py_ssize_t index = PyList_GET_SIZE(self->outputs);
    out->length = 0;
    PUT_WORD(out, "{\"@type\":\"sluice:Verdicts\",\"@version\":\"1.0\",\"emission_id\":\"", id);
    PUT(out, ",\"attempt\":");
    put_decimal(out, newest);
    if (emitter.at != NULL)
        PUT_WORD(out, ",\"emitter\":\"", emitter);
    settled ? PUT(out, ",\"settled\":true,") : PUT(out, ",\"settled\":false,");
    put_view(out, text_of(self, VERDICT_TEXT_AT));
    put_view(out, (View){self->checked.data, self->checked.length});
    put_view(out, text_of(self, VERDICT_TEXT_LEDGER));
    put_decimal(out, index);
    put_view(out, text_of(self, VERDICT_TEXT_BEHIND));
    if (out->failed || self->checked.failed || self->more.failed) {
        PyErr_NoMemory();
        return FAILED;
    }
    PyTypeObject *type = (PyTypeObject *)self->output_type;
    PyObject *output = type->tp_alloc(type, OUTPUT_FIELDS);
    if (output == NULL)
        return FAILED;
    PyTuple_SET_ITEM(output, OUTPUT_TOPIC, Py_NewRef(topic_name));
    PyTuple_SET_ITEM(output, OUTPUT_KEY, PyBytes_FromStringAndSize((const char *)id.at, (Py_ssize_t)id.length));
    PyTuple_SET_ITEM(output, OUTPUT_VALUE, PyBytes_FromStringAndSize((char *)out->data, (Py_ssize_t)out->length));
    PyTuple_SET_ITEM(output, OUTPUT_HEADERS, headers_of(self, index, settled));
    int fine = 1;
    for (int i = 0; i < OUTPUT_FIELDS; i++)
        fine = fine && field_of(output, i) != NULL;
    fine = fine && PyList_Append(self->outputs, output) == 0;
    Py_DECREF(output);
    return fine ? DONE : FAILED;
}

int folder_publish(Folder *self, PyObject *name, PyObject *emitter)
{
    Place place = {NULL, NULL, {NULL, 0}};
    View by = {NULL, 0};
    int64_t newest;
    int pending;
    if (!utf8_of(name, &place.id) || (emitter != Py_None && !utf8_of(emitter, &by)))
        return FAILED;
    place.name = Py_NewRef(name);
    int done = folder_look_at(self, &place);
    if (done == DONE && place.bytes != NULL) {
        done = entries(self, &place, &newest, &pending);
        if (done == DONE && !(pending && self->verdicts == VERDICTS_SETTLED))
            done = put_output(self, place.id, by, newest, !pending);
    }
    place_leave(&place);
    return done;
}

/* streams/adjudication/decision_json.py: what the topic `verdicts` says of an emission, and what is remembered for it of an
 * assertion that was closed. */
#include "folder.h"
#include "in_place.h"
#include "members.h"
#include "times.h"

/* The words of layout.h's numbers, in their order (fold_layout.py, `CODES`; the tests hold both to it). Each takes
 * the same room, so that it is copied without a call. */
enum { WORD_ROOM = 32, LONGEST_WORD = WORD_ROOM - 1 };
typedef struct {
    char text[LONGEST_WORD];
    uint8_t length;
} Word;
#define WORD(literal) {literal, sizeof(literal) - 1}
static const Word KINDS[] = {WORD("assertion"), WORD("denial"), WORD("refusal")};
static const Word DISPOSITIONS[] = {WORD("discard"), WORD("review"), WORD("re-emit"), WORD("refuse")};
static const Word COVERAGES[] = {WORD("none"), WORD("part"), WORD("whole")};
static const Word STATUSES_TOLD[] = {
    WORD("pending"), WORD("admitted"),             WORD("decayed-to-uncertainty"), WORD("contradicted"), WORD("rejected"),
    WORD("refused"), WORD("unverified-inference"), WORD("below-floor"),            WORD("unannotated"),
};
static const Word REASONS[] = {
    WORD("declared-terminal"), WORD("unknown-class"),   WORD("ungrounded"),            WORD("citation-violation"),
    WORD("low-confidence"),    WORD("confusable-text"), WORD("fabricated-annotation"), WORD("contradicted"),
    WORD("superseded"),        WORD("partly-checked"),  WORD("below-floor"),           WORD("aged-out"),
    WORD("not-checked"),       WORD("no-corroboration"), WORD("review"),               WORD("validity-ended"),
    WORD("not-looked-at"),     WORD("session-failed"),  WORD("session-only"),          WORD("narrower-run"),
    WORD("stale-run"),         WORD("no-run"),
};
#define LENGTH_OF(list) (sizeof(list) / sizeof *(list))
_Static_assert(LENGTH_OF(KINDS) == KIND_CODES && LENGTH_OF(DISPOSITIONS) == DISPOSITION_CODES &&
                   LENGTH_OF(COVERAGES) == COVERAGE_CODES && LENGTH_OF(STATUSES_TOLD) == STATUS_CODES &&
                   LENGTH_OF(REASONS) == REASON_CODES,
               "each word has its number");

const char *word_of_reason(int64_t reason)
{
    return reason >= 0 && reason < REASON_CODES ? REASONS[reason].text : NULL;
}

static PyObject *topic_name, *settled_header, *pending_header; /* of every record: made once */

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
    return is_interned(&topic_name, "verdicts") && settled_header != NULL && pending_header != NULL;
}

/* ---------------------------------------------------------------- what changed */

static View id_of(const Folder *self, const Mark *one) { return (View){self->entries.data + one->id, one->id_length}; }

static uint32_t *chain_of(Folder *self, Py_hash_t hash) { return &self->chains[(size_t)hash % CHAINS]; }

/* A new mark, all zero; NULL with an exception. */
static Mark *mark_anew(Folder *self)
{
    enum { FIRST_MARKS = 64, FIRST_BYTES = 1 << 14 };
    if (self->mark_count == self->mark_room) {
        size_t room = self->mark_room ? 2 * self->mark_room : FIRST_MARKS;
        Mark *more = room < UINT32_MAX ? PyMem_Realloc(self->marks, room * sizeof *more) : NULL;
        if (more == NULL || !buffer_reserve(&self->entries, FIRST_BYTES)) {
            self->marks = more != NULL ? more : self->marks;
            PyErr_NoMemory();
            return NULL;
        }
        self->marks = more;
        self->mark_room = room;
    }
    Mark *one = &self->marks[self->mark_count++];
    memset(one, 0, sizeof *one);
    return one;
}

/* Marks without Python: `changed` is empty. */
static int mark_here(Folder *self, PyObject *name, PyObject *emitter)
{
    View id;
    Py_hash_t hash = PyObject_Hash(name);
    if (hash == -1 || !utf8_of(name, &id))
        return FAILED;
    uint32_t *chain = chain_of(self, hash);
    size_t place = *chain;
    while (place && !(self->marks[place - 1].hash == hash && same_view(id_of(self, &self->marks[place - 1]), id)))
        place = self->marks[place - 1].next;
    if (!place) {
        Mark *one = mark_anew(self);
        if (one == NULL)
            return FAILED;
        one->id = self->entries.length;
        one->id_length = id.length;
        one->hash = hash;
        one->next = *chain;
        put_view(&self->entries, id);
        *chain = (uint32_t)(place = self->mark_count);
    }
    Py_XSETREF(self->marks[place - 1].emitter, Py_NewRef(emitter));
    self->mark = place - 1;
    if (self->entries.failed)
        PyErr_NoMemory();
    return self->entries.failed ? FAILED : DONE;
}

static int mark_for_python(Folder *self, PyObject *name, PyObject *emitter)
{
    Py_ssize_t before = PyDict_GET_SIZE(self->changed);
    if (PyDict_SetItem(self->changed, name, emitter) < 0)
        return FAILED;
    self->marked = PyDict_GET_SIZE(self->changed) > before ? name : NULL;
    return DONE;
}

int folder_mark(Folder *self, PyObject *name, int has_emitter, View emitter)
{
    if (self->verdicts == VERDICTS_NONE)
        return DONE;
    PyObject *by = Py_None;
    if (has_emitter) {
        View last = {NULL, 0};
        if (self->emitter != NULL && !utf8_of(self->emitter, &last))
            return FAILED;
        if (last.at == NULL || !same_view(last, emitter))
            Py_XSETREF(self->emitter, PyUnicode_DecodeUTF8((const char *)emitter.at, (Py_ssize_t)emitter.length, NULL));
        by = self->emitter;
    }
    if (by == NULL)
        return FAILED;
    return self->with_python ? mark_for_python(self, name, by) : mark_here(self, name, by);
}

void folder_untell(Folder *self, PyObject *name)
{
    Py_hash_t hash = self->with_python || !self->mark_count ? -1 : PyObject_Hash(name); /* of a key: it is known */
    for (size_t place = hash == -1 ? 0 : *chain_of(self, hash); place; place = self->marks[place - 1].next)
        if (self->marks[place - 1].hash == hash)
            self->marks[place - 1].is_told = 0; /* another's with the same hash is only read again */
}

static PyObject *name_of(const Folder *self, const Mark *one)
{
    View id = id_of(self, one);
    return PyUnicode_DecodeUTF8((const char *)id.at, (Py_ssize_t)id.length, NULL);
}

/* Gives a mark to Python: its key in `changed`, and where it is told, the emission as it lies. */
static int give(Folder *self, Mark *one)
{
    PyObject *name = name_of(self, one);
    if (name == NULL || PyDict_SetItem(self->changed, name, one->emitter) < 0) {
        Py_XDECREF(name);
        return 0;
    }
    Py_DECREF(name); /* `changed` holds it */
    one->name = name;
    if (one->is_told)
        one->bytes = Py_XNewRef(PyDict_GetItemWithError(self->packed, name));
    return !PyErr_Occurred();
}

int folder_share(Folder *self)
{
    size_t told = 0;
    if (self->with_python)
        return 1;
    self->with_python = 1;
    for (size_t place = 0; place < self->mark_count; place++)
        if (!give(self, &self->marks[place]))
            return 0;
    for (size_t place = 0; place < self->mark_count; place++) {
        Py_CLEAR(self->marks[place].emitter);
        if (self->marks[place].bytes != NULL)
            self->marks[told++] = self->marks[place];
    }
    self->mark_count = told;
    return 1;
}

void marks_leave(Folder *self)
{
    for (size_t place = 0; place < self->mark_count; place++) {
        Py_XDECREF(self->marks[place].emitter);
        Py_XDECREF(self->marks[place].bytes);
    }
    PyMem_Free(self->marks);
    buffer_free(&self->entries);
    Py_CLEAR(self->kept);
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
        if (view_is(assertion->kind, KINDS[kind].text, KINDS[kind].length))
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

static int in_words(const Closed *one)
{
    return one->kind >= 0 && one->kind < KIND_CODES && one->status >= 0 && one->status < STATUS_CODES && one->reason >= -1 &&
           one->reason < REASON_CODES && one->disposition >= -1 && one->disposition < DISPOSITION_CODES &&
           one->coverage >= -1 && one->coverage < COVERAGE_CODES && one->valid_until <= LATEST &&
           one->span_key.length > 2 && memcmp(one->span_key.at, "c:", 2) == 0;
}

/* What follows is written into room that was made before, at least as much as `ENTRY_ROOM` and the span's key. */
enum {
    ENTRY_ROOM = 640 + CLASSES * (WORD_ROOM + 4) + MOST_CHECKS * (2 * DECIMAL_DIGITS + 32),
};
#define LAY(at, literal) (memcpy(at, literal, sizeof(literal) - 1), (at) += sizeof(literal) - 1)

static inline uint8_t *lay_word(uint8_t *at, const Word *word)
{
    memcpy(at, word, WORD_ROOM); /* what is too much is written over */
    return at + word->length;
}

static inline uint8_t *lay_decimal(uint8_t *at, int64_t value)
{
    if (value >= 0 && value < 10) { /* as nearly always */
        *at = (uint8_t)('0' + value);
        return at + 1;
    }
    char digits[DECIMAL_DIGITS];
    return lay_view(at, (View){(uint8_t *)digits, decimal_of(value, digits)});
}

static void put_entry(Buffer *out, int64_t attempt, const Closed *one)
{
    if (!buffer_reserve(out, ENTRY_ROOM + one->span_key.length))
        return;
    uint8_t *at = out->data + out->length;
    LAY(at, "{\"attempt\":");
    at = lay_decimal(at, attempt);
    LAY(at, ",\"span_key\":\"");
    at = lay_view(at, one->span_key);
    LAY(at, "\",\"kind\":\"");
    at = lay_word(at, &KINDS[one->kind]);
    if (one->external)
        LAY(at, "\",\"effect\":\"external\",\"status\":\"");
    else
        LAY(at, "\",\"effect\":\"internal\",\"status\":\"");
    at = lay_word(at, &STATUSES_TOLD[one->status]);
    if (one->reason >= 0) {
        LAY(at, "\",\"reason\":\"");
        at = lay_word(at, &REASONS[one->reason]);
    }
    if (one->disposition >= 0) {
        LAY(at, "\",\"disposition\":\"");
        at = lay_word(at, &DISPOSITIONS[one->disposition]);
    }
    if (one->coverage >= 0) {
        LAY(at, "\",\"coverage\":\"");
        at = lay_word(at, &COVERAGES[one->coverage]);
        if (one->coverage == WHOLE)
            LAY(at, "\",\"coverage_by\":\"form");
    }
    *at++ = '"';
    for (size_t i = 0; i < one->check_count; i++) {
        if (i)
            LAY(at, ",{\"number\":");
        else
            LAY(at, ",\"checks\":[{\"number\":");
        at = lay_decimal(at, (int64_t)i);
        LAY(at, ",\"classes\":");
        at = lay_decimal(at, one->checks[i]);
        *at++ = '}';
    }
    if (one->check_count)
        *at++ = ']';
    LAY(at, ",\"classes_seen\":[");
    for (size_t i = 0; i < one->class_count; i++) {
        if (i)
            *at++ = ',';
        *at++ = '"';
        at = lay_view(at, CLASS_NAMES[one->classes[i]]);
        *at++ = '"';
    }
    LAY(at, "],\"missing_floor\":");
    at = lay_decimal(at, one->missing);
    out->length = (size_t)(at - out->data);
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
            reason = one.look == UNSEEN ? REASON_NOT_LOOKED_AT : -1;
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

#define RECORD_BEGINS "{\"@type\":\"sluice:Verdicts\",\"@version\":\"1.0\",\"emission_id\":\""
#define RECORD_ATTEMPT "\",\"attempt\":"
#define RECORD_EMITTER ",\"emitter\":\""
#define RECORD_SETTLED ",\"settled\":true,"
#define RECORD_PENDING ",\"settled\":false,"

/* The record, its key and its id, in the bytes that go out; `told`: the entries. */
static int put_output(Folder *self, View id, View emitter, int64_t newest, int settled, View told)
{
    char attempt[DECIMAL_DIGITS], place[DECIMAL_DIGITS];
    const View digits = {(uint8_t *)attempt, decimal_of(newest, attempt)},
               number = {(uint8_t *)place, decimal_of(PyList_GET_SIZE(self->outputs), place)},
               own = text_of(self, VERDICT_TEXT_ID), decided = text_of(self, VERDICT_TEXT_AT),
               ledger = text_of(self, VERDICT_TEXT_LEDGER), behind = text_of(self, VERDICT_TEXT_BEHIND);
    const size_t of_id = own.length + number.length,
                 of_value = sizeof RECORD_BEGINS + sizeof RECORD_ATTEMPT - 2 + id.length + digits.length +
                            (settled ? sizeof RECORD_SETTLED : sizeof RECORD_PENDING) - 1 +
                            (emitter.at != NULL ? sizeof RECORD_EMITTER + emitter.length : 0) + decided.length +
                            told.length + ledger.length + number.length + behind.length;
    uint8_t *at = folder_room(self, id.length + of_id + of_value);
    if (at == NULL)
        return FAILED;
    at = lay_view(at, id);
    at = lay_view(at, own);
    at = lay_view(at, number);
    LAY(at, RECORD_BEGINS);
    at = lay_view(at, id);
    LAY(at, RECORD_ATTEMPT);
    at = lay_view(at, digits);
    if (emitter.at != NULL) {
        LAY(at, RECORD_EMITTER);
        at = lay_view(at, emitter);
        *at++ = '"';
    }
    if (settled)
        LAY(at, RECORD_SETTLED);
    else
        LAY(at, RECORD_PENDING);
    at = lay_view(at, decided);
    at = lay_view(at, told);
    at = lay_view(at, ledger);
    at = lay_view(at, number);
    lay_view(at, behind);
    return folder_put(self, topic_name, settled ? settled_header : pending_header, id.length, of_id, of_value, -1);
}

/* ---------------------------------------------------------------- made where the verdict falls */

/* Whether an emission is the one that was marked last; with Python: that this mark was its first, and is not told. */
static int is_last_mark(const Folder *self, const Place *place)
{
    return self->with_python ? self->marked == place->name
                             : self->mark_count && same_view(id_of(self, &self->marks[self->mark]), place->id);
}

int folder_tell(Folder *self, const Place *place, int64_t attempt, const Closed *one)
{
    if (!is_last_mark(self, place) || self->kept == NULL || !in_words(one))
        return DONE;
    Mark *mark = self->with_python ? mark_anew(self) : &self->marks[self->mark];
    if (mark == NULL)
        return FAILED;
    self->marked = NULL;
    if (self->with_python) {
        mark->name = place->name;
        mark->bytes = Py_NewRef(self->kept);
    }
    mark->attempt = attempt;
    mark->at = self->entries.length;
    put_entry(&self->entries, attempt, one);
    mark->length = self->entries.length - mark->at;
    mark->is_told = 1;
    if (self->entries.failed)
        PyErr_NoMemory();
    return self->entries.failed ? FAILED : DONE;
}

/* Publishes what was made of an emission. */
static int publish_told(Folder *self, View id, View emitter, const Mark *told)
{
    return put_output(self, id, emitter, told->attempt, 1, (View){self->entries.data + told->at, told->length});
}

/* What was made of an emission that is published now, or NULL; both are in the order of the first change. */
static const Mark *told_of(Folder *self, const Place *place)
{
    if (!self->with_python || self->mark_next == self->mark_count || self->marks[self->mark_next].name != place->name)
        return NULL;
    const Mark *found = &self->marks[self->mark_next++];
    return found->bytes == place->bytes ? found : NULL;
}

/* `emitter` None: it does not say. */
static int publish_one(Folder *self, PyObject *name, PyObject *emitter)
{
    Place place = {NULL, NULL, {NULL, 0}};
    View by = {NULL, 0};
    int64_t newest;
    int pending;
    arena_reset(&self->arena);
    if (!utf8_of(name, &place.id) || (emitter != Py_None && !utf8_of(emitter, &by)))
        return FAILED;
    place.name = Py_NewRef(name);
    int done = folder_look_at(self, &place);
    const Mark *told = told_of(self, &place);
    if (done == DONE && told != NULL) {
        done = publish_told(self, place.id, by, told);
    } else if (done == DONE && place.bytes != NULL) {
        done = entries(self, &place, &newest, &pending);
        if (done == DONE && (self->checked.failed || self->more.failed)) {
            PyErr_NoMemory();
            done = FAILED;
        }
        if (done == DONE && !(pending && self->verdicts == VERDICTS_SETTLED))
            done = put_output(self, place.id, by, newest, !pending, (View){self->checked.data, self->checked.length});
    }
    place_leave(&place);
    return done;
}

/* The same, by Python where it is Python's; 0 with an exception. */
static int publish(Folder *self, PyObject *name, PyObject *emitter, PyObject *other)
{
    int done = publish_one(self, name, emitter);
    PyObject *nothing = done == PYTHON ? PyObject_CallFunctionObjArgs(other, name, emitter, NULL) : NULL;
    int fine = done == DONE || nothing != NULL;
    Py_XDECREF(nothing);
    return fine;
}

/* Without Python. */
static int publish_mark(Folder *self, const Mark *one, PyObject *other)
{
    View by = {NULL, 0};
    if (one->is_told) {
        if (one->emitter != Py_None && !utf8_of(one->emitter, &by))
            return 0;
        return publish_told(self, id_of(self, one), by, one) == DONE;
    }
    PyObject *name = name_of(self, one);
    int fine = name != NULL && publish(self, name, one->emitter, other);
    Py_XDECREF(name);
    return fine;
}

int folder_publish(Folder *self, PyObject *other)
{
    PyObject *name, *emitter;
    Py_ssize_t at = 0;
    for (size_t place = 0; !self->with_python && place < self->mark_count; place++)
        if (!publish_mark(self, &self->marks[place], other))
            return 0;
    while (PyDict_Next(self->changed, &at, &name, &emitter)) /* `other` changes none of it */
        if (!publish(self, name, emitter, other))
            return 0;
    return 1;
}

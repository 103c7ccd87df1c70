/* streams/adjudication/timers.py, and what fires in streams/adjudication/fold.py: the end of waiting, of a validity, a review and a memory. */
#include "folder.h"

enum { DUE_BYTES = 8, KEY_BYTES = 14 };
#define ZERO (INT64_C(1) << 62)

static int before(PyObject *one, PyObject *other)
{
    Py_ssize_t first = PyBytes_GET_SIZE(one), second = PyBytes_GET_SIZE(other);
    int order = memcmp(PyBytes_AS_STRING(one), PyBytes_AS_STRING(other), (size_t)(first < second ? first : second));
    return order < 0 || (order == 0 && first < second);
}

int queue_push(PyObject *heap, int64_t due, int64_t order, View name)
{
    PyObject *key = PyBytes_FromStringAndSize(NULL, KEY_BYTES + (Py_ssize_t)name.length);
    if (key == NULL)
        return -1;
    uint8_t *at = (uint8_t *)PyBytes_AS_STRING(key);
    uint64_t instant = (uint64_t)(due + ZERO);
    for (int i = 0; i < DUE_BYTES; i++)
        at[i] = (uint8_t)(instant >> (56 - 8 * i));
    for (int i = 0; i < KEY_BYTES - DUE_BYTES; i++)
        at[DUE_BYTES + i] = (uint8_t)((uint64_t)order >> (40 - 8 * i));
    memcpy(at + KEY_BYTES, name.at, name.length);
    int failed = PyList_Append(heap, key);
    Py_DECREF(key);
    if (failed)
        return -1;
    Py_ssize_t place = PyList_GET_SIZE(heap) - 1;
    while (place > 0) {
        Py_ssize_t parent = (place - 1) / 2;
        if (!before(key, PyList_GET_ITEM(heap, parent)))
            break;
        PyList_SET_ITEM(heap, place, PyList_GET_ITEM(heap, parent));
        PyList_SET_ITEM(heap, parent, key);
        place = parent;
    }
    return 0;
}

/* Takes out the first key; the last one sinks to its place. */
static int queue_pop(PyObject *heap)
{
    Py_ssize_t last = PyList_GET_SIZE(heap) - 1, place = 0;
    PyObject *key = Py_NewRef(PyList_GET_ITEM(heap, last));
    if (PyList_SetSlice(heap, last, last + 1, NULL) < 0) {
        Py_DECREF(key);
        return -1;
    }
    if (last == 0) {
        Py_DECREF(key);
        return 0;
    }
    PyObject *first = PyList_GET_ITEM(heap, 0);
    for (;;) {
        Py_ssize_t child = 2 * place + 1;
        if (child >= last)
            break;
        if (child + 1 < last && before(PyList_GET_ITEM(heap, child + 1), PyList_GET_ITEM(heap, child)))
            child++;
        if (!before(PyList_GET_ITEM(heap, child), key))
            break;
        PyList_SET_ITEM(heap, place, PyList_GET_ITEM(heap, child));
        place = child;
    }
    PyList_SET_ITEM(heap, place, key);
    Py_DECREF(first);
    return 0;
}

/* ---------------------------------------------------------------- what is due */

/* What the first key of a queue stands for. */
typedef struct {
    int64_t due, order;
    PyObject *key; /* held, for the name */
    Place place;
    EmissionState known;
    enum { NOTHING, A_LIFE, AN_ATTEMPT, A_WAITING } kind;
    AssertionState assertion;
    PendingEvidence waiting;
    View lay; /* where the assertion or the waiting evidence lies */
} Due;

static void due_leave(Due *self)
{
    Py_CLEAR(self->key);
    place_leave(&self->place);
}

/* Finds the item of the key: DONE (also where it is gone), PYTHON, FAILED. */
static int due_find(Folder *self, Due *due)
{
    due->kind = NOTHING;
    if (due->place.bytes == NULL)
        return DONE;
    View whole = {(const uint8_t *)PyBytes_AS_STRING(due->place.bytes), (size_t)PyBytes_GET_SIZE(due->place.bytes)};
    Reader peek = {whole.at, whole.at + whole.length};
    uint64_t attempts;
    int64_t number = 0;
    Sought sought = {.emission_id = due->place.id, .order = due->order, .assertion = &due->assertion, .arena = &self->arena};
    if (!take_array_of(&peek, EMISSION_STATE_FIELDS) || !take_array(&peek, &attempts) || attempts > 1 ||
        (attempts && (!take_array_of(&peek, ATTEMPT_FIELDS) || !take_int(&peek, &number))) ||
        !known_read(&due->known, whole, number, &sought))
        return PYTHON;
    if (due->known.found && due->known.order == due->order) {
        due->kind = AN_ATTEMPT;
        return DONE;
    }
    if (sought.found) {
        due->lay = sought.place;
        due->kind = A_LIFE;
        return DONE;
    }
    Reader reader = {due->known.waiting_start, whole.at + whole.length};
    for (uint64_t i = 0; i < due->known.waiting; i++) {
        if (!waiting_read(&due->waiting, &reader))
            return PYTHON;
        due->lay = due->waiting.raw;
        if (due->waiting.order == due->order) {
            due->kind = A_WAITING;
            return DONE;
        }
    }
    return DONE;
}

/* The first item that is due on a clock; stale keys go. 1 there is one, 0 none, 2 Python has to look, -1 failed. */
static int head(Folder *self, PyObject *heap, int clock, int64_t now, Due *due)
{
    while (PyList_GET_SIZE(heap)) {
        PyObject *key = PyList_GET_ITEM(heap, 0);
        if (!PyBytes_CheckExact(key) || PyBytes_GET_SIZE(key) <= KEY_BYTES)
            return 2;
        const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(key);
        uint64_t instant = 0, order = 0;
        for (int i = 0; i < DUE_BYTES; i++)
            instant = instant << 8 | at[i];
        for (int i = DUE_BYTES; i < KEY_BYTES; i++)
            order = order << 8 | at[i];
        due->due = (int64_t)(instant - (uint64_t)ZERO);
        due->order = (int64_t)order;
        if (due->due >= now)
            return 0;
        due->key = Py_NewRef(key);
        View name = {at + KEY_BYTES, (size_t)PyBytes_GET_SIZE(key) - KEY_BYTES};
        int done = folder_look(self, name, &due->place);
        if (done == DONE)
            done = due_find(self, due);
        if (done != DONE)
            return done == PYTHON ? 2 : -1;
        int on = due->kind == A_LIFE ? (int)due->assertion.clock : due->kind == AN_ATTEMPT ? (int)due->known.clock
                                                                                      : (int)due->waiting.clock;
        int has = due->kind == A_LIFE ? due->assertion.has_due : due->kind == AN_ATTEMPT ? due->known.has_due
                                                                                    : due->waiting.has_due;
        int64_t then = due->kind == A_LIFE ? due->assertion.due : due->kind == AN_ATTEMPT ? due->known.due
                                                                                     : due->waiting.due;
        int waits = due->kind != NOTHING && on == clock && has;
        if (waits && then == due->due)
            return 1;
        if (queue_pop(heap) < 0 || (waits && then > due->due && queue_push(heap, then, due->order, name) < 0))
            return -1;
        due_leave(due);
    }
    return 0;
}

/* ---------------------------------------------------------------- what becomes of it */

static int64_t least_max_validity(const Folder *self, int64_t emitted_at)
{
    int64_t least = self->max_validities[self->max_validity_count - 1].milliseconds;
    for (Py_ssize_t i = self->max_validity_count - 1; i >= 0; i--) {
        if (self->max_validities[i].milliseconds < least)
            least = self->max_validities[i].milliseconds;
        if (self->max_validities[i].since <= emitted_at)
            break;
    }
    return least;
}

/* Writes the emission with its attempt as it is now, less the assertion that lies there (`lay.at` NULL: none); an attempt of
 * which nothing assertions is remembered until a repetition would be too old. */
static int keep_attempt(Folder *self, const Place *place, EmissionState *known, View lay, const Closed *one)
{
    Buffer *out = &self->packing;
    uint64_t assertions = known->assertions - (lay.at != NULL), closed = known->closed + (lay.at != NULL);
    View waiting = {known->waiting_header, (size_t)(known->whole.at + known->whole.length - known->waiting_header)};
    out->length = 0;
    if (!assertions) {
        int64_t until = known->emitted_at + least_max_validity(self, known->emitted_at);
        if (lay.at != NULL && self->verdicts != VERDICTS_NONE && until < self->time)
            until = self->time; /* until what became of it has been told */
        if (until < self->time) {
            if (!known->waiting)
                return folder_forget(self, place);
            put(out, NO_ATTEMPT, sizeof NO_ATTEMPT);
            put_view(out, waiting);
            return folder_keep(self, place);
        }
        int filed = known->clock == ON_TIME && known->has_due && known->due <= until;
        known->clock = ON_TIME;
        known->has_due = 1;
        known->due = until;
        if (!filed && queue_push(self->expiring, until, known->order, place->id) < 0)
            return FAILED;
    }
    put(out, ONE_ATTEMPT, sizeof ONE_ATTEMPT);
    pack_int(out, known->number);
    pack_int(out, known->emitted_at);
    pack_bytes(out, known->digest);
    pack_int(out, known->order);
    pack_array(out, assertions);
    if (lay.at != NULL) {
        put(out, known->assertions_start, (size_t)(lay.at - known->assertions_start));
        put(out, lay.at + lay.length, (size_t)(known->assertions_end - lay.at) - lay.length);
    } else {
        put(out, known->assertions_start, (size_t)(known->assertions_end - known->assertions_start));
    }
    pack_array(out, closed);
    put(out, known->closed_start, (size_t)(known->closed_end - known->closed_start));
    if (lay.at != NULL)
        one->status < 0 ? pack_text(out, one->span_key) : closed_pack(out, one);
    pack_int(out, known->clock);
    known->has_due ? pack_int(out, known->due) : pack_nil(out);
    put_view(out, waiting);
    return folder_keep(self, place);
}

/* `status` -1: nobody knows it. */
static int close_assertion(Folder *self, Due *due, int64_t status, int64_t reason, int64_t disposition)
{
    Closed one = {.span_key = due->assertion.span_key, .status = -1};
    self->live--;
    if (self->verdicts != VERDICTS_NONE && status >= 0 &&
        folder_closed(self, &due->assertion, status, reason, disposition, &one) != DONE)
        return FAILED;
    int done = keep_attempt(self, &due->place, &due->known, due->lay, &one);
    return done == DONE && one.status >= 0 && due->known.attempts == 1 && due->known.assertions == 1 && !due->known.closed
               ? folder_tell(self, &due->place, due->known.number, &one)
               : done;
}

static int drop_waiting(Folder *self, Due *due)
{
    EmissionState *known = &due->known;
    Buffer *out = &self->packing;
    if (queue_pop(self->pending) < 0)
        return FAILED;
    if (!folder_hold(self, due->waiting.slot, -waiting_cost(&due->waiting)))
        return FAILED;
    self->asides--;
    folder_count(self, UNMATCHED, 1);
    if (known->waiting == 1 && !known->attempts)
        return folder_forget(self, &due->place);
    const uint8_t *end = known->whole.at + known->whole.length, *behind = due->lay.at + due->lay.length;
    out->length = 0;
    put(out, known->whole.at, (size_t)(known->waiting_header - known->whole.at));
    pack_array(out, known->waiting - 1);
    put(out, known->waiting_start, (size_t)(due->lay.at - known->waiting_start));
    put(out, behind, (size_t)(end - behind));
    return folder_keep(self, &due->place);
}

static int keep_assertion(Folder *self, Due *due)
{
    Buffer *out = &self->packing;
    const EmissionState *known = &due->known;
    const uint8_t *behind = due->lay.at + due->lay.length;
    out->length = 0;
    put(out, known->whole.at, (size_t)(due->lay.at - known->whole.at));
    assertion_state_pack(out, &due->assertion);
    put(out, behind, (size_t)(known->whole.at + known->whole.length - behind));
    return folder_keep(self, &due->place);
}

/* `stands`: whether enough classes verified every check, and every check is one that this version knows: 1, 0, or -1
 * with an exception. */
static int stands(Folder *self, const AssertionState *assertion)
{
    if (assertion->checks == NULL)
        return assertion->fresh >= assertion->k;
    int unknown = validity(assertion, &self->terms[assertion->terms_number]) >= 0 ? folder_has_unknown(self, assertion) : 1;
    return unknown < 0 ? -1 : !unknown;
}

/* No more evidence will come: the last rows of the decision table, and where the policy sends what is not admitted. */
static int end_assertion(Folder *self, Due *due)
{
    static const char *const statuses[ENDS] = {"below-floor", "decayed-to-uncertainty", "unverified-inference",
                                               "unannotated"};
    static const char *const reasons[ENDS] = {"below-floor", "aged-out", "no-corroboration", "no-corroboration"};
    static const int64_t TOLD[ENDS] = {STATUS_BELOW_FLOOR, STATUS_DECAYED_TO_UNCERTAINTY, STATUS_UNVERIFIED_INFERENCE,
                                       STATUS_UNANNOTATED};
    static const int64_t BECAUSE[ENDS] = {REASON_BELOW_FLOOR, REASON_AGED_OUT, REASON_NO_CORROBORATION,
                                          REASON_NO_CORROBORATION};
    AssertionState *assertion = &due->assertion;
    if (assertion->phase != PENDING || folder_is_pythons(self, assertion) || (assertion->annotated && assertion->look != A_LOOK))
        return PYTHON; /* it may wait for a first look (verdicts.py, `wait_on`) */
    int enough = stands(self, assertion), covers = enough > 0 ? folder_covers_enough(self, assertion) : 1;
    if (enough < 0 || covers < 0)
        return FAILED;
    int words = assertion->checks != NULL && assertion->checks->words;
    int how = !covers || (assertion->fresh > 0 && !enough) ? BELOW_FLOOR
              : enough || assertion->aged                  ? DECAYED
              : words || assertion->annotated              ? UNVERIFIED
                                                      : UNANNOTATED;
    const char *reason = !covers ? "partly-checked" : how == UNVERIFIED && words ? "not-checked" : reasons[how];
    int64_t status = TOLD[how], why = !covers                        ? REASON_PARTLY_CHECKED
                                        : how == UNVERIFIED && words ? REASON_NOT_CHECKED
                                                                     : BECAUSE[how];
    int disposition = self->disposition[how][assertion->external ? 1 : 0];
    if (disposition == RE_EMIT && assertion->attempt + 1 >= self->max_attempts)
        disposition = TO_REVIEW;
    if (disposition == TO_REVIEW && !self->lone_reviewer)
        return PYTHON; /* the request may have to be written again */
    if (disposition == RE_EMIT || disposition == REFUSE || (disposition != DISCARD && !can_speak(self, assertion)))
        return PYTHON;
    if (queue_pop(self->pending) < 0 || folder_mark(self, due->place.name, assertion->has_emitter, assertion->emitter) == FAILED)
        return FAILED;
    if (assertion->arrival + self->terms[assertion->terms_number].horizon >= self->watermark)
        folder_count(self, STALLED, 1);
    assertion->has_due = 0;
    if (disposition == DISCARD) {
        folder_count(self, DISCARDED, 1);
        return close_assertion(self, due, status, why, disposition);
    }
    assertion->revision++;
    if (say_inadmissible(self, assertion, statuses[how], reason, disposition) == FAILED)
        return FAILED;
    if (disposition != TO_REVIEW)
        return close_assertion(self, due, status, why, disposition);
    if (!drop_looks(assertion, &self->arena)) {
        PyErr_NoMemory();
        return FAILED;
    }
    drop_material(assertion);
    assertion->phase = REVIEW;
    assertion->admitted_at = self->time;
    assertion->has_asked = 1;
    assertion->asked_status = status;
    assertion->asked_reason = why;
    assertion->clock = ON_TIME;
    assertion->has_due = 1;
    assertion->due = self->time + self->review_window;
    if (queue_push(self->expiring, assertion->due, assertion->order, assertion->emission_id) < 0)
        return FAILED;
    return keep_assertion(self, due);
}

/* A validity, a review window or a memory is over. */
static int expire(Folder *self, Due *due)
{
    AssertionState *assertion = &due->assertion;
    if (due->kind == A_WAITING || (due->kind == AN_ATTEMPT && due->known.assertions) ||
        (due->kind == A_LIFE && assertion->phase != ADMITTED && assertion->phase != REVIEW) ||
        (due->kind == A_LIFE && !can_speak(self, assertion)))
        return PYTHON;
    if (queue_pop(self->expiring) < 0)
        return FAILED;
    if (due->kind == AN_ATTEMPT) {
        due->known.has_due = 0;
        return keep_attempt(self, &due->place, &due->known, (View){NULL, 0}, NULL);
    }
    if (assertion->phase == ADMITTED) {
        assertion->revision++;
        if (say_admitted(self, assertion, "decayed-to-uncertainty", "validity-ended", 0) == FAILED ||
            folder_mark(self, due->place.name, assertion->has_emitter, assertion->emitter) == FAILED)
            return FAILED;
        return close_assertion(self, due, STATUS_DECAYED_TO_UNCERTAINTY, REASON_VALIDITY_ENDED, -1);
    }
    folder_count(self, UNREVIEWED, 1);
    if (say_expired(self, assertion) == FAILED)
        return FAILED;
    return close_assertion(self, due, assertion->has_asked ? assertion->asked_status : -1, assertion->asked_reason,
                           DISPOSITION_REVIEW);
}

int64_t folder_fire(Folder *self, int64_t most, int64_t mark)
{
    int64_t fired = 0;
    int done = DONE, is_any = 1;
    while (done == DONE && is_any && fired < most) {
        Due waits = {0}, expires = {0};
        arena_reset(&self->arena);
        int waiting = head(self, self->pending, ON_WATERMARK, mark, &waits);
        int expiring = waiting == 0 || waiting == 1 ? head(self, self->expiring, ON_TIME, self->time, &expires) : 2;
        is_any = waiting || expiring;
        if (waiting < 0 || expiring < 0)
            done = FAILED;
        else if (waiting == 2 || expiring == 2)
            done = PYTHON;
        else if (!is_any)
            done = DONE;
        else if (waiting && (!expiring || waits.due < expires.due ||
                             (waits.due == expires.due && waits.order < expires.order)))
            done = waits.kind == A_WAITING ? drop_waiting(self, &waits)
                   : waits.kind == A_LIFE  ? end_assertion(self, &waits)
                                           : PYTHON;
        else
            done = expire(self, &expires);
        due_leave(&waits);
        due_leave(&expires);
        fired += done == DONE && is_any;
    }
    return done == FAILED || (done == PYTHON && !folder_share(self)) ? -1 : fired;
}

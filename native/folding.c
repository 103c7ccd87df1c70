/* streams/adjudication/fold.py for emissions and observations as they mostly are. */
#include "folder.h"
#include "hashes.h"
#include "hexadecimal.h"
#include "in_place.h"

void folder_count(Folder *self, int counter, int64_t by)
{
    self->count[counter] += by;
    self->counted[counter] = 1;
}

/* An emission that lay packed in more bytes, a hundred assertions or so, stays with Python for the rest of the block once
 * that has taken it apart: it would be packed and unpacked again for each record about it. */
enum { LARGE = 32768 };

int folder_look(Folder *self, View id, Place *place)
{
    *place = (Place){NULL, NULL, id};
    place->name = PyUnicode_DecodeUTF8((const char *)id.at, (Py_ssize_t)id.length, NULL);
    return place->name == NULL ? FAILED : folder_look_at(self, place);
}

int folder_look_at(Folder *self, Place *place)
{
    int crowd = PyDict_GET_SIZE(self->crowds) ? PyDict_Contains(self->crowds, place->name) : 0;
    if (crowd)
        return crowd < 0 ? FAILED : PYTHON; /* waiting.py */
    int open = PyDict_GET_SIZE(self->open) ? PyDict_Contains(self->open, place->name) : 0;
    if (open) { /* Python has taken it apart in this block: 2 us, where taking the record in there costs 8 */
        PyObject *lay = open > 0 ? PyDict_GetItemWithError(self->packed, place->name) : NULL;
        if (lay != NULL && PyBytes_CheckExact(lay) && PyBytes_GET_SIZE(lay) > LARGE)
            return PYTHON;
        PyObject *away = open < 0 ? NULL : PyObject_CallMethod(self->state, "put_away", "O", place->name);
        if (away == NULL)
            return FAILED;
        Py_DECREF(away);
    }
    place->bytes = Py_XNewRef(PyDict_GetItemWithError(self->packed, place->name));
    if (place->bytes == NULL)
        return PyErr_Occurred() ? FAILED : DONE;
    return PyBytes_CheckExact(place->bytes) ? DONE : PYTHON;
}

void place_leave(Place *place)
{
    Py_CLEAR(place->name);
    Py_CLEAR(place->bytes);
}

int folder_keep(Folder *self, const Place *place)
{
    if (self->packing.failed) {
        PyErr_NoMemory();
        return FAILED;
    }
    PyObject *bytes = PyBytes_FromStringAndSize((char *)self->packing.data, (Py_ssize_t)self->packing.length);
    if (bytes == NULL)
        return FAILED;
    Py_XSETREF(self->kept, bytes);
    folder_untell(self, place->name);
    return PyDict_SetItem(self->packed, place->name, bytes) < 0 ? FAILED : DONE;
}

int folder_forget(Folder *self, const Place *place)
{
    folder_untell(self, place->name);
    return PyDict_DelItem(self->packed, place->name) < 0 ? FAILED : DONE;
}

/* Whether a record's key is the emission id; where nothing is known of that, whether it belongs to this lane. */
static int routed(const Folder *self, View id, View key, const Place *place)
{
    if (key.at == NULL || !same_view(key, id))
        return 0;
    if (place->bytes != NULL)
        return 1;
    int64_t hash = self->crc32 ? (int64_t)crc32_of(id.at, id.length) : (int64_t)(murmur2(id.at, id.length) & 0x7fffffff);
    return hash % self->lanes == self->lane;
}

static const Terms *terms_of(const Folder *self, const AssertionState *assertion)
{
    return assertion->terms_number >= 0 && assertion->terms_number < self->terms_count ? &self->terms[assertion->terms_number] : NULL;
}

int folder_is_pythons(const Folder *self, const AssertionState *assertion)
{
    const Terms *terms = terms_of(self, assertion);
    return terms == NULL || assertion->session >= 0 || !terms->counts_once || terms->min_observers[assertion->external ? 1 : 0] > 1;
}

/* The evidence is there: admits an assertion until then. Its place and words; what holds it is the caller's to write. */
int folder_admit(Folder *self, AssertionState *assertion, int64_t until)
{
    int filed = assertion->clock == ON_TIME && assertion->has_due && assertion->due <= until;
    if (!settle(assertion, &self->arena) || !drop_looks(assertion, &self->arena)) {
        PyErr_NoMemory();
        return FAILED;
    }
    drop_material(assertion);
    assertion->basis = (View){(const uint8_t *)"corroboration", 13};
    assertion->phase = ADMITTED;
    assertion->admitted_at = self->time;
    assertion->valid_until = until;
    assertion->clock = ON_TIME;
    assertion->has_due = 1;
    assertion->due = until;
    if (!filed && queue_push(self->expiring, until, assertion->order, assertion->emission_id) < 0)
        return FAILED;
    assertion->revision++;
    return say_admitted(self, assertion, "admitted", NULL, 1);
}

/* Who an observer is to the policy, `(classes, writable_by)`, borrowed; NULL where it has no entry, or on failure. */
static PyObject *entry_of(const Folder *self, View observer)
{
    if (!PyDict_GET_SIZE(self->observers))
        return NULL;
    PyObject *name = PyUnicode_DecodeUTF8((const char *)observer.at, (Py_ssize_t)observer.length, NULL);
    PyObject *entry = name == NULL ? NULL : PyDict_GetItemWithError(self->observers, name);
    Py_XDECREF(name);
    return entry;
}

/* Whether an observer may speak for a class: an entry is a bit for each class, and a tuple of emitters. */
static int may_speak(const Folder *self, const Observation *one)
{
    if (self->only_signed)
        return PYTHON;
    PyObject *entry = entry_of(self, one->observer);
    if (entry == NULL)
        return PyErr_Occurred() ? FAILED : DONE;
    long classes = is_tuple_of(entry, OBSERVER_FIELDS) ? PyLong_AsLong(field_of(entry, OBSERVER_CLASSES)) : 0;
    if (classes == -1 && PyErr_Occurred())
        return FAILED;
    return classes >> one->number & 1 ? DONE : PYTHON;
}

int folder_lists(const Folder *self, View observer)
{
    return entry_of(self, observer) != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* Whether an emitter can write to what an observer looks at: 1, 0, or -1 with an exception. */
static int is_writable(const Folder *self, const AssertionState *assertion, View observer)
{
    PyObject *entry = entry_of(self, observer), *writers;
    if (entry == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (!demand_tuple_of(entry, OBSERVER_FIELDS) || !take_object(entry, OBSERVER_WRITABLE_BY, &PyTuple_Type, &writers))
        return -1;
    for (Py_ssize_t i = 0; assertion->has_emitter && i < PyTuple_GET_SIZE(writers); i++) {
        Py_ssize_t length;
        const char *name = PyUnicode_AsUTF8AndSize(field_of(writers, i), &length);
        if (name == NULL)
            return -1;
        if (view_is(assertion->emitter, name, (size_t)length))
            return 1;
    }
    return 0;
}

enum { COUNTS = -1, RAISED = -2 };

/* `barred`: why nothing that an observation says may count for an assertion; COUNTS where it may, or RAISED. Who owns a
 * service is Python's. */
static int64_t barred(const Folder *self, const AssertionState *assertion, const Observation *one)
{
    int writable = is_writable(self, assertion, one->observer);
    if (writable)
        return writable < 0 ? RAISED : UNCOUNTED_WRITABLE_BY_EMITTER;
    if (!self->accepts_checks && one->has_verified && one->outcome == OUTCOME_CORROBORATES)
        return UNCOUNTED_JUDGE_NOT_ACCEPTED;
    return one->confidence < self->min_confidence ? UNCOUNTED_LOW_CONFIDENCE : COUNTS;
}

/* ---------------------------------------------------------------- checks (streams/adjudication/check_tally.py) */

/* `standing.begin`: where the policy sets a k for single checks, each assertion knows its checks from the start, with the
 * k of each where one of them has its own. */
static int begin_checks(Folder *self, AssertionState *assertion)
{
    int64_t needs[MOST_CHECKS];
    int any = 0;
    if (!self->terms[self->terms_number].has_k_by_check)
        return DONE;
    Checking *checks = checking_of(assertion, &self->arena);
    if (checks == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    for (size_t i = 0; checks->texts != NULL && i < checks->count; i++) {
        PyObject *text = PyUnicode_DecodeUTF8((const char *)checks->texts[i].at, (Py_ssize_t)checks->texts[i].length, NULL);
        PyObject *k = text == NULL ? NULL
                                   : PyObject_CallFunctionObjArgs(self->functions[FUNCTION_K_OF], text,
                                                                  assertion->external ? Py_True : Py_False, NULL);
        needs[i] = k == NULL ? 0 : PyLong_AsLongLong(k);
        Py_XDECREF(text);
        Py_XDECREF(k);
        if (k == NULL || PyErr_Occurred())
            return FAILED;
        any |= needs[i] != 0;
    }
    if (!any)
        return DONE;
    checks->needs = arena_take(&self->arena, checks->count * sizeof *needs);
    if (checks->needs == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    int64_t own = assertion->k;
    assertion->k = 0;
    for (size_t i = 0; i < checks->count; i++) {
        checks->needs[i] = needs[i] ? needs[i] : own;
        assertion->k = checks->needs[i] > assertion->k ? checks->needs[i] : assertion->k;
    }
    return DONE;
}

/* Whether an observation tells a check of an assertion that has none of its own: Python counts those. */
static int tells_check(const AssertionState *assertion, const Observation *one)
{
    int tells = one->has_verified || one->refuted;
    if (assertion->checks != NULL && assertion->checks->texts != NULL)
        return 0;
    for (size_t i = 0; i < one->where_count; i++)
        tells |= one->wheres[i].check.length != 0;
    return tells;
}

/* `verified`: the checks of an assertion that a corroboration verifies, a bit for each; AS_A_WHOLE, or NO_CHECK with the
 * reason in the assertion. */
static int64_t verified(AssertionState *assertion, const Observation *one)
{
    if (!one->has_verified)
        return AS_A_WHOLE;
    int64_t places = one->verified & ((INT64_C(1) << assertion->checks->count) - 1);
    assertion->uncounted = !places                          ? UNCOUNTED_VERIFIES_NOTHING
                           : one->coverage == NO_COVERAGE ? UNCOUNTED_CHECK_NOT_BOUND
                           : one->refuted                 ? UNCOUNTED_CONTRADICTS_ITSELF
                                                          : COUNTS;
    return assertion->uncounted == COUNTS ? places : NO_CHECK;
}

/* `subjects.of_own_checks`, of those that are decided, and where it is kept what was not seen to hold of all: whether an
 * observation names another check than the assertion's, by its text; then Python reads both. */
static int names_others(const Folder *self, const AssertionState *assertion, const Observation *one)
{
    const Checking *checks = assertion->checks;
    const int64_t said = one->verified | one->refuted;
    const int64_t decided = said && self->looks_kept && assertion->phase == PENDING ? AS_A_WHOLE : said;
    for (size_t i = 0; checks != NULL && checks->texts != NULL && i < one->where_count && i < checks->count; i++) {
        const View named = one->wheres[i].check;
        if (named.length && decided >> i & 1 && !same_view(named, checks->texts[i]))
            return 1;
    }
    return 0;
}

/* `note_look`: 1; 0 where it was waited for, which is Python's to end. */
static int note_seen(AssertionState *assertion, const Observation *one)
{
    if (assertion->phase != PENDING || one->outcome == OUTCOME_UNAVAILABLE)
        return 1;
    if (assertion->look == UNSEEN)
        return 0;
    assertion->look = A_LOOK;
    return 1;
}

/* `weigh`, of what corroborates or found the words: 1 it counts and is news; 0 it does not, and the assertion has the
 * reason; PYTHON's is -1; RAISED. */
static int weigh(Folder *self, AssertionState *assertion, const Observation *one)
{
    if (self->names_vendors && one->number == MCP_BRIEF)
        return -1; /* whose state it is, and whether that is the emitter's vendor's */
    if (tells_check(assertion, one))
        return -1;
    const int64_t why = assertion->uncounted = barred(self, assertion, one);
    if (why == RAISED)
        return RAISED;
    if (why == COUNTS) {
        if (names_others(self, assertion, one) || !note_seen(assertion, one))
            return -1;
        int noted = folder_note_look(self, assertion, one);
        if (noted != DONE)
            return noted == FAILED ? RAISED : -1;
    }
    if (one->outcome == OUTCOME_TERMS_PRESENT) {
        Checking *checks = why == COUNTS ? checking_of(assertion, &self->arena) : NULL;
        if (why == COUNTS && checks == NULL)
            return -1;
        if (checks != NULL)
            checks->words = 1;
        assertion->uncounted = UNCOUNTED_TERMS_PRESENT;
        return 0;
    }
    if (one->outcome == OUTCOME_ABSENT) { /* it waited for its assertion, as a look */
        assertion->uncounted = UNCOUNTED_ABSENT;
        return 0;
    }
    if (why != COUNTS)
        return 0;
    int64_t places = verified(assertion, one);
    if (places != AS_A_WHOLE && is_elsewhere(assertion, one, places))
        return -1; /* two files bear no check out together (check_places.py) */
    return corroborate(assertion, terms_of(self, assertion), one, places, &self->arena);
}

/* `has_unknown`: 1 where one of the declared checks is malformed or not known, 0, or -1 with an exception. */
int folder_has_unknown(Folder *self, const AssertionState *assertion)
{
    if (assertion->checks == NULL || assertion->checks->texts == NULL)
        return 0;
    for (size_t i = 0; i < assertion->checks->count; i++) {
        PyObject *about = folder_about(self, assertion->checks->texts[i], where_of(assertion->checks, i).path);
        int known = about == NULL ? -1 : about != Py_None;
        Py_XDECREF(about);
        if (known <= 0)
            return known < 0 ? -1 : 1;
    }
    return 0;
}

/* `covers_enough`: 1, 0, or -1 with an exception. */
int folder_covers_enough(Folder *self, const AssertionState *assertion)
{
    Ranges unchecked;
    int64_t level = coverage_of(assertion, &self->arena, &unchecked);
    if (level < 0)
        PyErr_NoMemory();
    return level < 0 ? -1 : level >= terms_of(self, assertion)->min_coverage[assertion->external ? 1 : 0];
}

/* Whether evidence that carries an assertion until then admits it: 1, 0, or -1 with an exception. */
static int admits(Folder *self, const AssertionState *assertion, int64_t until)
{
    if (until < 0 || until < self->time)
        return 0;
    int covers = folder_covers_enough(self, assertion), unknown = covers > 0 ? folder_has_unknown(self, assertion) : 0;
    return covers < 0 || unknown < 0 ? -1 : covers && !unknown;
}

/* ---------------------------------------------------------------- what Python reads of a record */

static PyObject *asked(const Folder *self, int function, View raw)
{
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)raw.at, (Py_ssize_t)raw.length);
    PyObject *found = bytes == NULL ? NULL : PyObject_CallOneArg(self->functions[function], bytes);
    Py_XDECREF(bytes);
    return found;
}

/* The bytes of a byte string, in the arena; what it is of is given back. */
static int kept(Folder *self, PyObject *bytes, View *view)
{
    uint8_t *copy = PyBytes_CheckExact(bytes) ? arena_take(&self->arena, (size_t)PyBytes_GET_SIZE(bytes)) : NULL;
    if (copy == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    *view = (View){copy, (size_t)PyBytes_GET_SIZE(bytes)};
    memcpy(copy, PyBytes_AS_STRING(bytes), view->length);
    return DONE;
}

/* An observation with its attestation as it is kept. */
static int observation_kept(Folder *self, Observation *one, View record)
{
    if (!observation_read(one, record, &self->arena))
        return PYTHON;
    if (!one->has_attestation)
        return DONE;
    PyObject *bytes = asked(self, FUNCTION_ATTESTATION_OF, one->attestation);
    if (bytes == NULL)
        return FAILED;
    int done = kept(self, bytes, &one->attestation);
    Py_DECREF(bytes);
    return done;
}

/* A chain as it is kept, and what it says of its assertion [C §3, §7]. */
static int chain_read(Folder *self, Emission *emission, AssertionState *assertion)
{
    PyObject *bytes, *found = asked(self, FUNCTION_CHAIN_OF, assertion->chain);
    int64_t latest;
    int grounds, done = FAILED;
    if (found == Py_None) {
        done = PYTHON;
    } else if (found != NULL && demand_tuple_of(found, KEPT_CHAIN_FIELDS) &&
               take_object(found, KEPT_CHAIN_CHAIN, &PyBytes_Type, &bytes) &&
               take_integer(found, KEPT_CHAIN_LATEST, &latest) && take_flag(found, KEPT_CHAIN_GROUNDS, &grounds)) {
        PyObject *confidence = field_of(found, KEPT_CHAIN_CONFIDENCE);
        done = kept(self, bytes, &assertion->chain);
        if (latest > emission->latest)
            emission->latest = latest;
        if (PyFloat_Check(confidence)) {
            double least = PyFloat_AS_DOUBLE(confidence);
            assertion->confidence = assertion->has_confidence && assertion->confidence < least ? assertion->confidence : least;
            assertion->has_confidence = 1;
        }
        if (assertion->grounded && !grounds)
            done = PYTHON;
    }
    Py_XDECREF(found);
    return done;
}

/* Whether a name of the emitter may look like a person's, as the policy refuses it: 1, 0, or -1 with an exception. */
static int refused(const Folder *self, View name)
{
    int maybe = 0;
    for (size_t i = 0; i < name.length; i++)
        maybe |= name.at[i] == '@' || name.at[i] == '%';
    if (self->refused_emitters == REFUSED_EMITTERS_NONE || !name.length || (self->refused_emitters == REFUSED_EMITTERS_EMAIL && !maybe))
        return 0;
    PyObject *found = asked(self, FUNCTION_REFUSES, name);
    int answer = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return answer;
}

/* An emission with its chains as they are kept; what claims to be grounded and is not has its own verdict. */
static int said(Folder *self, Emission *emission, View record)
{
    const int64_t most = self->max_annotations; /* of either */
    if (self->binds_sightings || !emission_read(emission, record, &self->arena) || (int64_t)emission->count > most ||
        (int64_t)emission->annotations > most)
        return PYTHON;
    const View names[3] = {emission->has_system ? emission->system : (View){NULL, 0}, emission->model, emission->prompt};
    for (int i = 0; i < 3; i++) {
        int answer = refused(self, names[i]);
        if (answer)
            return answer < 0 ? FAILED : PYTHON;
    }
    for (size_t i = 0; i < emission->count; i++) {
        AssertionState *assertion = &emission->assertions[i];
        if (assertion->grounded && !assertion->has_chain)
            return PYTHON;
        int done = assertion->has_chain ? chain_read(self, emission, assertion) : DONE;
        if (done != DONE)
            return done;
    }
    return DONE;
}

/* ---------------------------------------------------------------- observations */

/* Writes the emission with one assertion anew. */
static int keep_assertion(Folder *self, const Place *place, const EmissionState *known, const AssertionState *assertion, View lay)
{
    Buffer *out = &self->packing;
    const uint8_t *end = known->whole.at + known->whole.length, *behind = lay.at + lay.length;
    out->length = 0;
    put(out, known->whole.at, (size_t)(lay.at - known->whole.at));
    assertion_state_pack(out, assertion);
    put(out, behind, (size_t)(end - behind));
    return folder_keep(self, place);
}

/* Moves an admitted assertion's validity on; that is told at the end of the block, once (verdicts.py, `renew`). */
static int extend(Folder *self, AssertionState *assertion, int64_t until, const Place *place)
{
    int filed = assertion->clock == ON_TIME && assertion->has_due && assertion->due <= until;
    assertion->valid_until = until;
    assertion->clock = ON_TIME;
    assertion->has_due = 1;
    assertion->due = until;
    if (!filed && queue_push(self->expiring, until, assertion->order, assertion->emission_id) < 0)
        return FAILED;
    if (assertion->touched)
        return DONE;
    assertion->touched = 1;
    PyObject *fields[RENEWED_FIELDS] = {
        [RENEWED_EMISSION_ID] = Py_NewRef(place->name),
        [RENEWED_ATTEMPT] = PyLong_FromLongLong(assertion->attempt),
        [RENEWED_SPAN_KEY] = PyUnicode_DecodeUTF8((const char *)assertion->span_key.at,
                                                  (Py_ssize_t)assertion->span_key.length, NULL),
    };
    PyObject *renewed = tuple_of(fields, RENEWED_FIELDS);
    int failed = renewed == NULL || PyList_Append(self->renewed, renewed) < 0;
    Py_XDECREF(renewed);
    return failed ? FAILED : DONE;
}

/* The record on `verdicts` of an emission with one assertion that was just admitted, as far as it can be made now. */
static int tell_admitted(Folder *self, const Place *place, const AssertionState *assertion)
{
    Closed told;
    if (self->verdicts == VERDICTS_NONE)
        return DONE;
    int done = folder_closed(self, assertion, STATUS_ADMITTED, -1, -1, &told);
    return done == DONE ? folder_tell(self, place, assertion->attempt, &told) : done == PYTHON ? DONE : FAILED;
}

static int apply_observation(Folder *self, const Place *place, const EmissionState *known, AssertionState *assertion, View lay, const Observation *one)
{
    if (assertion->phase == REVIEW) {
        folder_count(self, LATE, 1);
        return DONE;
    }
    if (folder_is_pythons(self, assertion) || (assertion->phase != PENDING && assertion->phase != ADMITTED))
        return PYTHON;
    size_t classes = assertion->seen_count;
    int counts = weigh(self, assertion, one);
    if (counts < 0)
        return counts == RAISED ? FAILED : PYTHON;
    int noted = counts ? DONE : folder_note_uncounted(self, assertion, one, assertion->uncounted);
    if (noted != DONE)
        return noted;
    int64_t until = counts ? validity(assertion, terms_of(self, assertion)) : -1;
    if (counts && assertion->phase == ADMITTED && until > assertion->valid_until && extend(self, assertion, until, place) == FAILED)
        return FAILED;
    int admitted = assertion->phase == PENDING ? admits(self, assertion, until) : 0;
    if (admitted < 0)
        return FAILED;
    if (admitted && known->attempts > 1)
        return PYTHON; /* the assertions of earlier attempts may end */
    if (admitted) {
        int64_t before = assertion->valid_until;
        assertion->valid_until = until;
        int speaks = can_speak(self, assertion);
        assertion->valid_until = before;
        if (!speaks)
            return PYTHON;
        if (folder_admit(self, assertion, until) == FAILED)
            return FAILED;
    }
    if (!counts)
        folder_count(self, NOT_COUNTED, 1);
    int tells = admitted || (self->verdicts == VERDICTS_ALL && (counts || assertion->seen_count != classes));
    if (tells && folder_mark(self, place->name, assertion->has_emitter, assertion->emitter) == FAILED)
        return FAILED;
    int done = keep_assertion(self, place, known, assertion, lay);
    return done == DONE && admitted && known->assertions == 1 && !known->closed ? tell_admitted(self, place, assertion) : done;
}

/* Says that an assertion was renewed, where it is still admitted. */
int folder_renew(Folder *self, PyObject *renewed)
{
    Place place;
    EmissionState known;
    AssertionState assertion;
    int64_t attempt;
    Py_ssize_t id_length, key_length;
    const char *id, *key;
    if (!demand_tuple_of(renewed, RENEWED_FIELDS) || !take_utf8(renewed, RENEWED_EMISSION_ID, &id, &id_length) ||
        !take_integer(renewed, RENEWED_ATTEMPT, &attempt) || !take_utf8(renewed, RENEWED_SPAN_KEY, &key, &key_length))
        return FAILED;
    View span_key = {(const uint8_t *)key, (size_t)key_length};
    int done = folder_look(self, (View){(const uint8_t *)id, (size_t)id_length}, &place);
    if (done == DONE && place.bytes != NULL) {
        Sought sought = {.span_key = span_key, .emission_id = place.id, .assertion = &assertion, .arena = &self->arena};
        if (!known_read(&known, view_of_bytes(place.bytes), attempt, &sought) ||
            (sought.found && assertion.phase == ADMITTED && (known.attempts > 1 || !can_speak(self, &assertion)))) {
            done = PYTHON;
        } else if (sought.found) {
            assertion.touched = 0;
            if (assertion.phase == ADMITTED) {
                assertion.revision++;
                done = say_admitted(self, &assertion, "renewed", NULL, 1);
                if (done == DONE)
                    done = folder_mark(self, place.name, assertion.has_emitter, assertion.emitter);
            }
            if (done == DONE)
                done = keep_assertion(self, &place, &known, &assertion, sought.place);
        }
    }
    place_leave(&place);
    return done;
}

enum { FEW = 16, SMALL = 32768, BESIDE = 256 }; /* as in waiting.py */

int64_t waiting_cost(const PendingEvidence *one) { return (int64_t)one->record.length + BESIDE; }

/* As `Table.hold`: a slot of which nothing waits any more has no entry. */
int folder_hold(Folder *self, View slot, int64_t more)
{
    PyObject *name = PyUnicode_DecodeUTF8((const char *)slot.at, (Py_ssize_t)slot.length, NULL);
    PyObject *before = name == NULL ? NULL : PyDict_GetItemWithError(self->held, name), *now = NULL;
    long long held = more + (before == NULL ? 0 : PyLong_AsLongLong(before));
    int done = !PyErr_Occurred();
    if (done && held)
        done = (now = PyLong_FromLongLong(held)) != NULL && PyDict_SetItem(self->held, name, now) == 0;
    else if (done && before != NULL)
        done = PyDict_DelItem(self->held, name) == 0;
    Py_XDECREF(now);
    Py_XDECREF(name);
    return done;
}

/* Whether one more record may wait, as waiting.py has it: DONE with its slot, PYTHON where that has to look or makes a
 * crowd. `repeated`: it waits already. */
static int may_wait(Folder *self, const EmissionState *known, const Observation *one, PendingEvidence *waiting, int *repeated)
{
    uint64_t count = known == NULL ? 0 : known->waiting;
    size_t bytes = waiting->record.length;
    waiting->slot = (View){(const uint8_t *)"", 0};
    if (count >= FEW || bytes > SMALL || (int64_t)count >= self->max_waiting)
        return PYTHON;
    Reader reader = {NULL, NULL};
    if (known != NULL)
        reader = (Reader){known->waiting_start, known->whole.at + known->whole.length};
    for (uint64_t i = 0; i < count; i++) {
        PendingEvidence other;
        if (!waiting_read(&other, &reader) || (bytes += other.record.length) > SMALL)
            return PYTHON;
        *repeated |= same_view(other.record, waiting->record);
    }
    if (*repeated)
        return DONE;
    if (entry_of(self, one->observer) != NULL)
        waiting->slot = one->observer;
    else if (PyErr_Occurred())
        return FAILED;
    PyObject *name = PyUnicode_DecodeUTF8((const char *)waiting->slot.at, (Py_ssize_t)waiting->slot.length, NULL);
    PyObject *held = name == NULL ? NULL : PyDict_GetItemWithError(self->held, name);
    long long bytes_held = held == NULL ? 0 : PyLong_AsLongLong(held);
    Py_XDECREF(name);
    if (PyErr_Occurred())
        return FAILED;
    return bytes_held + waiting_cost(waiting) > self->waiting_share ? PYTHON : DONE;
}

/* Evidence whose assertion is not known, kept for the horizon. `known` NULL: nothing of its emission is. */
static int put_aside(Folder *self, const Place *place, const EmissionState *known, const Observation *one, View record)
{
    Buffer *out = &self->packing;
    int64_t due = self->time + self->horizon, order = self->order + 1;
    PendingEvidence waiting = {.record = record, .attempt = one->attempt, .span_key = one->span_key, .order = order,
                               .due = due, .negative = one->outcome != OUTCOME_CORROBORATES};
    int repeated = 0, may = may_wait(self, known, one, &waiting, &repeated);
    if (may != DONE)
        return may;
    if (repeated) {
        folder_count(self, DUPLICATE, 1);
        return DONE;
    }
    out->length = 0;
    if (known == NULL) {
        put(out, NO_ATTEMPT, sizeof NO_ATTEMPT);
        pack_array(out, 1);
    } else {
        put(out, known->whole.at, (size_t)(known->waiting_header - known->whole.at));
        pack_array(out, known->waiting + 1);
        put(out, known->waiting_start, (size_t)(known->whole.at + known->whole.length - known->waiting_start));
    }
    waiting_pack(out, &waiting);
    if (!folder_hold(self, waiting.slot, waiting_cost(&waiting)) || folder_keep(self, place) == FAILED ||
        queue_push(self->pending, due, order, one->emission_id) < 0)
        return FAILED;
    self->order = order;
    self->asides++;
    return DONE;
}

enum { DIGEST_BYTES = 16 }; /* of what says whether an emission is the one that is known already */

/* `subjects.is_of_another`: whether an observer looked at another record than the one with this digest. */
static int is_of_another(const Observation *one, const uint8_t digest[DIGEST_BYTES])
{
    uint8_t named[DIGEST_BYTES];
    if (!one->digest.length)
        return 0;
    return !bytes_of_hex(one->digest.at, DIGEST_BYTES, named) || memcmp(named, digest, DIGEST_BYTES) != 0;
}

/* An observation that counts for nothing, whatever it is about: `absent` and `unavailable` (`note_alone`), or of another
 * record. What is kept of it while its assertion is pending. */
static int note_alone(Folder *self, const Place *place, const EmissionState *known, const Sought *sought, const Observation *one, int of_another)
{
    AssertionState *assertion = sought->assertion;
    const int64_t why = of_another                            ? UNCOUNTED_OTHER_RECORD
                        : one->outcome == OUTCOME_ABSENT ? UNCOUNTED_ABSENT
                                                         : UNCOUNTED_UNAVAILABLE;
    if (sought->found && assertion->phase == PENDING) {
        if ((self->names_vendors && one->number == MCP_BRIEF) || (!of_another && tells_check(assertion, one)))
            return PYTHON;
        int64_t bar = barred(self, assertion, one);
        if (bar == COUNTS && !of_another && (names_others(self, assertion, one) || !note_seen(assertion, one)))
            return PYTHON;
        int done = bar == RAISED ? FAILED : bar == COUNTS && !of_another ? folder_note_look(self, assertion, one) : DONE;
        if (done == DONE)
            done = folder_note_uncounted(self, assertion, one, why);
        if (done == DONE)
            done = keep_assertion(self, place, known, assertion, sought->place);
        if (done != DONE)
            return done;
    }
    folder_count(self, NOT_COUNTED, 1);
    return DONE;
}

static int observed(Folder *self, const Place *place, const Observation *one, View record)
{
    EmissionState known;
    AssertionState assertion;
    Sought sought = {.span_key = one->span_key, .emission_id = one->emission_id, .assertion = &assertion, .arena = &self->arena};
    const int is_alone = one->outcome == OUTCOME_ABSENT || one->outcome == OUTCOME_UNAVAILABLE;
    if (one->outcome == OUTCOME_UNAVAILABLE && place->bytes == NULL) {
        folder_count(self, NOT_COUNTED, 1);
        return DONE;
    }
    if (place->bytes == NULL)
        return put_aside(self, place, NULL, one, record);
    if (!known_read(&known, view_of_bytes(place->bytes), one->attempt, &sought) ||
        (known.found && known.digest.length < DIGEST_BYTES))
        return PYTHON;
    const int of_another = known.found && is_of_another(one, known.digest.at);
    if (of_another || (is_alone && (sought.found || one->outcome == OUTCOME_UNAVAILABLE)))
        return note_alone(self, place, &known, &sought, one, of_another);
    if (sought.found)
        return apply_observation(self, place, &known, &assertion, sought.place, one);
    if (known.found) {
        int closed = known_closed(&known, one->span_key);
        if (closed < 0)
            return PYTHON;
        if (closed) {
            folder_count(self, is_alone ? NOT_COUNTED : LATE, 1);
            return DONE;
        }
    }
    return put_aside(self, place, &known, one, record);
}

int folder_observation(Folder *self, View record, View key)
{
    Observation one;
    Place place;
    int done = observation_kept(self, &one, record);
    if (done != DONE || one.ts > self->latest)
        return done == FAILED ? FAILED : PYTHON;
    done = may_speak(self, &one);
    if (done != DONE)
        return done;
    done = folder_look(self, one.emission_id, &place);
    if (done == DONE)
        done = routed(self, one.emission_id, key, &place) ? observed(self, &place, &one, record) : PYTHON;
    place_leave(&place);
    return done;
}

/* ---------------------------------------------------------------- emissions */

/* `traceparent_of`: 1 with the value or without one, 0 where Python has to look. */
static int traceparent_of(PyObject *headers, View *value)
{
    *value = (View){NULL, 0};
    if (headers == NULL)
        return 1;
    if (!PyList_CheckExact(headers))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++) {
        PyObject *pair = PyList_GET_ITEM(headers, i);
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != HEADER_FIELDS ||
            !PyUnicode_Check(field_of(pair, HEADER_NAME)) || !PyBytes_CheckExact(field_of(pair, HEADER_VALUE)))
            return 0;
        if (PyUnicode_CompareWithASCIIString(field_of(pair, HEADER_NAME), "traceparent") != 0)
            continue;
        View found = view_of_bytes(field_of(pair, HEADER_VALUE));
        int fine = found.length >= 1 && found.length <= 256;
        for (size_t at = 0; fine && at < found.length; at++) {
            uint8_t c = found.at[at];
            fine = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-';
        }
        if (fine)
            *value = found;
        return 1;
    }
    return 1;
}

/* What waited, and what becomes of it: `assertions[i]` is the assertion that it speaks of, or -1. */
typedef struct {
    PendingEvidence *waiting;
    Observation *said;
    int *assertions;
    uint64_t count, matched;
    int is_hashed;
    uint8_t digest[SHA256_BYTES]; /* of the record, where it was asked for */
} Before;

static const uint8_t *digest_of(Before *self, View record)
{
    if (!self->is_hashed)
        sha256_of(record.at, record.length, self->digest);
    self->is_hashed = 1;
    return self->digest;
}

static int before_read(Folder *self, Before *before, const EmissionState *known, const Emission *emission, View record)
{
    Arena *arena = &self->arena;
    Reader reader = {known->waiting_start, known->whole.at + known->whole.length};
    *before = (Before){.count = known->waiting};
    before->waiting = arena_take(arena, known->waiting * sizeof *before->waiting);
    before->said = arena_take(arena, known->waiting * sizeof *before->said);
    before->assertions = arena_take(arena, known->waiting * sizeof *before->assertions);
    if (before->waiting == NULL || before->said == NULL || before->assertions == NULL)
        return PYTHON;
    for (uint64_t i = 0; i < before->count; i++) {
        PendingEvidence *one = &before->waiting[i];
        if (!waiting_read(one, &reader))
            return PYTHON;
        before->assertions[i] = -1;
        for (size_t assertion = 0; one->attempt == emission->attempt && assertion < emission->count; assertion++)
            if (same_view(one->span_key, emission->assertions[assertion].span_key))
                before->assertions[i] = (int)assertion;
        if (before->assertions[i] < 0)
            continue;
        before->matched++;
        int done = observation_kept(self, &before->said[i], one->record);
        if (done != DONE ||
            one->negative != (before->said[i].outcome != OUTCOME_CORROBORATES))
            return done == FAILED ? FAILED : PYTHON;
        if (before->said[i].digest.length && is_of_another(&before->said[i], digest_of(before, record)))
            return PYTHON;
    }
    return DONE;
}

/* Weighs what came before an assertion, its `place`: corroborations first, as Python does. `counted`: what does not. */
static int begin_weighed(Folder *self, AssertionState *assertion, const Before *before, int place, int64_t *counted)
{
    for (int negative = 0; negative < 2; negative++)
        for (uint64_t at = 0; at < before->count; at++) {
            if (before->assertions[at] != place || before->waiting[at].negative != negative)
                continue;
            int counts = weigh(self, assertion, &before->said[at]);
            if (counts < 0)
                return counts == RAISED ? FAILED : PYTHON;
            int noted = counts ? DONE : folder_note_uncounted(self, assertion, &before->said[at], assertion->uncounted);
            if (noted != DONE)
                return noted;
            *counted += !counts;
        }
    return DONE;
}

/* The bounds of the policy in force, and what came before: everything but what is written. */
static int assertions_fill(Folder *self, const Emission *emission, const Before *before, View traceparent, int64_t *counted)
{
    int external = self->external_default;
    if (emission->has_system) {
        PyObject *name = PyUnicode_DecodeUTF8((const char *)emission->system.at, (Py_ssize_t)emission->system.length, NULL);
        PyObject *effect = name == NULL ? NULL : PyDict_GetItemWithError(self->effects, name);
        Py_XDECREF(name);
        if (effect != NULL)
            external = effect == Py_True;
        else if (PyErr_Occurred())
            return FAILED;
    }
    external |= emission->external;
    for (size_t i = 0; i < emission->count; i++) {
        AssertionState *assertion = &emission->assertions[i];
        assertion->external = external | (assertion->external == 1);
        assertion->k = assertion->external ? self->k_external : self->k_internal;
        assertion->has_traceparent = traceparent.at != NULL;
        assertion->traceparent = traceparent;
        assertion->terms_number = self->terms_number;
        assertion->has_material = (int)(self->reviewed >> assertion->external & 1);
        assertion->arrival = self->time;
        assertion->order = self->order + 2 + (int64_t)i; /* behind the attempt's */
        if (folder_is_pythons(self, assertion) || (assertion->has_confidence && assertion->confidence < self->min_confidence) ||
            (!assertion->ascii && (assertion->external ? self->reject_external : self->reject_internal)))
            return PYTHON;
        int done = begin_checks(self, assertion);
        if (done != DONE)
            return done;
        done = begin_weighed(self, assertion, before, (int)i, counted);
        if (done != DONE)
            return done;
        int64_t until = validity(assertion, &self->terms[self->terms_number]);
        int admitted = admits(self, assertion, until);
        if (admitted < 0)
            return FAILED;
        assertion->valid_until = admitted ? until : -1;
        if (admitted && !can_speak(self, assertion))
            return PYTHON;
    }
    return DONE;
}

/* The first verdict on each assertion: its words, or its place among what waits. */
static int assertions_begin(Folder *self, const Emission *emission)
{
    for (size_t i = 0; i < emission->count; i++) {
        AssertionState *assertion = &emission->assertions[i];
        int64_t until = assertion->valid_until;
        if (until >= 0) {
            if (folder_admit(self, assertion, until) == FAILED)
                return FAILED;
            continue;
        }
        assertion->phase = PENDING;
        assertion->clock = ON_WATERMARK;
        assertion->has_due = 1;
        assertion->due = assertion->arrival + self->terms[self->terms_number].horizon;
        if (queue_push(self->pending, assertion->due, assertion->order, assertion->emission_id) < 0)
            return FAILED;
    }
    return DONE;
}

static void emission_pack(Folder *self, const Emission *emission, Before *before, View record)
{
    Buffer *out = &self->packing;
    const uint8_t *digest = digest_of(before, record);
    out->length = 0;
    put(out, ONE_ATTEMPT, sizeof ONE_ATTEMPT);
    pack_int(out, emission->attempt);
    pack_int(out, emission->emitted_at);
    pack_bytes(out, (View){digest, DIGEST_BYTES});
    pack_int(out, self->order + 1);
    pack_array(out, emission->count);
    for (size_t i = 0; i < emission->count; i++)
        assertion_state_pack(out, &emission->assertions[i]);
    pack_array(out, 0);
    pack_int(out, ON_TIME);
    pack_nil(out);
    pack_array(out, before->count - before->matched);
    for (uint64_t i = 0; i < before->count; i++)
        if (before->assertions[i] < 0)
            put_view(out, before->waiting[i].raw);
}

#define MOST_SPANNED 4000000
#define MOST_CHAINED 200000

static int emitted(Folder *self, const Place *place, const Emission *emission, View record, View traceparent)
{
    Before before = {0};
    int64_t uncounted = 0;
    int done;
    if (place->bytes != NULL) {
        EmissionState known;
        if (!known_read(&known, view_of_bytes(place->bytes), emission->attempt, NULL))
            return PYTHON;
        if (known.found) {
            uint8_t digest[SHA256_BYTES];
            sha256_of(record.at, record.length, digest);
            if (!view_is(known.digest, (char *)digest, DIGEST_BYTES))
                return PYTHON;
            folder_count(self, DUPLICATE, 1);
            return DONE;
        }
        done = known.attempts ? PYTHON : before_read(self, &before, &known, emission, record);
        if (done != DONE)
            return done;
    }
    if (emission->attempt > self->max_attempts)
        return PYTHON; /* it may have come out of order */
    uint64_t spanned = 0, chained = 0;
    for (size_t i = 0; i < emission->count; i++) {
        const AssertionState *assertion = &emission->assertions[i];
        spanned += assertion->text.length;
        chained += assertion->has_chain ? assertion->chain.length : 0;
    }
    if (spanned > MOST_SPANNED || chained > MOST_CHAINED)
        return PYTHON; /* validation.py, `too_much_text`; characters are no more than bytes */
    done = assertions_fill(self, emission, &before, traceparent, &uncounted);
    if (done != DONE)
        return done;
    if (assertions_begin(self, emission) == FAILED)
        return FAILED;
    int tells = self->verdicts == VERDICTS_ALL;
    for (size_t i = 0; i < emission->count; i++)
        tells |= emission->assertions[i].phase == ADMITTED;
    if (tells && folder_mark(self, place->name, emission->has_system, emission->system) == FAILED)
        return FAILED;
    emission_pack(self, emission, &before, record);
    folder_count(self, NEWER_VOCABULARY, 0);
    if (uncounted)
        folder_count(self, NOT_COUNTED, uncounted);
    self->order += 1 + (int64_t)emission->count;
    self->live += (int64_t)emission->count;
    self->asides -= (int64_t)before.matched;
    for (uint64_t i = 0; i < before.count; i++)
        if (before.assertions[i] >= 0 && !folder_hold(self, before.waiting[i].slot, -waiting_cost(&before.waiting[i])))
            return FAILED;
    done = folder_keep(self, place);
    return done == DONE && emission->count == 1 && emission->assertions[0].phase == ADMITTED
               ? tell_admitted(self, place, &emission->assertions[0])
               : done;
}

int folder_emission(Folder *self, View record, View key, PyObject *headers)
{
    Emission emission;
    Place place;
    View traceparent;
    int done = said(self, &emission, record);
    if (done != DONE || emission.latest > self->latest || emission.emitted_at < self->oldest ||
        !traceparent_of(headers, &traceparent))
        return done == FAILED ? FAILED : PYTHON;
    done = folder_look(self, emission.emission_id, &place);
    if (done == DONE)
        done = routed(self, emission.emission_id, key, &place)
                   ? emitted(self, &place, &emission, record, traceparent)
                   : PYTHON;
    place_leave(&place);
    return done;
}

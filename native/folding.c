/* streams/fold.py for emissions and observations as they mostly are. */
#include "folder.h"
#include "hashes.h"
#include "in_place.h"

void folder_count(Folder *self, int counter, int64_t by)
{
    self->count[counter] += by;
    self->counted[counter] = 1;
}

int folder_look(Folder *self, View id, Place *place)
{
    *place = (Place){NULL, NULL, id};
    place->name = PyUnicode_DecodeUTF8((const char *)id.at, (Py_ssize_t)id.length, NULL);
    if (place->name == NULL)
        return FAILED;
    int open = PyDict_GET_SIZE(self->open) ? PyDict_Contains(self->open, place->name) : 0;
    if (open) { /* Python has taken it apart in this block: 2 us, where taking the record in there costs 8 */
        PyObject *away = open < 0 ? NULL : PyObject_CallMethod(self->state, "put_away", "O", place->name);
        if (away == NULL)
            return FAILED;
        Py_DECREF(away);
    }
    place->octets = Py_XNewRef(PyDict_GetItemWithError(self->packed, place->name));
    if (place->octets == NULL)
        return PyErr_Occurred() ? FAILED : DONE;
    return PyBytes_CheckExact(place->octets) ? DONE : PYTHON;
}

void place_leave(Place *place)
{
    Py_CLEAR(place->name);
    Py_CLEAR(place->octets);
}

int folder_keep(Folder *self, const Place *place)
{
    if (self->packing.failed) {
        PyErr_NoMemory();
        return FAILED;
    }
    PyObject *octets = PyBytes_FromStringAndSize((char *)self->packing.data, (Py_ssize_t)self->packing.length);
    if (octets == NULL)
        return FAILED;
    int done = PyDict_SetItem(self->packed, place->name, octets) < 0 ? FAILED : DONE;
    Py_DECREF(octets);
    return done;
}

/* Whether a record's key is the emission id; where nothing is known of that, whether it belongs to this lane. */
static int routed(const Folder *self, View id, View key, const Place *place)
{
    if (key.at == NULL || !same_view(key, id))
        return 0;
    if (place->octets != NULL)
        return 1;
    int64_t hash = self->crc32 ? (int64_t)crc32_of(id.at, id.length) : (int64_t)(murmur2(id.at, id.length) & 0x7fffffff);
    return hash % self->lanes == self->lane;
}

static const Terms *terms_of(const Folder *self, const Life *life)
{
    return life->terms_number >= 0 && life->terms_number < self->terms_count ? &self->terms[life->terms_number] : NULL;
}

int folder_is_pythons(const Folder *self, const Life *life)
{
    const Terms *terms = terms_of(self, life);
    return terms == NULL || life->has_checking || terms->min_observers[life->external ? 1 : 0] > 1;
}

/* The evidence is there: admits a life until then. Its place and words; what holds it is the caller's to write. */
int folder_admit(Folder *self, Life *life, int64_t until)
{
    int filed = life->clock == ON_TIME && life->has_due && life->due <= until;
    life->basis = (View){(const uint8_t *)"corroboration", 13};
    life->phase = ADMITTED;
    life->admitted_at = self->time;
    life->valid_until = until;
    life->clock = ON_TIME;
    life->has_due = 1;
    life->due = until;
    if (!filed && queue_push(self->expiring, until, life->order, life->emission_id) < 0)
        return FAILED;
    life->revision++;
    return say_admitted(self, life, "admitted", NULL, 1);
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
    long classes = PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2 ? PyLong_AsLong(PyTuple_GET_ITEM(entry, 0)) : 0;
    if (classes == -1 && PyErr_Occurred())
        return FAILED;
    return classes >> one->number & 1 ? DONE : PYTHON;
}

/* `may_count`: whether what an observation says counts for or against a life. 1, 0, or -1 with an exception. */
static int may_count(const Folder *self, const Life *life, const Observation *one)
{
    if (one->confidence < self->min_confidence)
        return 0;
    PyObject *entry = entry_of(self, one->observer);
    if (entry == NULL)
        return PyErr_Occurred() ? -1 : 1;
    PyObject *writers = PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 2 ? PyTuple_GET_ITEM(entry, 1) : NULL;
    if (writers == NULL || !PyTuple_CheckExact(writers))
        return 0;
    for (Py_ssize_t i = 0; life->has_emitter && i < PyTuple_GET_SIZE(writers); i++) {
        Py_ssize_t length;
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(writers, i), &length);
        if (name == NULL)
            return -1;
        if (view_is(life->emitter, name, (size_t)length))
            return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------- what Python reads of a record */

static PyObject *asked(const Folder *self, int callable, View raw)
{
    PyObject *octets = PyBytes_FromStringAndSize((const char *)raw.at, (Py_ssize_t)raw.length);
    PyObject *found = octets == NULL ? NULL : PyObject_CallOneArg(self->callables[callable], octets);
    Py_XDECREF(octets);
    return found;
}

/* The octets of a byte string, in the arena; what it is of is given back. */
static int kept(Folder *self, PyObject *octets, View *view)
{
    uint8_t *copy = PyBytes_CheckExact(octets) ? arena_take(&self->arena, (size_t)PyBytes_GET_SIZE(octets)) : NULL;
    if (copy == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    *view = (View){copy, (size_t)PyBytes_GET_SIZE(octets)};
    memcpy(copy, PyBytes_AS_STRING(octets), view->length);
    return DONE;
}

/* An observation with its attestation as it is kept. */
static int heard(Folder *self, Observation *one, View record)
{
    if (!observation_read(one, record, &self->arena))
        return PYTHON;
    if (!one->has_attestation)
        return DONE;
    PyObject *octets = asked(self, ATTESTATION_OF, one->attestation);
    if (octets == NULL)
        return FAILED;
    int done = kept(self, octets, &one->attestation);
    Py_DECREF(octets);
    return done;
}

/* A chain as it is kept, and what it says of its assertion [C §3, §7]. */
static int chain_read(Folder *self, Emission *emission, Life *life)
{
    PyObject *octets, *confidence, *found = asked(self, CHAIN_OF, life->chain);
    long long latest;
    int grounds, done = FAILED;
    if (found == Py_None) {
        done = PYTHON;
    } else if (found != NULL && PyArg_ParseTuple(found, "SLOp", &octets, &latest, &confidence, &grounds)) {
        done = kept(self, octets, &life->chain);
        if (latest > emission->latest)
            emission->latest = latest;
        if (PyFloat_Check(confidence)) {
            double least = PyFloat_AS_DOUBLE(confidence);
            life->confidence = life->has_confidence && life->confidence < least ? life->confidence : least;
            life->has_confidence = 1;
        }
        if (life->grounded && !grounds)
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
    if (self->refuses == REFUSES_NONE || !name.length || (self->refuses == REFUSES_EMAIL && !maybe))
        return 0;
    PyObject *found = asked(self, REFUSES, name);
    int answer = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return answer;
}

/* An emission with its chains as they are kept; what claims to be grounded and is not has its own verdict. */
static int said(Folder *self, Emission *emission, View record)
{
    if (self->cites || !emission_read(emission, record, &self->arena))
        return PYTHON;
    const View names[3] = {emission->has_system ? emission->system : (View){NULL, 0}, emission->model, emission->prompt};
    for (int i = 0; i < 3; i++) {
        int answer = refused(self, names[i]);
        if (answer)
            return answer < 0 ? FAILED : PYTHON;
    }
    for (size_t i = 0; i < emission->count; i++) {
        Life *life = &emission->lives[i];
        if (life->grounded && !life->has_chain)
            return PYTHON;
        int done = life->has_chain ? chain_read(self, emission, life) : DONE;
        if (done != DONE)
            return done;
    }
    return DONE;
}

/* ---------------------------------------------------------------- observations */

/* Writes the emission with one life anew. */
static int keep_life(Folder *self, const Place *place, const Known *known, const Life *life, View lay)
{
    Buffer *out = &self->packing;
    const uint8_t *end = known->whole.at + known->whole.length, *behind = lay.at + lay.length;
    out->length = 0;
    put(out, known->whole.at, (size_t)(lay.at - known->whole.at));
    life_pack(out, life);
    put(out, behind, (size_t)(end - behind));
    return folder_keep(self, place);
}

/* Moves an admitted life's validity on; that is told at the end of the block, once (verdicts.py, `renew`). */
static int extend(Folder *self, Life *life, int64_t until, const Place *place)
{
    int filed = life->clock == ON_TIME && life->has_due && life->due <= until;
    life->valid_until = until;
    life->clock = ON_TIME;
    life->has_due = 1;
    life->due = until;
    if (!filed && queue_push(self->expiring, until, life->order, life->emission_id) < 0)
        return FAILED;
    if (life->touched)
        return DONE;
    life->touched = 1;
    PyObject *renewed = Py_BuildValue("OLs#", place->name, (long long)life->attempt, life->span_key.at,
                                      (Py_ssize_t)life->span_key.length);
    int failed = renewed == NULL || PyList_Append(self->renewed, renewed) < 0;
    Py_XDECREF(renewed);
    return failed ? FAILED : DONE;
}

static int hear(Folder *self, const Place *place, const Known *known, Life *life, View lay, const Observation *one)
{
    const Terms *terms = terms_of(self, life);
    if (life->phase == REVIEW) {
        folder_count(self, LATE, 1);
        return DONE;
    }
    if (folder_is_pythons(self, life) || (life->phase != PENDING && life->phase != ADMITTED))
        return PYTHON;
    int may = may_count(self, life, one);
    if (may < 0)
        return FAILED;
    if (!may) {
        folder_count(self, NOT_COUNTED, 1);
        return DONE;
    }
    int counts = corroborate(life, terms, one, &self->arena);
    if (counts < 0)
        return PYTHON;
    int64_t until = counts ? validity(life, terms) : -1;
    int admits = counts && life->phase == PENDING && life->fresh >= life->k && until >= self->time;
    if (counts && life->phase == ADMITTED && until > life->valid_until && extend(self, life, until, place) == FAILED)
        return FAILED;
    if (admits && (known->attempts > 1 || until < 0))
        return PYTHON; /* the lives of earlier attempts may end */
    if (admits) {
        int64_t before = life->valid_until;
        life->valid_until = until;
        int speaks = can_speak(self, life);
        life->valid_until = before;
        if (!speaks)
            return PYTHON;
        if (folder_admit(self, life, until) == FAILED)
            return FAILED;
    }
    if (!counts)
        folder_count(self, NOT_COUNTED, 1);
    return keep_life(self, place, known, life, lay);
}

/* Says that a life was renewed, where it is still admitted: `(emission id, attempt, span key)`. */
int folder_renew(Folder *self, PyObject *renewed)
{
    Place place;
    Known known;
    Life life;
    long long attempt;
    Py_ssize_t id_length, key_length;
    const char *id, *key;
    if (!PyArg_ParseTuple(renewed, "s#Ls#", &id, &id_length, &attempt, &key, &key_length))
        return FAILED;
    View span_key = {(const uint8_t *)key, (size_t)key_length};
    int done = folder_look(self, (View){(const uint8_t *)id, (size_t)id_length}, &place);
    if (done == DONE && place.octets != NULL) {
        Sought sought = {.span_key = span_key, .emission_id = place.id, .life = &life, .arena = &self->arena};
        if (!known_read(&known, octets_of_bytes(place.octets), attempt, &sought) ||
            (sought.found && life.phase == ADMITTED && (known.attempts > 1 || !can_speak(self, &life)))) {
            done = PYTHON;
        } else if (sought.found) {
            life.touched = 0;
            if (life.phase == ADMITTED) {
                life.revision++;
                done = say_admitted(self, &life, "renewed", NULL, 1);
            }
            if (done == DONE)
                done = keep_life(self, &place, &known, &life, sought.place);
        }
    }
    place_leave(&place);
    return done;
}

/* Evidence whose assertion is not known, kept for the horizon. `known` NULL: nothing of its emission is. */
static int put_aside(Folder *self, const Place *place, const Known *known, const Observation *one, View record)
{
    Buffer *out = &self->packing;
    int64_t due = self->time + self->horizon, order = self->order + 1;
    out->length = 0;
    if (known == NULL)
        put(out, "\x92\x90\x91", 3); /* no attempt, and one that waits */
    else {
        put(out, known->whole.at, (size_t)(known->waiting_header - known->whole.at));
        pack_array(out, known->waiting + 1);
        put(out, known->waiting_start, (size_t)(known->whole.at + known->whole.length - known->waiting_start));
    }
    waiting_pack(out, record, one->attempt, one->span_key, 0, order, due);
    if (folder_keep(self, place) == FAILED || queue_push(self->pending, due, order, one->emission_id) < 0)
        return FAILED;
    self->order = order;
    self->asides++;
    return DONE;
}

static int observed(Folder *self, const Place *place, const Observation *one, View record)
{
    Known known;
    Life life;
    Sought sought = {.span_key = one->span_key, .emission_id = one->emission_id, .life = &life, .arena = &self->arena};
    if (one->outcome != CORROBORATES) {
        folder_count(self, NOT_COUNTED, 1);
        return DONE;
    }
    if (place->octets == NULL)
        return put_aside(self, place, NULL, one, record);
    if (!known_read(&known, octets_of_bytes(place->octets), one->attempt, &sought))
        return PYTHON;
    if (sought.found)
        return hear(self, place, &known, &life, sought.place, one);
    if (known.found) {
        int closed = known_closed(&known, one->span_key);
        if (closed < 0)
            return PYTHON;
        if (closed) {
            folder_count(self, LATE, 1);
            return DONE;
        }
    }
    return put_aside(self, place, &known, one, record);
}

int folder_observation(Folder *self, View record, View key)
{
    Observation one;
    Place place;
    int done = heard(self, &one, record);
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
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyUnicode_Check(PyTuple_GET_ITEM(pair, 0)) ||
            !PyBytes_CheckExact(PyTuple_GET_ITEM(pair, 1)))
            return 0;
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(pair, 0), "traceparent") != 0)
            continue;
        View found = octets_of_bytes(PyTuple_GET_ITEM(pair, 1));
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

/* What waited, and what becomes of it: `lives[i]` is the life that it speaks of, or -1. */
typedef struct {
    Waiting *waiting;
    Observation *said;
    int *lives;
    uint64_t count, matched;
} Before;

static int before_read(Folder *self, Before *before, const Known *known, const Emission *emission)
{
    Arena *arena = &self->arena;
    Reader reader = {known->waiting_start, known->whole.at + known->whole.length};
    *before = (Before){.count = known->waiting};
    before->waiting = arena_take(arena, known->waiting * sizeof *before->waiting);
    before->said = arena_take(arena, known->waiting * sizeof *before->said);
    before->lives = arena_take(arena, known->waiting * sizeof *before->lives);
    if (before->waiting == NULL || before->said == NULL || before->lives == NULL)
        return PYTHON;
    for (uint64_t i = 0; i < before->count; i++) {
        Waiting *one = &before->waiting[i];
        if (!waiting_read(one, &reader))
            return PYTHON;
        before->lives[i] = -1;
        for (size_t life = 0; one->attempt == emission->attempt && life < emission->count; life++)
            if (same_view(one->span_key, emission->lives[life].span_key))
                before->lives[i] = (int)life;
        if (before->lives[i] < 0)
            continue;
        before->matched++;
        int done = one->negative ? PYTHON : heard(self, &before->said[i], one->record);
        if (done != DONE || before->said[i].outcome != CORROBORATES)
            return done == FAILED ? FAILED : PYTHON;
    }
    return DONE;
}

/* The bounds of the policy in force, and what came before: everything but what is written. */
static int lives_fill(Folder *self, const Emission *emission, const Before *before, View traceparent, int64_t *counted)
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
        Life *life = &emission->lives[i];
        life->external = external | (life->external == 1);
        life->k = life->external ? self->k_external : self->k_internal;
        life->has_traceparent = traceparent.at != NULL;
        life->traceparent = traceparent;
        life->terms_number = self->terms_number;
        life->arrival = self->time;
        life->order = self->order + 2 + (int64_t)i; /* behind the attempt's */
        if (folder_is_pythons(self, life) || (life->has_confidence && life->confidence < self->min_confidence) ||
            (!life->ascii && (life->external ? self->reject_external : self->reject_internal)))
            return PYTHON;
        for (uint64_t at = 0; at < before->count; at++) {
            if (before->lives[at] != (int)i)
                continue;
            int counts = may_count(self, life, &before->said[at]);
            if (counts < 0)
                return FAILED;
            if (counts)
                counts = corroborate(life, &self->terms[self->terms_number], &before->said[at], &self->arena);
            if (counts < 0)
                return PYTHON;
            *counted += !counts;
        }
        int64_t until = validity(life, &self->terms[self->terms_number]);
        life->valid_until = until >= self->time ? until : -1;
        if (life->valid_until >= 0 && !can_speak(self, life))
            return PYTHON;
    }
    return DONE;
}

/* The first verdict on each life: its words, or its place among what waits. */
static int lives_begin(Folder *self, const Emission *emission)
{
    for (size_t i = 0; i < emission->count; i++) {
        Life *life = &emission->lives[i];
        int64_t until = life->valid_until;
        if (until >= 0) {
            if (folder_admit(self, life, until) == FAILED)
                return FAILED;
            continue;
        }
        life->phase = PENDING;
        life->clock = ON_WATERMARK;
        life->has_due = 1;
        life->due = life->arrival + self->terms[self->terms_number].horizon;
        if (queue_push(self->pending, life->due, life->order, life->emission_id) < 0)
            return FAILED;
    }
    return DONE;
}

enum { DIGEST_OCTETS = 16 }; /* of what says whether an emission is the one that is known already */

static void emission_pack(Folder *self, const Emission *emission, const Before *before, View record)
{
    Buffer *out = &self->packing;
    uint8_t digest[SHA256_OCTETS];
    sha256_of(record.at, record.length, digest);
    out->length = 0;
    put(out, "\x92\x91\x98", 3); /* one attempt of eight fields */
    pack_int(out, emission->attempt);
    pack_int(out, emission->emitted_at);
    pack_octets(out, (View){digest, DIGEST_OCTETS});
    pack_int(out, self->order + 1);
    pack_array(out, emission->count);
    for (size_t i = 0; i < emission->count; i++)
        life_pack(out, &emission->lives[i]);
    pack_array(out, 0);
    pack_int(out, ON_TIME);
    pack_nil(out);
    pack_array(out, before->count - before->matched);
    for (uint64_t i = 0; i < before->count; i++)
        if (before->lives[i] < 0)
            put_view(out, before->waiting[i].raw);
}

static int emitted(Folder *self, const Place *place, const Emission *emission, View record, View traceparent)
{
    Before before = {0};
    int64_t uncounted = 0;
    int done;
    if (place->octets != NULL) {
        Known known;
        if (!known_read(&known, octets_of_bytes(place->octets), emission->attempt, NULL))
            return PYTHON;
        if (known.found) {
            uint8_t digest[SHA256_OCTETS];
            sha256_of(record.at, record.length, digest);
            if (!view_is(known.digest, (char *)digest, DIGEST_OCTETS))
                return PYTHON;
            folder_count(self, DUPLICATE, 1);
            return DONE;
        }
        done = known.attempts ? PYTHON : before_read(self, &before, &known, emission);
        if (done != DONE)
            return done;
    }
    done = lives_fill(self, emission, &before, traceparent, &uncounted);
    if (done != DONE)
        return done;
    if (lives_begin(self, emission) == FAILED)
        return FAILED;
    emission_pack(self, emission, &before, record);
    folder_count(self, NEWER_VOCABULARY, 0);
    if (uncounted)
        folder_count(self, NOT_COUNTED, uncounted);
    self->order += 1 + (int64_t)emission->count;
    self->lives += (int64_t)emission->count;
    self->asides -= (int64_t)before.matched;
    return folder_keep(self, place);
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

/* Lives as they lie packed, field by field in the order of streams/adjudication/emission_state.py. */
#include "emission_state.h"

const View CLASS_NAMES[CLASSES] = {
    VIEW("substrate.code.read"), VIEW("substrate.do.sse-count"), VIEW("substrate.fs.mtime"),
    VIEW("substrate.git.log"),   VIEW("substrate.grep"),         VIEW("substrate.mcp.brief"),
    VIEW("substrate.unix.peercred"),
};

/* Fields are read and written one behind the other. */
FOLLOWS(EMISSION_STATE_WAITING, EMISSION_STATE_ATTEMPTS);
LAST(EMISSION_STATE, EMISSION_STATE_WAITING);

FOLLOWS(ATTEMPT_EMITTED_AT, ATTEMPT_NUMBER);
FOLLOWS(ATTEMPT_DIGEST, ATTEMPT_EMITTED_AT);
FOLLOWS(ATTEMPT_ORDER, ATTEMPT_DIGEST);
FOLLOWS(ATTEMPT_ASSERTIONS, ATTEMPT_ORDER);
FOLLOWS(ATTEMPT_CLOSED, ATTEMPT_ASSERTIONS);
FOLLOWS(ATTEMPT_CLOCK, ATTEMPT_CLOSED);
FOLLOWS(ATTEMPT_DUE, ATTEMPT_CLOCK);
LAST(ATTEMPT, ATTEMPT_DUE);

FOLLOWS(ASSERTION_STATE_ATTEMPT, ASSERTION_STATE_EMISSION_ID);
FOLLOWS(ASSERTION_STATE_EMITTED_AT, ASSERTION_STATE_ATTEMPT);
FOLLOWS(ASSERTION_STATE_TERMS, ASSERTION_STATE_EMITTED_AT);
FOLLOWS(ASSERTION_STATE_SPAN_KEY, ASSERTION_STATE_TERMS);
FOLLOWS(ASSERTION_STATE_KIND, ASSERTION_STATE_SPAN_KEY);
FOLLOWS(ASSERTION_STATE_EFFECT, ASSERTION_STATE_KIND);
FOLLOWS(ASSERTION_STATE_K, ASSERTION_STATE_EFFECT);
FOLLOWS(ASSERTION_STATE_TEXT, ASSERTION_STATE_K);
FOLLOWS(ASSERTION_STATE_ANNOTATED, ASSERTION_STATE_TEXT);
FOLLOWS(ASSERTION_STATE_GROUNDED, ASSERTION_STATE_ANNOTATED);
FOLLOWS(ASSERTION_STATE_CONFIDENCE, ASSERTION_STATE_GROUNDED);
FOLLOWS(ASSERTION_STATE_CHAIN, ASSERTION_STATE_CONFIDENCE);
FOLLOWS(ASSERTION_STATE_EMITTER, ASSERTION_STATE_CHAIN);
FOLLOWS(ASSERTION_STATE_TRACEPARENT, ASSERTION_STATE_EMITTER);
FOLLOWS(ASSERTION_STATE_TERMS_NUMBER, ASSERTION_STATE_TRACEPARENT);
FOLLOWS(ASSERTION_STATE_ARRIVAL, ASSERTION_STATE_TERMS_NUMBER);
FOLLOWS(ASSERTION_STATE_ORDER, ASSERTION_STATE_ARRIVAL);
FOLLOWS(ASSERTION_STATE_IDS, ASSERTION_STATE_ORDER);
FOLLOWS(ASSERTION_STATE_DECLARED, ASSERTION_STATE_IDS);
FOLLOWS(ASSERTION_STATE_PHASE, ASSERTION_STATE_DECLARED);
FOLLOWS(ASSERTION_STATE_SEEN, ASSERTION_STATE_PHASE);
FOLLOWS(ASSERTION_STATE_FRESH, ASSERTION_STATE_SEEN);
FOLLOWS(ASSERTION_STATE_AGED, ASSERTION_STATE_FRESH);
FOLLOWS(ASSERTION_STATE_REVISION, ASSERTION_STATE_AGED);
FOLLOWS(ASSERTION_STATE_BASIS, ASSERTION_STATE_REVISION);
FOLLOWS(ASSERTION_STATE_ADMITTED_AT, ASSERTION_STATE_BASIS);
FOLLOWS(ASSERTION_STATE_VALID_UNTIL, ASSERTION_STATE_ADMITTED_AT);
FOLLOWS(ASSERTION_STATE_TOUCHED, ASSERTION_STATE_VALID_UNTIL);
FOLLOWS(ASSERTION_STATE_CLOCK, ASSERTION_STATE_TOUCHED);
FOLLOWS(ASSERTION_STATE_DUE, ASSERTION_STATE_CLOCK);
FOLLOWS(ASSERTION_STATE_WITNESSES, ASSERTION_STATE_DUE);
FOLLOWS(ASSERTION_STATE_CHECKING, ASSERTION_STATE_WITNESSES);
FOLLOWS(ASSERTION_STATE_REVIEWERS, ASSERTION_STATE_CHECKING);
FOLLOWS(ASSERTION_STATE_LOOK, ASSERTION_STATE_REVIEWERS);
FOLLOWS(ASSERTION_STATE_SESSION, ASSERTION_STATE_LOOK);
LAST(ASSERTION_STATE, ASSERTION_STATE_SESSION);

FOLLOWS(CLOSED_KIND, CLOSED_SPAN_KEY);
FOLLOWS(CLOSED_EFFECT, CLOSED_KIND);
FOLLOWS(CLOSED_STATUS, CLOSED_EFFECT);
FOLLOWS(CLOSED_REASON, CLOSED_STATUS);
FOLLOWS(CLOSED_DISPOSITION, CLOSED_REASON);
FOLLOWS(CLOSED_COVERAGE, CLOSED_DISPOSITION);
FOLLOWS(CLOSED_CLASSES, CLOSED_COVERAGE);
FOLLOWS(CLOSED_MISSING, CLOSED_CLASSES);
FOLLOWS(CLOSED_CHECKS, CLOSED_MISSING);
FOLLOWS(CLOSED_VALID_UNTIL, CLOSED_CHECKS);
FOLLOWS(CLOSED_BY, CLOSED_VALID_UNTIL);
LAST(CLOSED, CLOSED_BY);

FOLLOWS(DECLARED_ID, DECLARED_NUMBER);
FOLLOWS(DECLARED_TS, DECLARED_ID);
FOLLOWS(DECLARED_CONFIRMED, DECLARED_TS);
LAST(DECLARED, DECLARED_CONFIRMED);

FOLLOWS(CLASS_EVIDENCE_LATEST, CLASS_EVIDENCE_NUMBER);
FOLLOWS(CLASS_EVIDENCE_TS, CLASS_EVIDENCE_LATEST);
FOLLOWS(CLASS_EVIDENCE_ID, CLASS_EVIDENCE_TS);
FOLLOWS(CLASS_EVIDENCE_OBSERVER, CLASS_EVIDENCE_ID);
FOLLOWS(CLASS_EVIDENCE_IDENTITY_BOUND, CLASS_EVIDENCE_OBSERVER);
FOLLOWS(CLASS_EVIDENCE_ATTESTATION, CLASS_EVIDENCE_IDENTITY_BOUND);
LAST(CLASS_EVIDENCE, CLASS_EVIDENCE_ATTESTATION);

FOLLOWS(CHECKING_NEEDS, CHECKING_TEXTS);
FOLLOWS(CHECKING_CLASSES, CHECKING_NEEDS);
FOLLOWS(CHECKING_WORDS, CHECKING_CLASSES);
FOLLOWS(CHECKING_COVERAGE, CHECKING_WORDS);
FOLLOWS(CHECKING_UNCHECKED, CHECKING_COVERAGE);
FOLLOWS(CHECKING_PLACES, CHECKING_UNCHECKED);
FOLLOWS(CHECKING_ELSEWHERE, CHECKING_PLACES);
FOLLOWS(CHECKING_BY, CHECKING_ELSEWHERE);
FOLLOWS(CHECKING_TOLD, CHECKING_BY);
FOLLOWS(CHECKING_PROPOSED, CHECKING_TOLD);
LAST(CHECKING, CHECKING_PROPOSED);

FOLLOWS(VERIFIED_STAMPS, VERIFIED_NUMBER);
FOLLOWS(VERIFIED_NAMED, VERIFIED_STAMPS);
FOLLOWS(VERIFIED_COVERED, VERIFIED_NAMED);
FOLLOWS(VERIFIED_LOOKED, VERIFIED_COVERED);
LAST(VERIFIED, VERIFIED_LOOKED);

FOLLOWS(COVERED_UNCHECKED, COVERED_LEVEL);
FOLLOWS(COVERED_BY, COVERED_UNCHECKED);
LAST(COVERED, COVERED_BY);

FOLLOWS(PLACE_FIRST, PLACE_PATH);
FOLLOWS(PLACE_LAST, PLACE_FIRST);
FOLLOWS(PLACE_COMMIT, PLACE_LAST);
LAST(PLACE, PLACE_COMMIT);

FOLLOWS(LOOKED_CONTENT, LOOKED_ROOT);
LAST(LOOKED, LOOKED_CONTENT);

FOLLOWS(LOOKS_LOOKS, LOOKS_WORDS);
LAST(LOOKS, LOOKS_LOOKS);

FOLLOWS(MATERIAL_AFTER, MATERIAL_BEFORE);
FOLLOWS(MATERIAL_LOCATORS, MATERIAL_AFTER);
FOLLOWS(MATERIAL_NOT_COUNTED, MATERIAL_LOCATORS);
LAST(MATERIAL, MATERIAL_NOT_COUNTED);

FOLLOWS(PENDING_EVIDENCE_ATTEMPT, PENDING_EVIDENCE_RECORD);
FOLLOWS(PENDING_EVIDENCE_SPAN_KEY, PENDING_EVIDENCE_ATTEMPT);
FOLLOWS(PENDING_EVIDENCE_NEGATIVE, PENDING_EVIDENCE_SPAN_KEY);
FOLLOWS(PENDING_EVIDENCE_ORDER, PENDING_EVIDENCE_NEGATIVE);
FOLLOWS(PENDING_EVIDENCE_CLOCK, PENDING_EVIDENCE_ORDER);
FOLLOWS(PENDING_EVIDENCE_DUE, PENDING_EVIDENCE_CLOCK);
FOLLOWS(PENDING_EVIDENCE_SLOT, PENDING_EVIDENCE_DUE);
LAST(PENDING_EVIDENCE, PENDING_EVIDENCE_SLOT);

enum { RANGE_START, RANGE_END, RANGE_FIELDS }; /* a pair in Python */
#define MOST ((uint64_t)1 << 20) /* of anything in one emission; a record holds less */

static int due_read(Reader *reader, int64_t *clock, int *has_due, int64_t *due)
{
    if (!take_int(reader, clock))
        return 0;
    *has_due = !take_nil(reader);
    return !*has_due || take_int(reader, due);
}

/* Whether the assertion that begins here is of the span that is looked for; by its order every assertion may be. */
static int may_be_sought(const Sought *sought, Reader reader, int *may)
{
    View key;
    *may = !sought->found;
    if (sought->found || !sought->span_key.length)
        return 1;
    if (!take_array_of(&reader, ASSERTION_STATE_FIELDS) || !pass_values(&reader, ASSERTION_STATE_SPAN_KEY) ||
        !take_text(&reader, &key))
        return 0;
    *may = same_view(key, sought->span_key);
    return 1;
}

/* Passes an attempt's assertions, and reads the one that is looked for. */
static int assertions_pass(const EmissionState *self, Reader *reader, Sought *sought)
{
    for (uint64_t i = 0; i < self->assertions; i++) {
        const uint8_t *start = reader->at;
        int may;
        if (!may_be_sought(sought, *reader, &may) ||
            !(may ? assertion_state_read(sought->assertion, reader, sought->arena, self, sought->emission_id) : pass_values(reader, 1)))
            return 0;
        if (may && (sought->span_key.length || sought->assertion->order == sought->order)) {
            sought->place = (View){start, (size_t)(reader->at - start)};
            sought->found = 1;
        }
    }
    return 1;
}

int known_read(EmissionState *self, View packed, int64_t attempt, Sought *sought)
{
    Reader reader = {packed.at, packed.at + packed.length};
    self->whole = packed;
    self->found = 0;
    if (!take_array_of(&reader, EMISSION_STATE_FIELDS) || !take_array(&reader, &self->attempts) || self->attempts > MOST)
        return 0;
    for (uint64_t i = 0; i < self->attempts; i++) {
        EmissionState one;
        if (!take_array_of(&reader, ATTEMPT_FIELDS) || !take_int(&reader, &one.number) ||
            !take_int(&reader, &one.emitted_at) || !take_bytes(&reader, &one.digest) ||
            !take_int(&reader, &one.order) || !take_array(&reader, &one.assertions))
            return 0;
        one.assertions_start = reader.at;
        int is_asked = one.number == attempt && !self->found;
        if (!(is_asked && sought != NULL ? assertions_pass(&one, &reader, sought) : pass_values(&reader, one.assertions)))
            return 0;
        one.assertions_end = reader.at;
        if (!take_array(&reader, &one.closed))
            return 0;
        one.closed_start = reader.at;
        if (!pass_values(&reader, one.closed))
            return 0;
        one.closed_end = reader.at;
        if (!due_read(&reader, &one.clock, &one.has_due, &one.due))
            return 0;
        if (is_asked) {
            one.whole = packed;
            one.attempts = self->attempts;
            one.found = 1;
            *self = one;
        }
    }
    self->waiting_header = reader.at;
    if (!take_array(&reader, &self->waiting) || self->waiting > MOST)
        return 0;
    self->waiting_start = reader.at;
    return pass_values(&reader, self->waiting) && reader.at == reader.end;
}

int known_timer(View packed, int64_t order, int64_t *clock, int *has_due, int64_t *due)
{
    Reader reader = {packed.at, packed.at + packed.length};
    uint64_t attempts, assertions, waiting;
    int64_t number, own;
    if (!take_array_of(&reader, EMISSION_STATE_FIELDS) || !take_array(&reader, &attempts))
        return -1;
    for (; attempts; attempts--) {
        if (!take_array_of(&reader, ATTEMPT_FIELDS) || !pass_values(&reader, ATTEMPT_ORDER) ||
            !take_int(&reader, &own) ||
            !take_array(&reader, &assertions))
            return -1;
        for (; assertions; assertions--) {
            if (!take_array_of(&reader, ASSERTION_STATE_FIELDS) || !pass_values(&reader, ASSERTION_STATE_ORDER) ||
                !take_int(&reader, &number) || !pass_values(&reader, ASSERTION_STATE_CLOCK - ASSERTION_STATE_ORDER - 1) ||
                !due_read(&reader, clock, has_due, due) ||
                !pass_values(&reader, ASSERTION_STATE_FIELDS - ASSERTION_STATE_DUE - 1))
                return -1;
            if (number == order)
                return 1;
        }
        if (!pass_values(&reader, ATTEMPT_CLOCK - ATTEMPT_CLOSED) || !due_read(&reader, clock, has_due, due))
            return -1;
        if (own == order)
            return 1;
    }
    if (!take_array(&reader, &waiting))
        return -1;
    for (; waiting; waiting--) {
        PendingEvidence one;
        if (!waiting_read(&one, &reader))
            return -1;
        *clock = one.clock;
        *has_due = one.has_due;
        *due = one.due;
        if (one.order == order)
            return 1;
    }
    return 0;
}

static int optional_text(Reader *reader, int *there, View *text)
{
    *there = !take_nil(reader);
    return !*there || take_text(reader, text);
}

static int optional_bytes(Reader *reader, int *there, View *bytes)
{
    *there = !take_nil(reader);
    return !*there || take_bytes(reader, bytes);
}

static int declared_read(Declared *self, Reader *reader, int64_t ids)
{
    if (!take_array_of(reader, DECLARED_FIELDS) || !take_int(reader, &self->number) || !take_int(reader, &self->id))
        return 0;
    self->has_ts = !take_nil(reader);
    if (self->has_ts && !take_int(reader, &self->ts))
        return 0;
    return take_int(reader, &self->confirmed) && self->number >= 0 && self->number < CLASSES && self->id >= -1 &&
           self->id < ids;
}

static int seen_read(ClassEvidence *self, Reader *reader, int64_t ids)
{
    return take_array_of(reader, CLASS_EVIDENCE_FIELDS) && take_int(reader, &self->number) && take_int(reader, &self->latest) &&
           take_int(reader, &self->ts) && take_int(reader, &self->id) && take_text(reader, &self->observer) &&
           take_bool(reader, &self->identity_bound) &&
           optional_bytes(reader, &self->has_attestation, &self->attestation) && self->number >= 0 &&
           self->number < CLASSES && self->id >= -1 && self->id < ids;
}

static int fixed_read(AssertionState *self, Reader *reader)
{
    View nothing, effect;
    int64_t zero, other;
    const uint8_t *start = reader->at;
    if (!take_text(reader, &nothing) || !take_int(reader, &zero) || !take_int(reader, &other) || !take_nil(reader) ||
        nothing.length || zero || other)
        return 0;
    if (!take_text(reader, &self->span_key) || !take_text(reader, &self->kind) || !take_text(reader, &effect) ||
        !take_int(reader, &self->k) || !take_text(reader, &self->text) || !take_bool(reader, &self->annotated) ||
        !take_bool(reader, &self->grounded))
        return 0;
    self->external = IS(effect, "external");
    self->has_confidence = !take_nil(reader);
    if (self->has_confidence && !take_float(reader, &self->confidence))
        return 0;
    if (!optional_bytes(reader, &self->has_chain, &self->chain) ||
        !optional_text(reader, &self->has_emitter, &self->emitter) ||
        !optional_bytes(reader, &self->has_traceparent, &self->traceparent) ||
        !take_int(reader, &self->terms_number) || !take_int(reader, &self->arrival) || !take_int(reader, &self->order))
        return 0;
    self->fixed = (View){start, (size_t)(reader->at - start)};
    return self->external || IS(effect, "internal");
}

/* ---------------------------------------------------------------- checks */

static int ranges_read(Ranges *self, Reader *reader, Arena *arena)
{
    uint64_t count;
    if (!take_array(reader, &count) || count > (uint64_t)(reader->end - reader->at))
        return 0;
    self->count = count;
    self->at = arena_take(arena, count * sizeof *self->at);
    if (self->at == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        Range *one = &self->at[i];
        if (!take_array_of(reader, RANGE_FIELDS) || !take_int(reader, &one->start) || !take_int(reader, &one->end) ||
            one->start < 0 || one->end < one->start || (i && one->start <= self->at[i - 1].end))
            return 0;
    }
    return 1;
}

static int texts_read(Checking *self, Reader *reader, Arena *arena)
{
    uint64_t count;
    self->texts = NULL;
    self->count = 1;
    if (take_nil(reader))
        return 1;
    if (!take_array(reader, &count) || !count || count > MOST_CHECKS)
        return 0;
    self->count = count;
    self->texts = arena_take(arena, count * sizeof *self->texts);
    if (self->texts == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!take_text(reader, &self->texts[i]))
            return 0;
    return 1;
}

/* The k of each check; none where all need the assertion's. */
static int needs_read(Checking *self, Reader *reader, Arena *arena)
{
    uint64_t count;
    self->needs = NULL;
    if (!take_array(reader, &count) || (count && count != self->count))
        return 0;
    if (!count)
        return 1;
    self->needs = arena_take(arena, count * sizeof *self->needs);
    if (self->needs == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!take_int(reader, &self->needs[i]) || self->needs[i] < 1)
            return 0;
    return 1;
}

/* What the newest evidence of each check looked at; none where nothing of it is kept. */
static int looked_read(Verified *self, Reader *reader, size_t checks, Arena *arena)
{
    uint64_t count;
    self->looked = NULL;
    if (!take_array(reader, &count) || (count && count != checks))
        return 0;
    if (!count)
        return 1;
    self->looked = arena_take(arena, count * sizeof *self->looked);
    if (self->looked == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!take_array_of(reader, LOOKED_FIELDS) || !take_text(reader, &self->looked[i].root) ||
            !take_text(reader, &self->looked[i].content))
            return 0;
    return 1;
}

enum { COVERED_OF_ALL = 1 }; /* one entry for all declared checks together */

/* Whether coverage rests on no proposer's word, which Python weighs. */
static int by_form(Reader *reader)
{
    View by;
    return take_text(reader, &by) && !by.length;
}

static int verified_read(Verified *self, Reader *reader, size_t checks, Arena *arena)
{
    if (!take_array_of(reader, VERIFIED_FIELDS) || !take_int(reader, &self->number) || self->number < 0 ||
        self->number >= CLASSES || !take_array_of(reader, checks))
        return 0;
    self->stamps = arena_take(arena, checks * sizeof *self->stamps);
    if (self->stamps == NULL)
        return 0;
    for (size_t i = 0; i < checks; i++)
        if (!take_int(reader, &self->stamps[i]))
            return 0;
    return take_int(reader, &self->named) && self->named >= 0 && self->named >> checks == 0 &&
           take_array_of(reader, COVERED_OF_ALL) && take_array_of(reader, COVERED_FIELDS) && take_int(reader, &self->coverage) &&
           self->coverage >= NO_COVERAGE && self->coverage <= WHOLE && ranges_read(&self->unchecked, reader, arena) &&
           by_form(reader) && looked_read(self, reader, checks, arena);
}

static int wheres_read(Checking *self, Reader *reader, Arena *arena)
{
    uint64_t count;
    if (!take_array(reader, &count) || (count && count != self->count))
        return 0;
    self->where_count = count;
    self->wheres = arena_take(arena, self->count * sizeof *self->wheres);
    if (self->wheres == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        Where *one = &self->wheres[i];
        if (!take_array_of(reader, PLACE_FIELDS) || !take_text(reader, &one->path) || !take_int(reader, &one->first) ||
            !take_int(reader, &one->last) || !take_text(reader, &one->commit))
            return 0;
    }
    return 1;
}

/* Whether an observer found the words; with what was seen instead of evidence, which goes on as it lies. */
static int words_read(Checking *self, Reader *reader)
{
    uint8_t tag = reader->at < reader->end ? *reader->at : 0;
    self->looks = (View){NULL, 0};
    if (tag != 0x92)
        return take_bool(reader, &self->words);
    if (!take_array_of(reader, LOOKS_FIELDS) || !take_bool(reader, &self->words))
        return 0;
    const uint8_t *start = reader->at;
    if (!pass_values(reader, 1))
        return 0;
    self->looks = (View){start, (size_t)(reader->at - start)};
    return 1;
}

/* Seen to hold in one file each; with evidence from elsewhere it is Python's. */
static int checking_read(AssertionState *self, Reader *reader, Arena *arena)
{
    const uint8_t *start = reader->at;
    uint64_t classes;
    int told;
    self->checks = NULL;
    if (!take_nil(reader)) {
        Checking *one = self->checks = arena_take(arena, sizeof *one);
        if (one == NULL || !take_array_of(reader, CHECKING_FIELDS) || !texts_read(one, reader, arena) ||
            !needs_read(one, reader, arena) || !take_array(reader, &classes) || classes > CLASSES)
            return 0;
        one->class_count = classes;
        for (uint64_t i = 0; i < classes; i++)
            if (!verified_read(&one->classes[i], reader, one->count, arena))
                return 0;
        if (!words_read(one, reader) || !take_int(reader, &one->coverage) || one->coverage < -1 ||
            one->coverage > WHOLE || !ranges_read(&one->unchecked, reader, arena) || !wheres_read(one, reader, arena) ||
            !take_array_of(reader, 0) || !by_form(reader) || !take_bool(reader, &told) || told || !take_nil(reader))
            return 0;
    }
    self->checking = (View){start, (size_t)(reader->at - start)};
    return 1;
}

Checking *checking_of(AssertionState *self, Arena *arena)
{
    if (self->checks == NULL) {
        Checking *one = self->checks = arena_take(arena, sizeof *one);
        if (one == NULL)
            return NULL;
        one->texts = NULL;
        one->needs = NULL;
        one->count = 1;
        one->class_count = one->where_count = one->unchecked.count = 0;
        one->words = 0;
        one->looks = (View){NULL, 0};
        one->coverage = -1;
        one->wheres = arena_take(arena, sizeof *one->wheres);
        if (one->wheres == NULL)
            return NULL;
    }
    self->checking.length = 0; /* it is about to change */
    return self->checks;
}

int drop_looks(AssertionState *self, Arena *arena)
{
    if (self->checks == NULL || !self->checks->looks.length)
        return 1;
    self->checks->looks = (View){NULL, 0};
    return checking_of(self, arena) != NULL;
}

void drop_material(AssertionState *self)
{
    const uint8_t *at = self->reviewers.at;
    self->has_material = 0;
    if (self->reviewers.length > 1 && at[0] == ARRAY_OF(1) && at[1] == ARRAY_OF(MATERIAL_FIELDS))
        self->reviewers.length = 0; /* else there is none, or reviewers have spoken: it is not pending any more */
}

enum { LONGEST_LOCATOR = 400 }; /* as in reviewing.py */

static View kept_locator(const AssertionState *self, size_t i)
{
    return self->declared[i].locator.length <= LONGEST_LOCATOR ? self->declared[i].locator : (View){NULL, 0};
}

/* What a reviewer may need of a new assertion's emission, in the place of who has reviewed it. */
static void material_pack(Buffer *out, const AssertionState *self)
{
    size_t count = self->declared_count < MOST_ANNOTATIONS ? self->declared_count : MOST_ANNOTATIONS, any = 0;
    for (size_t i = 0; i < count; i++)
        any |= kept_locator(self, i).length;
    pack_array(out, 1);
    pack_array(out, MATERIAL_FIELDS);
    pack_text(out, self->before);
    pack_text(out, self->after);
    pack_array(out, any ? count : 0);
    for (size_t i = 0; any && i < count; i++)
        pack_bytes(out, kept_locator(self, i));
    self->not_counted.length ? put_view(out, self->not_counted) : pack_array(out, 0);
}

int text_around(const AssertionState *self, View *before, View *after)
{
    uint64_t count;
    Reader reader = {self->reviewers.at, self->reviewers.at + self->reviewers.length};
    *before = *after = (View){NULL, 0};
    if (self->has_material) {
        *before = self->before;
        *after = self->after;
        for (size_t i = 0; i < self->declared_count && i < MOST_ANNOTATIONS; i++)
            if (kept_locator(self, i).length)
                return 0;
        return !self->not_counted.length;
    }
    if (!self->reviewers.length)
        return 1;
    return take_array(&reader, &count) && (!count || (count == 1 && take_array_of(&reader, MATERIAL_FIELDS) &&
                                                      take_text(&reader, before) && take_text(&reader, after) &&
                                                      take_array_of(&reader, 0) && take_array_of(&reader, 0)));
}

enum { ASKED_STATUS, ASKED_REASON, ASKED_FIELDS }; /* a pair in Python */

/* What its admission rests on, or why it waits for a reviewer. */
static int basis_read(AssertionState *self, Reader *reader)
{
    self->has_asked = reader->at < reader->end && *reader->at == ARRAY_OF(ASKED_FIELDS);
    self->basis = (View){NULL, 0};
    return self->has_asked ? take_array_of(reader, ASKED_FIELDS) && take_int(reader, &self->asked_status) &&
                                 take_int(reader, &self->asked_reason)
                           : take_text(reader, &self->basis);
}

static void basis_pack(Buffer *out, const AssertionState *self)
{
    if (!self->has_asked) {
        pack_text(out, self->basis);
        return;
    }
    pack_array(out, ASKED_FIELDS);
    pack_int(out, self->asked_status);
    pack_int(out, self->asked_reason);
}

int assertion_state_read(AssertionState *self, Reader *reader, Arena *arena, const EmissionState *known, View emission_id)
{
    uint64_t count;
    self->emission_id = emission_id;
    self->attempt = known->number;
    self->emitted_at = known->emitted_at;
    if (!take_array_of(reader, ASSERTION_STATE_FIELDS) || !fixed_read(self, reader) || !take_array(reader, &count) || count > MOST)
        return 0;
    self->id_count = count;
    self->id_room = count + 1;
    self->ids = arena_take(arena, self->id_room * sizeof *self->ids);
    if (self->ids == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!take_bytes(reader, &self->ids[i]) || !self->ids[i].length)
            return 0;
    if (!take_array(reader, &count) || count > MOST)
        return 0;
    self->declared_count = count;
    self->declared = arena_take(arena, count * sizeof *self->declared);
    if (self->declared == NULL)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!declared_read(&self->declared[i], reader, (int64_t)self->id_count))
            return 0;
    if (!take_int(reader, &self->phase) || !take_array(reader, &count) || count > CLASSES)
        return 0;
    self->seen_count = count;
    for (uint64_t i = 0; i < count; i++)
        if (!seen_read(&self->seen[i], reader, (int64_t)self->id_count))
            return 0;
    if (!take_int(reader, &self->fresh) || !take_bool(reader, &self->aged) || !take_int(reader, &self->revision) ||
        !basis_read(self, reader) || !take_int(reader, &self->admitted_at) ||
        !take_int(reader, &self->valid_until) || !take_bool(reader, &self->touched) ||
        !due_read(reader, &self->clock, &self->has_due, &self->due))
        return 0;
    const uint8_t *start = reader->at;
    if (!pass_values(reader, 1))
        return 0;
    self->witnesses = (View){start, (size_t)(reader->at - start)};
    if (!checking_read(self, reader, arena))
        return 0;
    start = reader->at;
    if (!pass_values(reader, 1))
        return 0;
    self->reviewers = (View){start, (size_t)(reader->at - start)};
    if (!take_int(reader, &self->look) || !take_int(reader, &self->session))
        return 0;
    self->has_material = 0;
    self->not_counted = (View){NULL, 0};
    self->uncounted = -1;
    return 1;
}

/* So many numbers, each at least 0 and below a bound (-1: none). */
static int numbers_read(int64_t *numbers, size_t *count, size_t most, int64_t bound, Reader *reader)
{
    uint64_t found;
    if (!take_array(reader, &found) || found > most)
        return 0;
    *count = found;
    for (uint64_t i = 0; i < found; i++)
        if (!take_int(reader, &numbers[i]) || numbers[i] < 0 || (bound >= 0 && numbers[i] >= bound))
            return 0;
    return 1;
}

int closed_read(Closed *self, Reader *reader, int *told)
{
    *told = reader->at < reader->end && *reader->at == ARRAY_OF(CLOSED_FIELDS);
    if (!*told)
        return take_text(reader, &self->span_key);
    return take_array_of(reader, CLOSED_FIELDS) && take_text(reader, &self->span_key) && take_int(reader, &self->kind) &&
           take_int(reader, &self->external) && take_int(reader, &self->status) && take_int(reader, &self->reason) &&
           take_int(reader, &self->disposition) && take_int(reader, &self->coverage) &&
           numbers_read(self->classes, &self->class_count, CLASSES, CLASSES, reader) && take_int(reader, &self->missing) &&
           numbers_read(self->checks, &self->check_count, MOST_CHECKS, -1, reader) && take_int(reader, &self->valid_until) &&
           by_form(reader);
}

static void numbers_pack(Buffer *out, const int64_t *numbers, size_t count)
{
    pack_array(out, count);
    for (size_t i = 0; i < count; i++)
        pack_int(out, numbers[i]);
}

void closed_pack(Buffer *out, const Closed *self)
{
    pack_array(out, CLOSED_FIELDS);
    pack_text(out, self->span_key);
    pack_int(out, self->kind);
    pack_int(out, self->external);
    pack_int(out, self->status);
    pack_int(out, self->reason);
    pack_int(out, self->disposition);
    pack_int(out, self->coverage);
    numbers_pack(out, self->classes, self->class_count);
    pack_int(out, self->missing);
    numbers_pack(out, self->checks, self->check_count);
    pack_int(out, self->valid_until);
    pack_text(out, (View)VIEW(""));
}

int known_closed(const EmissionState *self, View span_key)
{
    Reader reader = {self->closed_start, self->closed_end};
    for (uint64_t i = 0; i < self->closed; i++) {
        Closed one;
        int told;
        if (!closed_read(&one, &reader, &told))
            return -1;
        if (same_view(one.span_key, span_key))
            return 1;
    }
    return 0;
}

int waiting_read(PendingEvidence *self, Reader *reader)
{
    const uint8_t *start = reader->at;
    if (!take_array_of(reader, PENDING_EVIDENCE_FIELDS) || !take_bytes(reader, &self->record) ||
        !take_int(reader, &self->attempt) || !take_text(reader, &self->span_key) ||
        !take_bool(reader, &self->negative) || !take_int(reader, &self->order) ||
        !due_read(reader, &self->clock, &self->has_due, &self->due) || !take_text(reader, &self->slot))
        return 0;
    self->raw = (View){start, (size_t)(reader->at - start)};
    return 1;
}

/* ---------------------------------------------------------------- written */

static void due_pack(Buffer *out, int64_t clock, int has_due, int64_t due)
{
    pack_int(out, clock);
    has_due ? pack_int(out, due) : pack_nil(out);
}

static void fixed_pack(Buffer *out, const AssertionState *self)
{
    put(out, "\xa0\x00\x00\xc0", ASSERTION_STATE_SPAN_KEY); /* the emission knows these: a text, two numbers, nil */
    pack_text(out, self->span_key);
    pack_text(out, self->kind);
    pack_text(out, self->external ? (View){(const uint8_t *)"external", 8} : (View){(const uint8_t *)"internal", 8});
    pack_int(out, self->k);
    pack_text(out, self->text);
    pack_bool(out, self->annotated);
    pack_bool(out, self->grounded);
    self->has_confidence ? pack_float(out, self->confidence) : pack_nil(out);
    self->has_chain ? pack_bytes(out, self->chain) : pack_nil(out);
    self->has_emitter ? pack_text(out, self->emitter) : pack_nil(out);
    self->has_traceparent ? pack_bytes(out, self->traceparent) : pack_nil(out);
    pack_int(out, self->terms_number);
    pack_int(out, self->arrival);
    pack_int(out, self->order);
}

static void ranges_pack(Buffer *out, const Ranges *self)
{
    pack_array(out, self->count);
    for (size_t i = 0; i < self->count; i++) {
        pack_array(out, RANGE_FIELDS);
        pack_int(out, self->at[i].start);
        pack_int(out, self->at[i].end);
    }
}

static void verified_pack(Buffer *out, const Verified *self, size_t checks)
{
    pack_array(out, VERIFIED_FIELDS);
    pack_int(out, self->number);
    pack_array(out, checks);
    for (size_t i = 0; i < checks; i++)
        pack_int(out, self->stamps[i]);
    pack_int(out, self->named);
    pack_array(out, COVERED_OF_ALL);
    pack_array(out, COVERED_FIELDS);
    pack_int(out, self->coverage);
    ranges_pack(out, &self->unchecked);
    pack_text(out, (View)VIEW(""));
    pack_array(out, self->looked != NULL ? checks : 0);
    for (size_t i = 0; self->looked != NULL && i < checks; i++) {
        pack_array(out, LOOKED_FIELDS);
        pack_text(out, self->looked[i].root);
        pack_text(out, self->looked[i].content);
    }
}

static void checking_pack(Buffer *out, const Checking *self)
{
    pack_array(out, CHECKING_FIELDS);
    if (self->texts == NULL) {
        pack_nil(out);
    } else {
        pack_array(out, self->count);
        for (size_t i = 0; i < self->count; i++)
            pack_text(out, self->texts[i]);
    }
    pack_array(out, self->needs != NULL ? self->count : 0);
    for (size_t i = 0; self->needs != NULL && i < self->count; i++)
        pack_int(out, self->needs[i]);
    pack_array(out, self->class_count);
    for (size_t i = 0; i < self->class_count; i++)
        verified_pack(out, &self->classes[i], self->count);
    if (self->looks.length)
        pack_array(out, LOOKS_FIELDS);
    pack_bool(out, self->words);
    put_view(out, self->looks);
    pack_int(out, self->coverage);
    ranges_pack(out, &self->unchecked);
    pack_array(out, self->where_count);
    for (size_t i = 0; i < self->where_count; i++) {
        const Where *one = &self->wheres[i];
        pack_array(out, PLACE_FIELDS);
        pack_text(out, one->path);
        pack_int(out, one->first);
        pack_int(out, one->last);
        pack_text(out, one->commit);
    }
    pack_array(out, 0); /* nothing from elsewhere */
    pack_text(out, (View)VIEW(""));
    pack_bool(out, 0);
    pack_nil(out);
}

void assertion_state_pack(Buffer *out, const AssertionState *self)
{
    pack_array(out, ASSERTION_STATE_FIELDS);
    self->fixed.length ? put_view(out, self->fixed) : fixed_pack(out, self);
    pack_array(out, self->id_count);
    for (size_t i = 0; i < self->id_count; i++)
        pack_bytes(out, self->ids[i]);
    pack_array(out, self->declared_count);
    for (size_t i = 0; i < self->declared_count; i++) {
        const Declared *one = &self->declared[i];
        pack_array(out, DECLARED_FIELDS);
        pack_int(out, one->number);
        pack_int(out, one->id);
        one->has_ts ? pack_int(out, one->ts) : pack_nil(out);
        pack_int(out, one->confirmed);
    }
    pack_int(out, self->phase);
    pack_array(out, self->seen_count);
    for (size_t i = 0; i < self->seen_count; i++) {
        const ClassEvidence *one = &self->seen[i];
        pack_array(out, CLASS_EVIDENCE_FIELDS);
        pack_int(out, one->number);
        pack_int(out, one->latest);
        pack_int(out, one->ts);
        pack_int(out, one->id);
        pack_text(out, one->observer);
        pack_bool(out, one->identity_bound);
        one->has_attestation ? pack_bytes(out, one->attestation) : pack_nil(out);
    }
    pack_int(out, self->fresh);
    pack_bool(out, self->aged);
    pack_int(out, self->revision);
    basis_pack(out, self);
    pack_int(out, self->admitted_at);
    pack_int(out, self->valid_until);
    pack_bool(out, self->touched);
    due_pack(out, self->clock, self->has_due, self->due);
    self->witnesses.length ? put_view(out, self->witnesses) : pack_array(out, 0);
    if (self->checking.length)
        put_view(out, self->checking);
    else
        self->checks != NULL ? checking_pack(out, self->checks) : pack_nil(out);
    if (self->has_material)
        material_pack(out, self);
    else
        self->reviewers.length ? put_view(out, self->reviewers) : pack_array(out, 0);
    pack_int(out, self->look);
    pack_int(out, self->session);
}

void waiting_pack(Buffer *out, const PendingEvidence *self)
{
    pack_array(out, PENDING_EVIDENCE_FIELDS);
    pack_bytes(out, self->record);
    pack_int(out, self->attempt);
    pack_text(out, self->span_key);
    pack_bool(out, self->negative);
    pack_int(out, self->order);
    due_pack(out, ON_WATERMARK, 1, self->due);
    pack_text(out, self->slot);
}

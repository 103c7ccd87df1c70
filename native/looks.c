/* streams/adjudication/follow_up_requests.py and reviewing.py: what is kept of an assertion while it is pending, for who may have to
 * mend or to review it: what classes saw instead of evidence, and which observations did not count. It decides nothing. */
#include "folder.h"

FOLLOWS(LOOK_OUTCOME, LOOK_NUMBER);
FOLLOWS(LOOK_TS, LOOK_OUTCOME);
FOLLOWS(LOOK_OBSERVER, LOOK_TS);
FOLLOWS(LOOK_REASON, LOOK_OBSERVER);
FOLLOWS(LOOK_TERMS, LOOK_REASON);
FOLLOWS(LOOK_MISSES, LOOK_TERMS);
LAST(LOOK, LOOK_MISSES);

FOLLOWS(MISS_REFUTED, MISS_CHECK);
FOLLOWS(MISS_REASON, MISS_REFUTED);
FOLLOWS(MISS_PLACE, MISS_REASON);
LAST(MISS, MISS_PLACE);

FOLLOWS(NOT_COUNTED_OUTCOME, NOT_COUNTED_NUMBER);
FOLLOWS(NOT_COUNTED_TS, NOT_COUNTED_OUTCOME);
FOLLOWS(NOT_COUNTED_OBSERVER, NOT_COUNTED_TS);
FOLLOWS(NOT_COUNTED_WHY, NOT_COUNTED_OBSERVER);
FOLLOWS(NOT_COUNTED_REASON, NOT_COUNTED_WHY);
LAST(NOT_COUNTED, NOT_COUNTED_REASON);

/* The words of layout.h's numbers, in their order (fold_layout.py, `CODES`). */
static const View ABSENT_REASONS[] = {
    VIEW("terms-missing"),   VIEW("check-fails"),   VIEW("check-undecided"),
    VIEW("check-not-bound"), VIEW("changed-since"), VIEW("path-missing"),
    VIEW("outside-locator"),
};
static const View HELD_REASONS[] = {
    VIEW("not-found"),         VIEW("differs"),    VIEW("ambiguous"), VIEW("computed"),  VIEW("incomparable"),    VIEW("syntax-error"),
    VIEW("unlisted-language"), VIEW("no-grammar"), VIEW("too-large"), VIEW("not-whole"), VIEW("other-substrate"), VIEW("unknown-check"),
    VIEW("path-missing"), VIEW("changed-since"), VIEW("denial"), VIEW("moved"), VIEW("assigned-elsewhere"), VIEW("outside-locator"),
    VIEW("not-committed"),
};
static const View UNCOUNTED[] = {
    VIEW("class-unknown"),       VIEW("absent"),          VIEW("terms-present"),       VIEW("unavailable"),
    VIEW("low-confidence"),      VIEW("judge-not-accepted"), VIEW("checks-required"),  VIEW("writable-by-emitter"),
    VIEW("owned-by-vendor"),     VIEW("contradicts-itself"), VIEW("check-not-bound"),  VIEW("verifies-nothing"),
    VIEW("too-old"),             VIEW("too-late"),        VIEW("not-newer"),           VIEW("not-declared"),
    VIEW("declarations-only"),   VIEW("outweighed"),      VIEW("repeated"),            VIEW("other-record"),
    VIEW("other-checks"),        VIEW("not-as-signed"),
};
#define LENGTH_OF(list) (sizeof(list) / sizeof *(list))
_Static_assert(LENGTH_OF(ABSENT_REASONS) == ABSENT_REASON_CODES && LENGTH_OF(HELD_REASONS) == HELD_REASON_CODES &&
                   LENGTH_OF(UNCOUNTED) == UNCOUNTED_CODES,
               "each word has its number");

enum { MOST_PLACES = 5, LONGEST_PATH = 200 };         /* as in mending.py */
enum { MOST_OF_LISTED = 5, MOST_OF_STRANGERS = 5 }; /* as in reviewing.py */

/* A word of a closed list, or none. */
static View word_of(View given, const View *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (same_view(given, words[i]))
            return words[i];
    return (View)VIEW("");
}

static View absent_reason(const Observation *one) { return word_of(one->reason, ABSENT_REASONS, LENGTH_OF(ABSENT_REASONS)); }

/* What was just written becomes bytes of the arena: DONE, or FAILED. */
static int taken(Folder *self, const Buffer *out, View *view)
{
    uint8_t *copy = out->failed ? NULL : arena_take(&self->arena, out->length);
    if (copy == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    memcpy(copy, out->data, out->length);
    *view = (View){copy, out->length};
    return DONE;
}

/* ---------------------------------------------------------------- looks */

/* `_misses`: the checks that an observation says do not hold; how many. */
static size_t misses_of(const AssertionState *assertion, const Observation *one, size_t misses[MOST_CHECKS])
{
    const int partly = one->outcome == OUTCOME_CORROBORATES;
    const size_t known = assertion->checks != NULL && assertion->checks->texts != NULL ? assertion->checks->count : 0;
    size_t count = 0;
    if ((partly && !one->has_verified) || !(one->where_count || one->refuted || partly))
        return 0;
    for (size_t check = 0; check < known && check < MOST_CHECKS; check++) {
        const Where *given = check < one->where_count ? &one->wheres[check] : NULL;
        int fails = given != NULL && given->is_told && !given->holds;
        if (partly ? !(one->verified >> check & 1) : (one->refuted >> check & 1) || fails)
            misses[count++] = check;
    }
    return count;
}

static void miss_pack(Buffer *out, const Observation *one, size_t check, int tells_place)
{
    static const Where NOWHERE = {.path = VIEW(""), .commit = VIEW(""), .reason = VIEW("")};
    const Where *given = check < one->where_count ? &one->wheres[check] : &NOWHERE;
    const Where *place = tells_place && code_points(given->path) <= LONGEST_PATH ? given : &NOWHERE;
    pack_array(out, MISS_FIELDS);
    pack_int(out, (int64_t)check);
    pack_bool(out, (int)(one->refuted >> check & 1));
    pack_text(out, word_of(given->reason, HELD_REASONS, LENGTH_OF(HELD_REASONS)));
    pack_array(out, PLACE_FIELDS);
    pack_text(out, place->path);
    pack_int(out, place->first);
    pack_int(out, place->last);
    pack_text(out, place->commit);
}

static void look_pack(Buffer *out, const Observation *one, const size_t *misses, size_t count)
{
    const int is_bound = one->identity_bound || one->number == PEERCRED; /* privacy.py */
    const size_t terms = is_bound ? 0 : one->term_count;
    pack_array(out, LOOK_FIELDS);
    pack_int(out, one->number);
    pack_int(out, one->outcome);
    pack_int(out, one->ts);
    pack_text(out, one->observer);
    pack_text(out, absent_reason(one));
    pack_array(out, terms);
    for (size_t i = 0; i < terms; i++)
        pack_text(out, one->terms[i]);
    pack_array(out, count);
    for (size_t i = 0; i < count; i++)
        miss_pack(out, one, misses[i], !is_bound && i < MOST_PLACES);
}

/* `standing.note_look`: the newest of each class. */
static int keep_look(Folder *self, Checking *checks, const Observation *one, const size_t *misses, size_t missed)
{
    Reader reader = {NULL, NULL};
    uint64_t count = 0;
    if (checks->looks.length) {
        reader = (Reader){checks->looks.at, checks->looks.at + checks->looks.length};
        if (!take_array(&reader, &count))
            return PYTHON;
    }
    const uint8_t *start = reader.at, *before = NULL, *behind = NULL; /* the class's own look, where there is one */
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = reader.at;
        int64_t number, outcome, ts;
        if (!take_array_of(&reader, LOOK_FIELDS) || !take_int(&reader, &number) || !take_int(&reader, &outcome) ||
            !take_int(&reader, &ts) || !pass_values(&reader, LOOK_FIELDS - LOOK_OBSERVER))
            return PYTHON;
        if (number != one->number || before != NULL)
            continue;
        if (one->ts < ts)
            return DONE;
        before = at;
        behind = reader.at;
    }
    Buffer *out = &self->more;
    out->length = 0;
    pack_array(out, count + (before == NULL));
    if (before == NULL)
        before = behind = reader.at;
    put(out, start, (size_t)(before - start));
    look_pack(out, one, misses, missed);
    put(out, behind, (size_t)(reader.at - behind));
    return taken(self, out, &checks->looks);
}

int folder_note_look(Folder *self, AssertionState *assertion, const Observation *one)
{
    const int effect = assertion->external ? 1 : 0;
    size_t misses[MOST_CHECKS];
    if (assertion->phase != PENDING || !(self->looks_kept >> effect & 1) || IS(assertion->kind, "refusal") ||
        (!(self->reviewed >> effect & 1) && assertion->attempt + 1 >= self->max_attempts))
        return DONE;
    size_t count = misses_of(assertion, one, misses);
    if (one->outcome == OUTCOME_CORROBORATES && !count)
        return DONE;
    Checking *checks = checking_of(assertion, &self->arena);
    if (checks == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    return keep_look(self, checks, one, misses, count);
}

/* ---------------------------------------------------------------- what did not count */

/* Where the observations lie that did not count: 1; 0 where nothing is kept for a reviewer; -1 Python has to look. */
static int uncounted_of(const AssertionState *assertion, View *list)
{
    View text;
    uint64_t count;
    Reader reader = {assertion->reviewers.at, assertion->reviewers.at + assertion->reviewers.length};
    *list = assertion->not_counted;
    if (assertion->has_material)
        return 1;
    if (!take_array(&reader, &count))
        return -1;
    if (!count || reader.at == reader.end || *reader.at != ARRAY_OF(MATERIAL_FIELDS))
        return 0;
    if (!take_array_of(&reader, MATERIAL_FIELDS) || !take_text(&reader, &text) || !take_text(&reader, &text) ||
        !pass_values(&reader, 1))
        return -1;
    list->at = reader.at;
    if (!pass_values(&reader, 1))
        return -1;
    list->length = (size_t)(reader.at - list->at);
    return 1;
}

static void uncounted_pack(Buffer *out, const Observation *one, int64_t why)
{
    pack_array(out, NOT_COUNTED_FIELDS);
    pack_int(out, one->number);
    pack_int(out, one->outcome);
    pack_int(out, one->ts);
    pack_text(out, one->observer);
    pack_text(out, UNCOUNTED[why]);
    pack_text(out, absent_reason(one));
}

int folder_note_uncounted(Folder *self, AssertionState *assertion, const Observation *one, int64_t why)
{
    View list;
    Reader reader = {NULL, NULL};
    uint64_t count = 0, alike = 0;
    if (assertion->phase != PENDING || why < 0 || why == UNCOUNTED_NOT_NEWER || why == UNCOUNTED_REPEATED ||
        (!assertion->has_material && !assertion->reviewers.length))
        return DONE;
    int there = uncounted_of(assertion, &list);
    if (there <= 0)
        return there < 0 ? PYTHON : DONE;
    if (list.length) {
        reader = (Reader){list.at, list.at + list.length};
        if (!take_array(&reader, &count))
            return PYTHON;
    }
    int listed = folder_lists(self, one->observer);
    if (listed < 0)
        return FAILED;
    const uint8_t *start = reader.at, *before = NULL, *behind = NULL; /* what this observer said of the class before */
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = reader.at;
        int64_t number, outcome, ts;
        View observer;
        if (!take_array_of(&reader, NOT_COUNTED_FIELDS) || !take_int(&reader, &number) || !take_int(&reader, &outcome) ||
            !take_int(&reader, &ts) || !take_text(&reader, &observer) ||
            !pass_values(&reader, NOT_COUNTED_FIELDS - NOT_COUNTED_WHY))
            return PYTHON;
        int other = folder_lists(self, observer);
        if (other < 0)
            return FAILED;
        alike += other == listed;
        if (number != one->number || !same_view(observer, one->observer) || before != NULL)
            continue;
        if (one->ts < ts)
            return DONE;
        before = at;
        behind = reader.at;
    }
    if (before == NULL && alike >= (listed ? MOST_OF_LISTED : MOST_OF_STRANGERS))
        return DONE;
    Buffer *out = &self->more;
    out->length = 0;
    if (!assertion->has_material)
        put(out, assertion->reviewers.at, (size_t)(list.at - assertion->reviewers.at));
    pack_array(out, count + (before == NULL));
    if (before == NULL)
        before = behind = reader.at;
    put(out, start, (size_t)(before - start));
    uncounted_pack(out, one, why);
    put(out, behind, (size_t)(reader.at - behind));
    if (assertion->has_material)
        return taken(self, out, &assertion->not_counted);
    const uint8_t *rest = list.at + list.length;
    put(out, rest, (size_t)(assertion->reviewers.at + assertion->reviewers.length - rest));
    return taken(self, out, &assertion->reviewers);
}

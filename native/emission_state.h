/* What streams/adjudication/emission_state.py keeps of one emission: read from where it lies packed, changed, and written back.
 *
 * An emission is never taken apart as a whole: what does not change is copied as it lies. Views point into the packed
 * bytes, the record or the arena, and hold only as long as these do. */
#ifndef SLUICE_EMISSION_STATE_H
#define SLUICE_EMISSION_STATE_H

#include "arena.h"
#include "bytes.h"
#include "layout.h"
#pragma GCC visibility push(hidden)

enum { CLASSES = CLASS_CODES, GIT_LOG = CLASS_SUBSTRATE_GIT_LOG, MCP_BRIEF = CLASS_SUBSTRATE_MCP_BRIEF };
enum { PEERCRED = CLASS_SUBSTRATE_UNIX_PEERCRED };
enum { PENDING = PHASE_PENDING, ADMITTED = PHASE_ADMITTED, REVIEW = PHASE_REVIEW, CLOSED = PHASE_CLOSED };
enum { ON_WATERMARK = CLOCK_WATERMARK, ON_TIME = CLOCK_TIME };

extern const View CLASS_NAMES[CLASSES];

/* How a packed array of fewer than 16 begins; and a packed emission with one attempt, up to that attempt's fields. */
#define ARRAY_OF(count) ((uint8_t)(0x90 | (count)))
_Static_assert(EMISSION_STATE_FIELDS < 16 && ATTEMPT_FIELDS < 16, "each begins with one byte");
static const uint8_t ONE_ATTEMPT[] = {ARRAY_OF(EMISSION_STATE_FIELDS), ARRAY_OF(1), ARRAY_OF(ATTEMPT_FIELDS)};
static const uint8_t NO_ATTEMPT[] = {ARRAY_OF(EMISSION_STATE_FIELDS), ARRAY_OF(0)};

enum { NO_COVERAGE = COVERAGE_NONE, PART = COVERAGE_PART, WHOLE = COVERAGE_WHOLE }; /* of a sentence, by its checks */
enum { NO_LOOK, A_LOOK, UNSEEN };
enum { MOST_CHECKS = 20 };            /* of one assertion */
enum { MOST_TERMS = 5 };              /* missing words of a look that are kept (mending.py) */
enum { MOST_ANNOTATIONS = 20 };       /* of one assertion, that a reviewer is told of (reviewing.py) */
enum { NO_CHECK = 0, AS_A_WHOLE = -1 }; /* what an observation verifies: a bit for each check, or all of it */

typedef struct {
    int64_t window[CLASSES], horizon, late_horizon, max_validity, min_observers[EFFECT_CODES], min_coverage[EFFECT_CODES];
    int counts_once;    /* each class once, whatever it looked at; else they are Python's */
    int has_k_by_check; /* a check may need another k than the assertion's, and it is kept what was looked at */
} Terms;

typedef struct {
    int64_t number, id, ts, confirmed;
    int has_ts;
    View locator; /* as it came, of a new assertion only */
} Declared;

typedef struct {
    int64_t number, latest, ts, id;
    View observer, attestation;
    int identity_bound, has_attestation;
} ClassEvidence;

/* Code points of an assertion, half open. */
typedef struct {
    int64_t start, end;
} Range;

typedef struct {
    Range *at;
    size_t count;
} Ranges;

/* What evidence looked at. */
typedef struct {
    View root, content;
} Looked;

/* What the observations of one class verified of an assertion's checks. */
typedef struct {
    int64_t number, named, coverage;
    int64_t *stamps; /* one for each check */
    Looked *looked;  /* the same; NULL: nothing is kept */
    Ranges unchecked;
} Verified;

/* Where a check was seen to hold. */
typedef struct {
    View path, commit;
    int64_t first, last;
    View check; /* which one that is, as an observation names it; empty where it does not */
    View reason; /* as an observation has it, why it does not hold; empty for none */
    int is_told, holds; /* whether an observation says anything of it, and that it holds */
} Where;

/* What is known of an assertion's checks, each seen to hold in one file. `count` is at least 1: what declares none is
 * counted as a whole. Checks that observers told, and what a proposer said, are Python's. */
typedef struct {
    View *texts; /* NULL: it declares none */
    int64_t *needs; /* k of each; NULL: the assertion's */
    size_t count, class_count, where_count;
    Verified classes[CLASSES];
    int words;
    View looks; /* what was seen instead of evidence, as it lies (looks.c); empty where nothing is kept */
    int64_t coverage; /* fixed when it is admitted by evidence; -1 before */
    Ranges unchecked;
    Where *wheres;
} Checking;

typedef struct {
    View emission_id; /* the first three are its emission's and attempt's */
    int64_t attempt, emitted_at;
    View fixed; /* the fields that never change, packed; empty in a new assertion */
    View witnesses; /* as they lie: where several observers are needed, Python counts them */
    View reviewers; /* as they lie: what a reviewer may need (reviewing.py), and who has admitted it */
    View before, after; /* of a new assertion: the text around it */
    int has_material; /* a new assertion that may be put up for review: what a reviewer may need is kept */
    View not_counted; /* of it, the observations that did not count, as they lie; empty for none */
    int64_t uncounted; /* why the observation that was looked at last does not count; -1 where it does */
    View checking;  /* as it lies, nil included; empty in a new assertion, and where it has changed */
    Checking *checks; /* the same, read; NULL: it counts its classes plainly */
    View span_key, kind, text, chain, emitter, traceparent, basis;
    int external, annotated, grounded, has_confidence, has_chain, has_emitter, has_traceparent;
    double confidence;
    int64_t k, terms_number, arrival, order;
    View *ids;
    Declared *declared;
    ClassEvidence seen[CLASSES];
    size_t id_count, id_room, declared_count, seen_count;
    int64_t phase, fresh, revision, admitted_at, valid_until, clock, due;
    int aged, touched, has_due, ascii; /* `ascii`: its text */
    int64_t start, end;                /* its span */
    int has_asked;                     /* why it waits for a reviewer, in the place of `basis` */
    int64_t asked_status, asked_reason;
    int64_t session; /* a reason that its session gives (session_reasons.py), for Python to decide by; -1 for none */
    int64_t look; /* NO_LOOK, A_LOOK, or UNSEEN: it waits beyond its horizon for a first look (verdicts.py, `wait_on`) */
} AssertionState;

/* What is remembered of a closed assertion; -1 for no reason, disposition, coverage and validity. */
typedef struct {
    View span_key;
    int64_t kind, external, status, reason, disposition, coverage, missing, valid_until;
    int64_t classes[CLASSES], checks[MOST_CHECKS];
    size_t class_count, check_count;
} Closed;

/* An observation as far as it can corroborate, or find an assertion's words. */
typedef struct {
    View emission_id, observation_id, observer, span_key, attestation;
    Looked looked;
    View file;   /* that was looked at: of each check for which it names no place (check_places.py) */
    View digest; /* the hex digits of the SHA-256 of what was looked at; empty where it does not say */
    Where *wheres; /* of each check, as far as that was told */
    size_t where_count;
    int64_t number, ts, attempt, start, end, coverage; /* `coverage`: -1 where none was told */
    double confidence;
    int64_t outcome; /* OUTCOME_ABSENT and the others, but for the negatives */
    View reason, terms[MOST_TERMS]; /* of `absent`, why; and the words that were not there */
    size_t term_count;
    int identity_bound, has_attestation, has_verified;
    int64_t verified, refuted; /* a bit for each place */
    Ranges unchecked;
} Observation;

/* An emission as it lies packed, with the places of what one attempt holds. */
typedef struct {
    View whole;
    uint64_t attempts, assertions, closed, waiting;
    int found; /* whether the attempt asked for is there; the rest is about it */
    int64_t number, emitted_at, order, clock, due;
    int has_due;
    View digest;
    const uint8_t *assertions_start, *assertions_end, *closed_start, *closed_end, *waiting_header, *waiting_start;
} EmissionState;

typedef struct {
    View record, span_key, slot, raw;
    int64_t attempt, order, clock, due;
    int negative, has_due;
} PendingEvidence;

/* The assertion that is looked for on the way, by its span or by its order, and where it was found. */
typedef struct {
    View span_key, emission_id, place;
    int64_t order; /* where `span_key` has no bytes */
    AssertionState *assertion;
    Arena *arena;
    int found;
} Sought;

/* Each gives 0 where the bytes are not as emission_state.py writes them. `sought` NULL: no assertion of the attempt is read. */
int known_read(EmissionState *self, View packed, int64_t attempt, Sought *sought);
int assertion_state_read(AssertionState *self, Reader *reader, Arena *arena, const EmissionState *known, View emission_id);
int waiting_read(PendingEvidence *self, Reader *reader);

/* What an item, named by its order, waits for: 1 found, 0 it is gone, -1 Python has to look. */
int known_timer(View packed, int64_t order, int64_t *clock, int *has_due, int64_t *due);

/* What is remembered of a closed assertion; `told` 0: of this one its span key only. 0 where Python has to look. */
int closed_read(Closed *self, Reader *reader, int *told);
void closed_pack(Buffer *out, const Closed *self);

/* Whether a span's assertion has been closed: 1, 0, or -1 where Python has to look. */
int known_closed(const EmissionState *self, View span_key);

void assertion_state_pack(Buffer *out, const AssertionState *self);
void waiting_pack(Buffer *out, const PendingEvidence *self); /* on the watermark */

/* An observation id as `short` has it, in the arena; 0 where memory was refused. And back. */
int short_id(View id, Arena *arena, View *kept);
void put_whole_id(Buffer *out, View kept);
int may_be_credentials(View kept); /* privacy.py */

/* Takes an annotation's claim in; `id` may be NULL. */
int assertion_declare(AssertionState *self, Arena *arena, int64_t number, const View *id, const int64_t *ts, View locator);

/* An assertion's checks, made where it has none yet; NULL where memory was refused. */
Checking *checking_of(AssertionState *self, Arena *arena);

/* Nobody will be asked for an assertion any more: what was seen instead of evidence goes. 0 where memory was refused. */
int drop_looks(AssertionState *self, Arena *arena);

/* The text around an assertion that is kept for a reviewer. 0 where more is kept than that: a locator, or an observation
 * that did not count. */
int text_around(const AssertionState *self, View *before, View *after);

/* The same of what a reviewer may have needed of its emission. */
void drop_material(AssertionState *self);

/* How many code points a UTF-8 text has. */
int64_t code_points(View text);

/* corroboration.py: takes a corroboration of so many checks in (1: it counts and is news; 0: not; -1: memory), and how
 * long what there is carries the assertion; -1 where a check falls short. */
int corroborate(AssertionState *self, const Terms *terms, const Observation *observation, int64_t places, Arena *arena);
int64_t validity(const AssertionState *self, const Terms *terms);
int64_t missing(const AssertionState *self); /* so many classes more the check that lacks the most would need */

/* standing.py: how much of its sentence the checks speak of, with what they leave open, or -1 where memory was refused;
 * the same, fixed; and how many classes verified a check by name. */
int64_t coverage_of(const AssertionState *self, Arena *arena, Ranges *unchecked);
int settle(AssertionState *self, Arena *arena);
int64_t classes_of_check(const AssertionState *self, size_t check);

/* How many classes a check needs. */
int64_t k_of_check(const AssertionState *self, size_t check);

/* Whether a class verified a check by name; only where it has checks. */
int verifies_check(const AssertionState *self, int64_t number, size_t check);
Where where_of(const Checking *self, size_t check);

/* Whether an observation saw one of these checks hold in another file than the check's own: that is Python's. */
int is_elsewhere(const AssertionState *self, const Observation *observation, int64_t places);

#pragma GCC visibility pop

#endif

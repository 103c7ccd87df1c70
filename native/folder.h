/* One block being folded: what holds for all of it, and the lane's tables.
 *
 * The fold's Python is the only definition of every rule (streams/adjudication/fold.py and what it imports). What is here does the
 * same for what is common, and before it has changed anything says so where it is not: the functions that take something
 * in give DONE, PYTHON (nothing has been changed; Python has to do it), or FAILED with an exception set. */
#ifndef SLUICE_FOLDER_H
#define SLUICE_FOLDER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "outputs.h"
#include "records.h"
#include "tuples.h"
#pragma GCC visibility push(hidden)

enum { FAILED = -1, PYTHON = 0, DONE = 1 };
enum { ON_ADMITTED, ON_INADMISSIBLE, ON_REVIEWS, ON_REEMISSIONS, TOPICS };
enum {
    DISCARD = DISPOSITION_DISCARD,
    TO_REVIEW = DISPOSITION_REVIEW,
    RE_EMIT = DISPOSITION_RE_EMIT,
    REFUSE = DISPOSITION_REFUSE
};
enum {
    BELOW_FLOOR = END_BELOW_FLOOR, /* how waiting for evidence ends */
    DECAYED = END_DECAYED_TO_UNCERTAINTY,
    UNVERIFIED = END_UNVERIFIED_INFERENCE,
    UNANNOTATED = END_UNANNOTATED,
    ENDS = END_CODES
};
enum { LATE, NOT_COUNTED, NEWER_VOCABULARY, DUPLICATE, UNMATCHED, STALLED, DISCARDED, UNREVIEWED, COUNTERS };
enum { STATUSES = 9 };

typedef struct {
    int64_t since, milliseconds;
} MaxValidity;

/* What was told of a check in a file, so that Python is asked once a block. */
enum { ABOUTS = 64 };
typedef struct {
    PyObject *text, *path, *about;
    View of_text, of_path; /* into these */
} About;

/* An emission about which something changed, and what is told of it where it has one assertion, made where the verdict
 * fell.
 *
 * As long as Python takes no part in the block, these are all that changed, and what is told holds until the emission is
 * kept anew (`folder_untell`). From then on `changed` has them, and here are only those that are told: as long as the
 * emission lies in the same bytes. */
typedef struct {
    size_t id, id_length; /* in `entries` */
    Py_hash_t hash;
    size_t next;       /* of the same chain: its place and one; 0: none */
    PyObject *emitter; /* held */
    PyObject *name, *bytes; /* with Python: a key of `changed`, borrowed; the emission, held */
    int is_told;
    int64_t attempt;
    size_t at, length; /* in `entries` */
} Mark;

enum { CHAINS = 4096 };

typedef struct {
    PyObject_HEAD
    PyObject *state, *packed, *open, *crowds, *held, *counters, *pending, *expiring, *outputs; /* the lane's own, and the block's */
    PyObject *headers, *effects, *observers, *renewed, *changed, *verdict_texts, *functions[FUNCTION_FIELDS];
    PyObject *texts[TEXT_FIELDS]; /* what the views below point into */
    View ledger, behind, frame, frame_type, no_text, meta, reviewing;
    int64_t time, latest, oldest, watermark, lane, lanes;
    int64_t k_internal, k_external, horizon, review_window, max_attempts, cap, terms_number;
    int64_t max_annotations, max_waiting, waiting_share;
    double min_confidence;
    int crc32, external_default, reject_internal, reject_external, shown_ids, refused_emitters, binds_sightings;
    int only_signed, accepts_checks, names_vendors;
    int verdicts; /* what is told on the topic: VERDICTS_NONE and the others */
    int lone_reviewer; /* one reviewer is enough, for either effect */
    int64_t reviewed;  /* effects of which something may be put up for review, a bit for each */
    PyObject *emitter; /* the last one of `changed`: most emissions of a block are of few */
    int with_python; /* whether Python takes part in the block, and may change any emission */
    PyObject *marked, *kept; /* a key that the last mark added to `changed`, borrowed; what was kept last */
    Mark *marks; /* in the order of the first change */
    size_t mark, mark_count, mark_room, mark_next; /* `mark`: the last one; `mark_next`: the first that is not published */
    uint32_t chains[CHAINS]; /* by their hashes: the first mark's place and one; 0: none */
    Buffer entries;
    int64_t looks_kept; /* effects of which it is kept what was seen instead of evidence, a bit for each */
    uint8_t disposition[ENDS][EFFECT_CODES];
    Terms *terms;
    MaxValidity *max_validities;
    Py_ssize_t terms_count, max_validity_count;
    PyObject *type_headers[TOPICS][STATUSES];
    /* the state's numbers while this folds, and what is to be added to its counters */
    int64_t order, live, asides, count[COUNTERS];
    int counted[COUNTERS];
    PyObject *room; /* bytes that outputs lie in, of which so many are taken */
    size_t taken;
    Arena arena;
    Buffer packing, head, more, checked;
    About abouts[ABOUTS];
} Folder;

/* An emission of which something is known, where it lies. */
typedef struct {
    PyObject *name, *bytes; /* both held; `bytes` NULL where nothing is known */
    View id;
} Place;

/* folding.c */
int folder_observation(Folder *self, View record, View key);
int folder_emission(Folder *self, View record, View key, PyObject *headers); /* `headers` NULL: there are none */
int folder_look(Folder *self, View id, Place *place); /* packs it where it lies open */
int folder_look_at(Folder *self, Place *place); /* the same, of the place's `name` and `id` */
void place_leave(Place *place);
int folder_keep(Folder *self, const Place *place); /* what `packing` holds becomes what is known */
int folder_forget(Folder *self, const Place *place); /* nothing is known any more */
int folder_admit(Folder *self, AssertionState *assertion, int64_t until);
int folder_renew(Folder *self, PyObject *renewed); /* DONE also where the assertion is no longer admitted */
int folder_is_pythons(const Folder *self, const AssertionState *assertion); /* several observers, rules on checks, what a session shows, or unknown terms */
PyObject *folder_about(Folder *self, View check, View path); /* what is told of a check; unknown: None */
void about_leave(About *self);
int folder_has_unknown(Folder *self, const AssertionState *assertion);
int folder_covers_enough(Folder *self, const AssertionState *assertion);
void folder_count(Folder *self, int counter, int64_t by);
int folder_hold(Folder *self, View slot, int64_t more); /* `Table.hold`: 0 with an exception */
int64_t waiting_cost(const PendingEvidence *one);
int folder_lists(const Folder *self, View observer); /* whether the policy has an entry: 1, 0, or -1 with an exception */

/* looks.c: what is kept of an assertion that is pending. DONE, also where nothing is; PYTHON, FAILED. `why` -1: it counts. */
int folder_note_look(Folder *self, AssertionState *assertion, const Observation *one);
int folder_note_uncounted(Folder *self, AssertionState *assertion, const Observation *one, int64_t why);

/* timers.c */
int queue_push(PyObject *heap, int64_t due, int64_t order, View name);
int64_t folder_fire(Folder *self, int64_t most, int64_t mark); /* how many; -1 with an exception */

/* verdicts.c */
int verdicts_begin(void); /* before anything else; 0 with an exception */
int folder_mark(Folder *self, PyObject *name, int has_emitter, View emitter); /* something about an emission changed */
int folder_closed(Folder *self, const AssertionState *assertion, int64_t status, int64_t reason, int64_t disposition, Closed *closed); /* what is remembered of it */
int folder_tell(Folder *self, const Place *place, int64_t attempt, const Closed *one); /* of one that was marked and kept, and has no other assertion */
void folder_untell(Folder *self, PyObject *name); /* an emission is kept anew, or forgotten */
int folder_share(Folder *self); /* before Python takes part: 0 with an exception */
void marks_leave(Folder *self);
int folder_publish(Folder *self, PyObject *other); /* those that are Python's go to a callable; 0 with an exception */
const char *word_of_reason(int64_t reason); /* NULL: none */

/* streams_module.c: room for what an output consists of, NULL with an exception; and the output that lies there, behind all
 * others: its key, its id, its value, and a traceparent, -1 where it has none. */
uint8_t *folder_room(Folder *self, size_t length);
int folder_put(Folder *self, PyObject *topic, PyObject *type, size_t key, size_t id, size_t value, Py_ssize_t traceparent);

/* decision.c */
int decision_begin(void); /* before anything else; 0 with an exception */
int can_speak(const Folder *self, AssertionState *assertion);
int say_admitted(Folder *self, const AssertionState *assertion, const char *status, const char *reason, int text);
int say_inadmissible(Folder *self, const AssertionState *assertion, const char *status, const char *reason, int disposition);
int say_expired(Folder *self, const AssertionState *assertion); /* a request for a review, whose window is over */

#pragma GCC visibility pop

#endif

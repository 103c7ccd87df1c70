/* streams/adjudication/decision_json.py and outputs.py: a decision's record, member by member.
 *
 * Nothing but a text with something to sanitise, a number, and what a check says is asked of Python; these callables
 * are pure. */
#include "folder.h"
#include "hashes.h"
#include "hexadecimal.h"
#include "in_place.h"
#include "json.h"
#include "members.h"
#include "times.h"

static const char *const TOPIC_NAMES[TOPICS] = {"admitted", "inadmissible", "review-requests", "re-emission-requests"};
static const char *const STATUS_NAMES[STATUSES] = {"admitted",    "decayed-to-uncertainty", "below-floor",
                                                   "unannotated", "unverified-inference",   "renewed",
                                                   "expired",     NULL};
static const char *const DISPOSITIONS[] = {"discard", "review", "re-emit", "refuse"};

static void put_text(Buffer *out, const char *text) { put(out, text, strlen(text)); }

static int in_reach(int64_t milliseconds) { return milliseconds <= LATEST; }

int can_speak(const Folder *self, AssertionState *assertion)
{
    if (folder_is_pythons(self, assertion))
        return 0;
    const uint8_t *at = assertion->span_key.at, *end = at + assertion->span_key.length;
    int64_t offsets[2] = {0, 0};
    if (assertion->span_key.length < 5 || memcmp(at, "c:", 2) != 0)
        return 0;
    at += 2;
    for (int i = 0; i < 2; i++) {
        const uint8_t *start = at;
        while (at < end && *at >= '0' && *at <= '9' && at - start < 10)
            offsets[i] = offsets[i] * 10 + (*at++ - '0');
        if (at == start || (i == 0 && (at == end || *at++ != '-')))
            return 0;
    }
    assertion->start = offsets[0];
    assertion->end = offsets[1];
    if (at != end || assertion->emitted_at < 0 || !in_reach(assertion->emitted_at) || !in_reach(assertion->admitted_at) ||
        !in_reach(assertion->valid_until))
        return 0;
    for (size_t i = 0; i < assertion->seen_count; i++)
        if (!in_reach(assertion->seen[i].ts))
            return 0;
    assertion->ascii = 1;
    for (size_t i = 0; i < assertion->text.length; i++)
        if (assertion->text.at[i] >= 0x80)
            assertion->ascii = 0;
    return 1;
}

/* What counts, by the names of its classes: by their numbers, since the names are numbered in their order. */
static size_t counted_of(const AssertionState *assertion, const ClassEvidence *counted[CLASSES])
{
    size_t count = 0;
    for (int64_t number = 0; number < CLASSES; number++)
        for (size_t i = 0; i < assertion->seen_count; i++)
            if (assertion->seen[i].number == number && assertion->seen[i].ts >= 0 && count < CLASSES)
                counted[count++] = &assertion->seen[i];
    return count;
}

static int put_python(Buffer *out, PyObject *bytes) /* takes it over */
{
    if (bytes == NULL || !PyBytes_CheckExact(bytes)) {
        Py_XDECREF(bytes);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "JSON is a byte string");
        return 0;
    }
    put_view(out, view_of_bytes(bytes));
    Py_DECREF(bytes);
    return 1;
}

/* An observation id as it may be shown; nothing where it may not. Whether Python could say so. */
static int put_shown(const Folder *self, Buffer *out, View kept, int identity_bound)
{
    size_t start = out->length;
    if (self->shown_ids == SHOWN_IDS_CLEAR) {
        if (!identity_bound && !may_be_credentials(kept))
            put_whole_id(out, kept);
        return 1;
    }
    put_whole_id(out, kept);
    if (out->failed)
        return 1;
    PyObject *id = PyUnicode_DecodeUTF8((char *)out->data + start, (Py_ssize_t)(out->length - start), NULL);
    PyObject *shown = id == NULL ? NULL : PyObject_CallFunctionObjArgs(
        self->functions[FUNCTION_SHOWN_ID], id, identity_bound ? Py_True : Py_False, NULL);
    Py_XDECREF(id);
    out->length = start;
    return put_python(out, shown);
}

/* An observation id, by its place among the assertion's, as a member with a comma before it; nothing where there is
 * none, or none may be shown. Whether Python could say so. */
static int put_id(const Folder *self, Buffer *out, const AssertionState *assertion, int64_t id, int identity_bound)
{
    if (self->shown_ids == SHOWN_IDS_OMITTED || id < 0)
        return 1;
    size_t without = out->length;
    PUT(out, ",\"observation_id\":\"");
    size_t start = out->length;
    if (!put_shown(self, out, assertion->ids[id], identity_bound))
        return 0;
    if (out->length == start)
        out->length = without;
    else
        put_byte(out, '"');
    return 1;
}

static int put_who(const Folder *self, Buffer *out, const AssertionState *assertion, const ClassEvidence *seen)
{
    PUT(out, "\"observer\":\"");
    put_view(out, seen->observer);
    put_byte(out, '"');
    return put_id(self, out, assertion, seen->id, seen->identity_bound);
}

/* Whether an ASCII text has neither a control character, line feed and tab apart, nor a bracket. */
static int is_said(View text)
{
    for (size_t i = 0; i < text.length; i++)
        if ((text.at[i] < ' ' && text.at[i] != '\n' && text.at[i] != '\t') || text.at[i] == 0x7f || text.at[i] == '[')
            return 0;
    return 1;
}

static int is_letter(uint8_t character)
{
    return (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
}

/* Whether some line may begin with a role and a colon (sanitise/_chat.py); Python says whether one does. */
static int may_be_role(View text)
{
    size_t i = 0;
    while (i < text.length) {
        for (; i < text.length && text.at[i] && text.at[i] != '\n'; i++) {
            if (strchr(" \t>#*_~+|\"'`({-.)0123456789", text.at[i]) != NULL)
                continue;
            if (!is_letter(text.at[i]) || i + 1 == text.length || (text.at[i + 1] != '.' && text.at[i + 1] != ')'))
                break;
        }
        const int role = i < text.length && text.at[i] && strchr("sdauhtSDAUHT", text.at[i]) != NULL;
        for (; i < text.length && text.at[i] != '\n'; i++)
            if (role && text.at[i] == ':')
                return 1;
        i++;
    }
    return 0;
}

/* Whether a URI may begin somewhere (sanitise/_uri.py, `may_hold_uri`); Python says whether one does. The letters are
 * the last ones of the schemes that need no authority. */
static int may_hold_uri(View text)
{
    for (size_t i = 1; i + 1 < text.length; i++)
        if (text.at[i] == ':' && ((text.at[i + 1] == '/' && i + 2 < text.length && text.at[i + 2] == '/') ||
                                  (is_letter(text.at[i - 1]) && strchr("tbmea", text.at[i - 1] | 0x20) != NULL &&
                                   text.at[i + 1] != ' ')))
            return 1;
    return 0;
}

/* Whether sanitation leaves an ASCII text as it is (sanitise/_steps.py, `clean`), its cap apart. */
static int stays(View text)
{
    const uint8_t *at = text.at;
    for (size_t i = 0; i < text.length; i++)
        if (at[i] == '<' || (at[i] == '(' && i && at[i - 1] == ']'))
            return 0;
    return is_said(text) && !may_be_role(text) && !may_hold_uri(text);
}

/* Whether there is a text only, and sanitation leaves it as it is. */
static int is_clean(const Folder *self, const AssertionState *assertion, View prose, const ClassEvidence **counted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counted[i]->has_attestation)
            return 0;
    return !assertion->has_chain && assertion->ascii && (int64_t)prose.length <= self->cap && stays(prose);
}

static PyObject *text_of(View text) { return PyUnicode_DecodeUTF8((const char *)text.at, (Py_ssize_t)text.length, NULL); }

static PyObject *bytes_of(View bytes)
{
    return PyBytes_FromStringAndSize((const char *)bytes.at, (Py_ssize_t)bytes.length);
}

/* What a record says of an assertion's checks (checked_json.py, `Shown`). Without any (`count`) only `prose` is there. */
typedef struct {
    size_t count;
    int64_t classes[MOST_CHECKS], coverage;
    Ranges unchecked;
    View texts[MOST_CHECKS];
    PyObject *about[MOST_CHECKS]; /* held */
    View prose;
} ShownChecks;

typedef struct {
    const char *type, *status, *reason, *basis; /* `basis` NULL: none; "": the assertion's */
    int disposition, text;                      /* -1: none */
    char id[32];
    char claim[2 * SHA256_BYTES]; /* of what is asserted; of a text that is not ASCII Python says it */
    ShownChecks *shown_checks;
    PyObject *framed; /* held */
    size_t checks_start, checks_end; /* of the member `checks` in the head */
} Decision;

/* ---------------------------------------------------------------- what is said of checks (checked_json.py) */

static View part_of(PyObject *parts, int part) { return view_of_bytes(field_of(parts, part)); }

static int are_bytes(PyObject *parts, int count)
{
    int fine = is_tuple_of(parts, count);
    for (int i = 0; fine && i < count; i++)
        fine = PyBytes_CheckExact(field_of(parts, i));
    return fine;
}

void about_leave(About *self)
{
    Py_CLEAR(self->text);
    Py_CLEAR(self->path);
    Py_CLEAR(self->about);
}

/* A place among those that are kept. Who makes two checks meet there has Python asked again, which remembers them. */
static size_t place_of(View check, View path)
{
    uint64_t mixed = check.length * 31 + path.length, eight = 0;
    for (size_t i = 0; i + 8 <= check.length; i += 8) {
        memcpy(&eight, check.at + i, 8);
        mixed = (mixed ^ eight) * UINT64_C(0x9e3779b97f4a7c15);
    }
    if (check.length >= 8) {
        memcpy(&eight, check.at + check.length - 8, 8);
        mixed = (mixed ^ eight) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (size_t)(mixed >> 32) % ABOUTS;
}

/* `pieces_of`, asked of Python; NULL with an exception. */
static PyObject *pieces_of(const Folder *self, PyObject *text, PyObject *path)
{
    PyObject *asked = PyUnicode_GET_LENGTH(path) ? path : Py_None;
    PyObject *found = PyObject_CallFunctionObjArgs(self->functions[FUNCTION_PIECES_OF], text, asked, NULL);
    if (found != NULL && found != Py_None && !are_bytes(found, PIECES_FIELDS)) {
        PyErr_SetString(PyExc_TypeError, "what is known of a check is byte strings");
        Py_CLEAR(found);
    }
    return found;
}

PyObject *folder_about(Folder *self, View check, View path)
{
    About *kept = &self->abouts[place_of(check, path)], anew = {NULL};
    if (kept->about != NULL && same_view(kept->of_text, check) && same_view(kept->of_path, path))
        return Py_NewRef(kept->about);
    anew.text = text_of(check);
    anew.path = text_of(path);
    if (anew.text != NULL && anew.path != NULL && utf8_of(anew.text, &anew.of_text) &&
        utf8_of(anew.path, &anew.of_path))
        anew.about = pieces_of(self, anew.text, anew.path);
    if (anew.about == NULL) {
        about_leave(&anew);
        return NULL;
    }
    about_leave(kept);
    *kept = anew;
    return Py_NewRef(anew.about);
}

/* The text with `[unchecked]` in place of each span (`without`); NULL where memory was refused. */
static View without(View text, Ranges spans, Arena *arena)
{
    static const char mark[] = "[unchecked]";
    const size_t length = sizeof mark - 1;
    const uint8_t *at = text.at, *end = at + text.length;
    uint8_t *prose = arena_take(arena, text.length + (spans.count + 1) * sizeof mark), *out = prose;
    int64_t place = 0;
    if (prose == NULL)
        return (View){NULL, 0};
    if (!spans.count) { /* nobody knows which part is not checked */
        memcpy(out, mark, length);
        return (View){prose, length};
    }
    for (size_t i = 0; i < spans.count; i++) {
        for (; at < end && place < spans.at[i].start; place++)
            do
                *out++ = *at++;
            while (at < end && (*at & 0xc0) == 0x80);
        memcpy(out, mark, length);
        out += length;
        for (; at < end && place < spans.at[i].end; place++)
            do
                at++;
            while (at < end && (*at & 0xc0) == 0x80);
        if (at < end && (*at == '(' || *at == '[' || *at == ':'))
            *out++ = ' '; /* else they would make a link of it */
    }
    memcpy(out, at, (size_t)(end - at));
    return (View){prose, (size_t)(out - prose) + (size_t)(end - at)};
}

/* Of no check; what is beyond their number holds nothing. */
static void shown_checks_begin(ShownChecks *shown_checks, const AssertionState *assertion)
{
    shown_checks->count = 0;
    shown_checks->prose = assertion->text;
}

static int is_spoken_for(const AssertionState *assertion, const Decision *decision)
{
    return decision->basis != NULL &&
           (IS(assertion->basis, "review") || IS(assertion->basis, "declaration") || IS(assertion->basis, "emitter"));
}

/* `shown`: what a record of this status says of the checks; whether Python could say it. */
static int shown_checks_of(Folder *self, const AssertionState *assertion, Decision *decision)
{
    ShownChecks *shown_checks = decision->shown_checks;
    const Checking *checks = assertion->checks;
    int64_t any = 0;
    if (checks == NULL || is_spoken_for(assertion, decision))
        return 1;
    for (size_t i = 0; i < checks->count; i++)
        any |= shown_checks->classes[i] = classes_of_check(assertion, i);
    if (!any || checks->texts == NULL)
        return 1;
    shown_checks->coverage = coverage_of(assertion, &self->arena, &shown_checks->unchecked);
    for (size_t i = 0; i < checks->count; i++) {
        shown_checks->texts[i] = checks->texts[i];
        shown_checks->count = i + 1;
        shown_checks->about[i] = folder_about(self, shown_checks->texts[i], where_of(checks, i).path);
        if (shown_checks->about[i] == NULL)
            return 0;
    }
    if (shown_checks->coverage <= PART &&
        (strcmp(decision->status, "admitted") == 0 || strcmp(decision->status, "renewed") == 0))
        shown_checks->prose = without(assertion->text, shown_checks->unchecked, &self->arena);
    if (shown_checks->coverage < 0 || shown_checks->prose.at == NULL)
        PyErr_NoMemory();
    return shown_checks->coverage >= 0 && shown_checks->prose.at != NULL;
}

static void decision_leave(Decision *self)
{
    for (size_t i = 0; i < self->shown_checks->count; i++)
        Py_XDECREF(self->shown_checks->about[i]);
    Py_XDECREF(self->framed);
}

/* Outside the frame: enumerated values and numbers. */
static void put_outside(Buffer *out, Decision *decision)
{
    static const char *const levels[] = {"none", "part", "whole"};
    const ShownChecks *shown_checks = decision->shown_checks;
    decision->checks_start = decision->checks_end = out->length;
    if (!shown_checks->count)
        return;
    PUT(out, "\"coverage\":\"");
    put_text(out, levels[shown_checks->coverage]);
    PUT(out, "\",\"unchecked\":[");
    for (size_t i = 0; i < shown_checks->unchecked.count; i++) {
        put_text(out, i ? ",[" : "[");
        put_decimal(out, shown_checks->unchecked.at[i].start);
        put_byte(out, ',');
        put_decimal(out, shown_checks->unchecked.at[i].end);
        put_byte(out, ']');
    }
    PUT(out, "],");
    if (shown_checks->coverage == WHOLE)
        PUT(out, "\"coverage_by\":\"form\",");
    decision->checks_start = out->length;
    PUT(out, "\"checks\":[");
    for (size_t i = 0; i < shown_checks->count; i++) {
        int known = shown_checks->about[i] != Py_None;
        put_text(out, i ? ",{\"name\":\"" : "{\"name\":\"");
        known ? put_view(out, part_of(shown_checks->about[i], PIECES_NAME)) : PUT(out, "unknown");
        PUT(out, "\",\"classes\":");
        put_decimal(out, known ? shown_checks->classes[i] : 0);
        put_byte(out, '}');
    }
    PUT(out, "],");
    decision->checks_end = out->length;
}

/* Whether a commit is one as git names it: it stands shortened in a sentence. */
static int is_hash(View commit)
{
    int fine = commit.length >= 7 && commit.length <= 64;
    for (size_t i = 0; fine && i < commit.length; i++)
        fine = (commit.at[i] >= '0' && commit.at[i] <= '9') || (commit.at[i] >= 'a' && commit.at[i] <= 'f');
    return fine;
}

/* One check as it was seen to hold: its sentence, and its canonical form. */
static void put_sentence(Buffer *out, PyObject *about, Where where)
{
    View base = part_of(about, PIECES_SENTENCE), asked = part_of(about, PIECES_COMMIT);
    int commit = where.commit.length && !(asked.length && asked.length <= where.commit.length &&
                                          memcmp(asked.at, where.commit.at, asked.length) == 0);
    put_byte(out, '"');
    if (!where.first && !commit) { /* ` (` or `, ` behind it stands there for what comes next */
        put(out, base.at, base.length - 2);
        put_text(out, base.at[base.length - 1] == '(' ? ".\"" : ").\"");
        return;
    }
    put_view(out, base);
    if (where.first) {
        put_text(out, where.first == where.last ? "line " : "lines ");
        put_decimal(out, where.first);
    }
    if (where.first != where.last) {
        PUT(out, " to ");
        put_decimal(out, where.last);
    }
    if (commit) {
        put_text(out, where.first ? ", commit " : "commit ");
        put(out, where.commit.at, 7);
    }
    PUT(out, ").\"");
}

static void put_canonical(Buffer *out, PyObject *about, Where where)
{
    put_view(out, part_of(about, PIECES_CHECKED));
    if (where.first) {
        PUT(out, ",\"lines\":[");
        put_decimal(out, where.first);
        put_byte(out, ',');
        put_decimal(out, where.last);
        put_byte(out, ']');
    }
    if (where.commit.length) {
        PUT(out, ",\"commit\":\"");
        put_view(out, where.commit);
        put_byte(out, '"');
    }
    put_byte(out, '}');
}

/* A commit is an observation id: it is told only where these leave in clear. */
static Where where_shown(const Folder *self, const AssertionState *assertion, size_t check)
{
    Where where = where_of(assertion->checks, check);
    if (self->shown_ids != SHOWN_IDS_CLEAR)
        where.commit.length = 0;
    return where;
}

/* Inside the frame, where sanitation leaves all of it as it is; 0 where Python has to look. */
static int put_checks(Folder *self, const AssertionState *assertion, const ShownChecks *shown_checks)
{
    Buffer *out = &self->checked;
    out->length = 0;
    if (!shown_checks->count)
        return 1;
    for (size_t i = 0; i < shown_checks->count; i++) {
        View commit = where_shown(self, assertion, i).commit;
        if (shown_checks->classes[i] && shown_checks->about[i] != Py_None &&
            (!part_of(shown_checks->about[i], PIECES_SENTENCE).length || (commit.length && !is_hash(commit))))
            return 0;
    }
    for (int part = 0; part < 2; part++) {
        size_t put = 0;
        put_text(out, part ? "],\"checked\":[" : "\"rendered\":[");
        for (size_t i = 0; i < shown_checks->count; i++) {
            if (!shown_checks->classes[i] || shown_checks->about[i] == Py_None)
                continue;
            if (put++)
                put_byte(out, ',');
            Where where = where_shown(self, assertion, i);
            part ? put_canonical(out, shown_checks->about[i], where) : put_sentence(out, shown_checks->about[i], where);
        }
    }
    PUT(out, "],");
    return 1;
}

/* For Python, the same: `(check, (path, first, last, commit))` of each that was verified; None where nothing is
 * said. */
static PyObject *checks_of(const Folder *self, const AssertionState *assertion, const ShownChecks *shown_checks)
{
    PyObject *list = shown_checks->count ? PyList_New(0) : Py_NewRef(Py_None);
    for (size_t i = 0; list != NULL && i < shown_checks->count; i++) {
        if (!shown_checks->classes[i] || shown_checks->about[i] == Py_None)
            continue;
        Where where = where_shown(self, assertion, i);
        PyObject *place[PLACE_FIELDS] = {
            [PLACE_PATH] = text_of(where.path),
            [PLACE_FIRST] = PyLong_FromLongLong(where.first),
            [PLACE_LAST] = PyLong_FromLongLong(where.last),
            [PLACE_COMMIT] = text_of(where.commit),
        };
        PyObject *held[HELD_CHECK_FIELDS] = {
            [HELD_CHECK_CHECK] = text_of(shown_checks->texts[i]),
            [HELD_CHECK_PLACE] = tuple_of(place, PLACE_FIELDS),
        };
        PyObject *one = tuple_of(held, HELD_CHECK_FIELDS);
        if (one == NULL || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* What strangers wrote, sanitised: that many byte strings of JSON. */
static PyObject *framed(const Folder *self, const AssertionState *assertion, const ClassEvidence **counted, size_t count, const ShownChecks *shown_checks)
{
    PyObject *text = text_of(shown_checks->prose), *seen = PyList_New(0), *checks = checks_of(self, assertion, shown_checks), *found = NULL;
    PyObject *chain = assertion->has_chain ? bytes_of(assertion->chain) : Py_NewRef(Py_None);
    int fine = text != NULL && seen != NULL && chain != NULL && checks != NULL;
    for (size_t i = 0; fine && i < count; i++) {
        PyObject *one = counted[i]->has_attestation ? bytes_of(counted[i]->attestation) : NULL;
        fine = counted[i]->has_attestation ? one != NULL && PyList_Append(seen, one) == 0 : 1;
        Py_XDECREF(one);
    }
    if (fine)
        found = PyObject_CallFunctionObjArgs(self->functions[FUNCTION_FRAMED], text, assertion->external ? Py_True : Py_False, chain,
                                             seen, checks, NULL);
    Py_XDECREF(text);
    Py_XDECREF(seen);
    Py_XDECREF(chain);
    Py_XDECREF(checks);
    if (found != NULL && !are_bytes(found, FRAMED_FIELDS)) {
        PyErr_SetString(PyExc_TypeError, "what is framed is byte strings");
        Py_CLEAR(found);
    }
    return found;
}

/* ---------------------------------------------------------------- members */
/* The id that a decision is known by, and its claim's hash; `out`, which is written over, fails where memory does. */
static void hash_decision(Buffer *out, const AssertionState *assertion, Decision *decision)
{
    uint8_t of_name[SHA256_BYTES], of_claim[SHA256_BYTES];
    out->length = 0;
    put_view(out, assertion->emission_id);
    put_byte(out, 0x1f);
    put_decimal(out, assertion->attempt);
    put_byte(out, 0x1f);
    put_view(out, assertion->span_key);
    put_byte(out, 0x1f);
    put_text(out, decision->status);
    put_byte(out, 0x1f);
    put_decimal(out, assertion->revision);
    size_t length = out->length;
    if (assertion->ascii) {
        PUT(out, "{\"assertion\":");
        put_json(out, assertion->text);
        PUT(out, ",\"kind\":\"");
        put_view(out, assertion->kind);
        PUT(out, "\"}");
    }
    if (!out->failed) {
        const View name = {out->data, length}, claim = {out->data + length, out->length - length};
        sha256_of_both(name, claim, of_name, of_claim);
        hex_of(of_name, sizeof decision->id / 2, decision->id);
        hex_of(of_claim, sizeof of_claim, decision->claim);
    }
    out->length = 0;
}

static int put_hash(const Folder *self, Buffer *out, const AssertionState *assertion, const Decision *decision)
{
    PUT(out, "\"canonical_hash\":\"");
    if (assertion->ascii) {
        PUT(out, "sha256:");
        put(out, decision->claim, sizeof decision->claim);
    } else {
        PyObject *text = text_of(assertion->text), *kind = text_of(assertion->kind), *hash = NULL;
        if (text != NULL && kind != NULL)
            hash = PyObject_CallFunctionObjArgs(self->functions[FUNCTION_CLAIM_HASH], text, kind, NULL);
        Py_XDECREF(text);
        Py_XDECREF(kind);
        if (!put_python(out, hash))
            return 0;
    }
    PUT(out, "\",");
    return 1;
}

static int put_frame(const Folder *self, Buffer *out, const AssertionState *assertion, const ClassEvidence **counted, size_t count,
                      const ShownChecks *shown_checks, PyObject *parts)
{
    put_view(out, self->frame);
    parts != NULL ? put_view(out, part_of(parts, FRAMED_TEXT)) : put_json(out, shown_checks->prose);
    put_byte(out, ',');
    put_view(out, self->frame_type);
    PUT(out, ",\"attestations\":");
    parts != NULL ? put_view(out, part_of(parts, FRAMED_ATTESTATIONS)) : PUT(out, "[]");
    put_byte(out, ',');
    if (parts != NULL)
        put_view(out, part_of(parts, FRAMED_CHECKS));
    else if (shown_checks->count)
        put_view(out, (View){self->checked.data, self->checked.length});
    PUT(out, "\"chain\":[");
    if (parts != NULL)
        put_view(out, part_of(parts, FRAMED_STEPS));
    for (size_t i = 0; i < count; i++) {
        PUT(out, "{\"step\":\"retrieval\",\"source\":\"");
        put_view(out, CLASS_NAMES[counted[i]->number]);
        PUT(out, "\",\"timestamp\":\"");
        put_time(out, counted[i]->ts);
        PUT(out, "\",\"metadata\":{");
        if (!put_who(self, out, assertion, counted[i]))
            return 0;
        PUT(out, "}},");
    }
    PUT(out, "{\"step\":\"agent-handoff\",\"agent_name\":\"");
    assertion->has_emitter ? put_view(out, assertion->emitter) : PUT(out, "sluice");
    PUT(out, "\"}]},");
    return 1;
}

static void put_identity(Buffer *out, const AssertionState *assertion, const Decision *decision)
{
    PUT(out, "\",\"@version\":\"1.0\",\"id\":\"");
    put(out, decision->id, sizeof decision->id);
    PUT(out, "\",\"emission_id\":\"");
    put_view(out, assertion->emission_id);
    PUT(out, "\",\"attempt\":");
    put_decimal(out, assertion->attempt);
    PUT(out, ",\"span\":{\"chars\":[");
    put_decimal(out, assertion->start);
    put_byte(out, ',');
    put_decimal(out, assertion->end);
    PUT(out, "]},\"kind\":\"");
    put_view(out, assertion->kind);
    PUT(out, "\",\"status\":\"");
    put_text(out, decision->status);
    PUT(out, "\",");
}

static void put_verdict(Buffer *out, const AssertionState *assertion, const Decision *decision)
{
    if (decision->basis != NULL) {
        PUT(out, "\"basis\":\"");
        put_view(out, assertion->basis);
        PUT(out, "\",");
    }
    if (decision->reason != NULL) {
        PUT(out, "\"reason\":\"");
        put_text(out, decision->reason);
        PUT(out, "\",");
    }
    if (decision->disposition >= 0) {
        PUT(out, "\"disposition\":\"");
        put_text(out, DISPOSITIONS[decision->disposition]);
        PUT(out, "\",");
    }
    PUT(out, "\"revision\":");
    put_decimal(out, assertion->revision);
    PUT(out, ",\"effect\":\"");
    put_text(out, assertion->external ? "external" : "internal");
    PUT(out, "\",\"k\":");
    put_decimal(out, assertion->k);
}

static int put_evidence(const Folder *self, Buffer *out, const AssertionState *assertion, const ClassEvidence **counted, size_t count)
{
    PUT(out, ",\"classes\":[");
    for (size_t i = 0; i < count; i++) {
        put_text(out, i ? ",\"" : "\"");
        put_view(out, CLASS_NAMES[counted[i]->number]);
        put_byte(out, '"');
    }
    PUT(out, "],\"evidence\":[");
    for (size_t i = 0; i < count; i++) {
        put_text(out, i ? ",{\"substrate_class\":\"" : "{\"substrate_class\":\"");
        put_view(out, CLASS_NAMES[counted[i]->number]);
        PUT(out, "\",\"observed_at\":\"");
        put_time(out, counted[i]->ts);
        PUT(out, "\",");
        if (!put_who(self, out, assertion, counted[i]))
            return 0;
        put_byte(out, '}');
    }
    PUT(out, "],");
    return 1;
}

/* What a chain's retrievals may have been matched to: the ids of what counts, the files where checks were seen to hold. */
static PyObject *names_of_seen(const AssertionState *assertion, const ClassEvidence **counted, size_t count)
{
    PyObject *names = PyList_New(0);
    Buffer name = {0};
    int fine = names != NULL;
    for (size_t i = 0; fine && i < count; i++)
        if (counted[i]->id >= 0) {
            name.length = 0;
            put_whole_id(&name, assertion->ids[counted[i]->id]);
            PyObject *one = name.failed ? PyErr_NoMemory() : bytes_of((View){name.data, name.length});
            fine = one != NULL && PyList_Append(names, one) == 0;
            Py_XDECREF(one);
        }
    for (size_t i = 0; fine && assertion->checks != NULL && i < assertion->checks->where_count; i++) {
        PyObject *one = bytes_of(assertion->checks->wheres[i].path);
        fine = one != NULL && PyList_Append(names, one) == 0;
        Py_XDECREF(one);
    }
    buffer_free(&name);
    if (!fine)
        Py_CLEAR(names);
    return names;
}

/* How far it was matched that it is grounded, and the union of the chain's data categories. */
static int put_data(const Folder *self, Buffer *out, const AssertionState *assertion, const ClassEvidence **counted,
                    size_t count)
{
    if (!assertion->has_chain) {
        if (assertion->grounded)
            PUT(out, "\"grounding\":\"claimed\",");
        put_text(out, assertion->grounded ? "\"data\":[\"grounded\"]," : "\"data\":[],");
        return 1;
    }
    PyObject *chain = bytes_of(assertion->chain), *names = names_of_seen(assertion, counted, count), *data = NULL;
    if (chain != NULL && names != NULL)
        data = PyObject_CallFunctionObjArgs(self->functions[FUNCTION_DATA_OF], chain,
                                            assertion->grounded ? Py_True : Py_False, names, NULL);
    Py_XDECREF(chain);
    Py_XDECREF(names);
    if (!put_python(out, data))
        return 0;
    put_byte(out, ',');
    return 1;
}

/* What a record says up to the index, in `head`; whether it could be written. */
static int put_head(Folder *self, const AssertionState *assertion, Decision *decision)
{
    Buffer *out = &self->head;
    const ClassEvidence *counted[CLASSES];
    size_t count = counted_of(assertion, counted);
    hash_decision(out, assertion, decision);
    PUT(out, "{\"@type\":\"sluice:");
    put_text(out, decision->type);
    put_identity(out, assertion, decision);
    put_verdict(out, assertion, decision);
    if (!shown_checks_of(self, assertion, decision) || !put_evidence(self, out, assertion, counted, count))
        return 0;
    put_outside(out, decision);
    put_text(out, assertion->grounded ? "\"grounded\":true," : "\"grounded\":false,");
    if (!put_data(self, out, assertion, counted, count))
        return 0;
    if (assertion->has_confidence) {
        PyObject *number = PyFloat_FromDouble(assertion->confidence);
        PyObject *json = number == NULL ? NULL : PyObject_CallOneArg(self->functions[FUNCTION_NUMBER_JSON], number);
        Py_XDECREF(number);
        PUT(out, "\"confidence\":");
        if (!put_python(out, json))
            return 0;
        put_byte(out, ',');
    }
    PUT(out, "\"emitted_at\":\"");
    put_time(out, assertion->emitted_at);
    PUT(out, "\",");
    if (!decision->text) {
        put_view(out, self->no_text);
    } else {
        const ShownChecks *shown_checks = decision->shown_checks;
        if (!(is_clean(self, assertion, shown_checks->prose, counted, count) && put_checks(self, assertion, shown_checks)) &&
            (decision->framed = framed(self, assertion, counted, count, shown_checks)) == NULL)
            return 0;
        if (!put_frame(self, out, assertion, counted, count, shown_checks, decision->framed))
            return 0;
    }
    if (!put_hash(self, out, assertion, decision))
        return 0;
    put_view(out, self->ledger);
    if (out->failed)
        PyErr_NoMemory();
    return !out->failed;
}

/* ---------------------------------------------------------------- outputs */

static PyObject *topic_names[TOPICS]; /* of every output: made once */

int decision_begin(void)
{
    for (int topic = 0; topic < TOPICS; topic++)
        if (!is_interned(&topic_names[topic], TOPIC_NAMES[topic]))
            return 0;
    return 1;
}

static PyObject *type_header(Folder *self, int topic, const char *status)
{
    int place = 0;
    while (STATUS_NAMES[place] != NULL && strcmp(STATUS_NAMES[place], status) != 0)
        place++;
    PyObject **held = &self->type_headers[topic][place];
    if (*held == NULL) {
        PyObject *header[HEADER_FIELDS] = {
            [HEADER_NAME] = PyUnicode_FromString("ce_type"),
            [HEADER_VALUE] = PyBytes_FromFormat("sluice.%s.%s", TOPIC_NAMES[topic], status),
        };
        *held = tuple_of(header, HEADER_FIELDS);
    }
    return Py_XNewRef(*held);
}

/* The record with its place among the block's outputs, `more` behind it, and the last brace. */
static int put_output(Folder *self, const AssertionState *assertion, int topic, const Decision *decision)
{
    Buffer *head = &self->head;
    size_t length = head->length;
    put_decimal(head, PyList_GET_SIZE(self->outputs));
    put_view(head, self->behind);
    put_view(head, decision->framed == NULL ? self->meta : part_of(decision->framed, FRAMED_META));
    put_view(head, (View){self->more.data, self->more.length});
    put_byte(head, '}');
    if (head->failed || self->more.failed) {
        PyErr_NoMemory();
        return 0;
    }
    const View id = assertion->emission_id, span = assertion->span_key, value = {head->data, head->length},
               name = {(const uint8_t *)TOPIC_NAMES[topic], strlen(TOPIC_NAMES[topic])},
               traceparent = assertion->has_traceparent ? assertion->traceparent : (View){NULL, 0};
    const size_t of_key = id.length + 1 + span.length, of_id = name.length + 1 + sizeof decision->id;
    PyObject *type = type_header(self, topic, decision->status);
    uint8_t *at = type == NULL ? NULL : folder_room(self, of_key + of_id + value.length + traceparent.length);
    int done = FAILED;
    if (at != NULL) {
        at = lay_view(at, id);
        *at++ = '#';
        at = lay_view(at, span);
        at = lay_view(at, name);
        *at++ = '/';
        at = lay_view(at, (View){(const uint8_t *)decision->id, sizeof decision->id});
        at = lay_view(at, value);
        if (traceparent.length)
            lay_view(at, traceparent);
        done = folder_put(self, topic_names[topic], type, of_key, of_id, value.length,
                          assertion->has_traceparent ? (Py_ssize_t)traceparent.length : -1);
    }
    Py_XDECREF(type);
    head->length = length;
    return done == DONE;
}

int say_admitted(Folder *self, const AssertionState *assertion, const char *status, const char *reason, int text)
{
    ShownChecks shown_checks;
    shown_checks_begin(&shown_checks, assertion);
    Decision decision = {"AdmittedAssertion", status, reason, "", -1, text, "", "", &shown_checks, NULL, 0, 0};
    Buffer *more = &self->more;
    more->length = 0;
    if (assertion->admitted_at >= 0) {
        PUT(more, ",\"admitted_at\":\"");
        put_time(more, assertion->admitted_at);
        put_byte(more, '"');
    }
    if (assertion->valid_until >= 0) {
        PUT(more, ",\"valid_until\":\"");
        put_time(more, assertion->valid_until);
        put_byte(more, '"');
    }
    int fine = put_head(self, assertion, &decision) && put_output(self, assertion, ON_ADMITTED, &decision);
    decision_leave(&decision);
    return fine ? DONE : FAILED;
}

static void put_missing(Buffer *more, const AssertionState *assertion)
{
    int first = 1;
    more->length = 0;
    PUT(more, ",\"missing_floor\":");
    put_decimal(more, missing(assertion));
    PUT(more, ",\"classes_seen\":[");
    for (int64_t number = 0; number < CLASSES; number++)
        for (size_t i = 0; i < assertion->seen_count; i++)
            if (assertion->seen[i].number == number && (assertion->seen[i].latest >= 0 || assertion->seen[i].ts >= 0)) {
                put_text(more, first ? "\"" : ",\"");
                put_view(more, CLASS_NAMES[number]);
                put_byte(more, '"');
                first = 0;
            }
    put_byte(more, ']');
}

/* ---------------------------------------------------------------- requests for a review (reviewing.py) */

enum { MOST_AROUND = 800, LONGEST_ASKED = 500 }; /* bytes that a text around it, and a check, keep in a request */
static const char CHECKED_BEGIN[] = "{\"check\":"; /* of PIECES_CHECKED, before the check as JSON */

/* What is asked of a reviewer where nothing of it needs to be sanitised. */
typedef struct {
    View before, after;
    size_t count;
    PyObject *about[MOST_CHECKS]; /* held */
} Request;

static void request_leave(Request *self)
{
    for (size_t i = 0; i < self->count; i++)
        Py_XDECREF(self->about[i]);
}

static int is_ascii(View text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.at[i] >= 0x80)
            return 0;
    return 1;
}

/* A check as JSON, in its canonical form. */
static View asked_of(PyObject *about)
{
    View checked = part_of(about, PIECES_CHECKED);
    const size_t begin = sizeof CHECKED_BEGIN - 1;
    return (View){checked.at + begin, checked.length - begin};
}

/* The checks that are asked for: DONE; PYTHON where one is unknown, or sanitation would change it. */
static int request_checks(Folder *self, const AssertionState *assertion, Request *request)
{
    const Checking *checks = assertion->checks;
    View *texts = checks == NULL ? NULL : checks->texts;
    size_t count = texts == NULL ? 0 : checks->count;
    for (size_t i = 0; i < count; i++) {
        PyObject *about = folder_about(self, texts[i], (View){(const uint8_t *)"", 0});
        if (about == NULL)
            return FAILED;
        request->about[request->count++] = about;
        if (about == Py_None || !part_of(about, PIECES_SENTENCE).length || asked_of(about).length > LONGEST_ASKED)
            return PYTHON;
    }
    return DONE;
}

/* Whether the core writes a request: DONE, or PYTHON. */
static int request_read(Folder *self, const AssertionState *assertion, Request *request)
{
    if ((assertion->checks != NULL && assertion->checks->looks.length) ||
        !text_around(assertion, &request->before, &request->after) || request->before.length > MOST_AROUND ||
        request->after.length > MOST_AROUND || !is_ascii(request->before) || !is_ascii(request->after) ||
        !stays(request->before) || !stays(request->after) ||
        !in_reach(self->time + self->review_window))
        return PYTHON;
    for (size_t i = 0; i < assertion->declared_count; i++)
        if (assertion->declared[i].has_ts && (assertion->declared[i].ts < 0 || !in_reach(assertion->declared[i].ts)))
            return PYTHON;
    return request_checks(self, assertion, request);
}

static void put_asked_checks(Buffer *out, const AssertionState *assertion, const Request *request)
{
    PUT(out, "\"checks\":[");
    for (size_t i = 0; i < request->count; i++) {
        int first = 1;
        put_text(out, i ? ",{\"name\":\"" : "{\"name\":\"");
        put_view(out, part_of(request->about[i], PIECES_NAME));
        PUT(out, "\",\"classes\":");
        put_decimal(out, assertion->checks == NULL ? 0 : classes_of_check(assertion, i));
        PUT(out, ",\"number\":");
        put_decimal(out, (int64_t)i);
        PUT(out, ",\"k\":");
        put_decimal(out, k_of_check(assertion, i));
        PUT(out, ",\"verified\":[");
        for (int64_t number = 0; assertion->checks != NULL && number < CLASSES; number++) {
            if (!verifies_check(assertion, number, i))
                continue;
            put_text(out, first ? "\"" : ",\"");
            put_view(out, CLASS_NAMES[number]);
            put_byte(out, '"');
            first = 0;
        }
        PUT(out, "],\"refuted\":[]}");
    }
    PUT(out, "],");
}

/* Whether a declared id may be one that is bound to an identity (`_may_bind_identity`). */
static int may_bind_identity(const AssertionState *assertion, const Declared *declared)
{
    int is_bound = 1;
    for (size_t i = 0; i < assertion->seen_count; i++) {
        const ClassEvidence *seen = &assertion->seen[i];
        if (seen->ts >= 0 && seen->id == declared->id && !seen->identity_bound)
            is_bound = 0;
    }
    return is_bound || declared->number == PEERCRED;
}

static int put_annotations(const Folder *self, Buffer *out, const AssertionState *assertion)
{
    const size_t told = assertion->declared_count < MOST_ANNOTATIONS ? assertion->declared_count : MOST_ANNOTATIONS;
    PUT(out, ",\"annotations\":[");
    for (size_t i = 0; i < told; i++) {
        const Declared *one = &assertion->declared[i];
        put_text(out, i ? ",{\"number\":" : "{\"number\":");
        put_decimal(out, (int64_t)i);
        PUT(out, ",\"substrate_class\":\"");
        put_view(out, CLASS_NAMES[one->number]);
        put_byte(out, '"');
        if (!put_id(self, out, assertion, one->id, may_bind_identity(assertion, one)))
            return 0;
        if (one->has_ts) {
            PUT(out, ",\"ts\":\"");
            put_time(out, one->ts);
            put_byte(out, '"');
        }
        put_byte(out, '}');
    }
    put_byte(out, ']');
    if (assertion->declared_count > told) {
        PUT(out, ",\"annotations_left_out\":");
        put_decimal(out, (int64_t)(assertion->declared_count - told));
    }
    return 1;
}

/* What stands behind the record, with a comma before each member; whether Python could say what may be shown. */
static int put_asked(Folder *self, Buffer *out, const AssertionState *assertion, const Request *request)
{
    PUT(out, ",\"deadline\":\"");
    put_time(out, self->time + self->review_window);
    put_byte(out, '"');
    if (!put_annotations(self, out, assertion))
        return 0;
    PUT(out, ",\"looks\":[],\"not_counted\":[],");
    put_view(out, self->reviewing);
    put_json(out, request->before);
    PUT(out, ",\"after\":");
    put_json(out, request->after);
    PUT(out, ",\"asked\":[");
    for (size_t i = 0; i < request->count; i++) {
        put_text(out, i ? ",{\"number\":" : "{\"number\":");
        put_decimal(out, (int64_t)i);
        PUT(out, ",\"check\":");
        put_view(out, asked_of(request->about[i]));
        PUT(out, ",\"seen\":[]}");
    }
    PUT(out, "],\"claimed\":[],\"missing_terms\":[]},\"_meta\":");
    put_view(out, self->meta);
    put_byte(out, '}');
    return 1;
}

/* The member `checks` and the members behind the record as Python has them; NULL with an exception. */
static PyObject *members_of_request(Folder *self, const AssertionState *assertion)
{
    Buffer *out = &self->packing;
    out->length = 0;
    assertion_state_pack(out, assertion);
    if (out->failed)
        return PyErr_NoMemory();
    PyObject *members = PyObject_CallFunction(self->functions[FUNCTION_REQUEST_OF], "y#y#LL", (const char *)out->data,
                                              (Py_ssize_t)out->length, (const char *)assertion->emission_id.at,
                                              (Py_ssize_t)assertion->emission_id.length, (long long)assertion->attempt,
                                              (long long)assertion->emitted_at);
    if (members != NULL && !demand_tuple_of(members, REQUEST_MEMBERS_FIELDS))
        Py_CLEAR(members);
    if (members != NULL && !are_bytes(members, REQUEST_MEMBERS_FIELDS)) {
        PyErr_SetString(PyExc_TypeError, "the members of a request are byte strings");
        Py_CLEAR(members);
    }
    return members;
}

/* What a request for a review says beside the record: another member `checks` in the head, and `more`, which begins with
 * what is missing. Python says it where something has to be sanitised, or observations are told of. */
static int put_request(Folder *self, const AssertionState *assertion, const Decision *decision)
{
    Buffer *head = &self->head, *rest = &self->packing;
    Request request = {.count = 0};
    int done = request_read(self, assertion, &request);
    PyObject *members = done == PYTHON ? members_of_request(self, assertion) : NULL;
    int fine = done == DONE || members != NULL;
    if (fine) {
        rest->length = 0; /* what stands behind the member that is to go */
        put(rest, head->data + decision->checks_end, head->length - decision->checks_end);
        head->length = decision->checks_start;
        if (members != NULL) {
            put_view(head, part_of(members, REQUEST_MEMBERS_CHECKS));
            self->more.length = 0;
            put_view(&self->more, part_of(members, REQUEST_MEMBERS_MORE));
        } else {
            put_asked_checks(head, assertion, &request);
            fine = put_asked(self, &self->more, assertion, &request);
        }
        put_view(head, (View){rest->data, rest->length});
        if (rest->failed) {
            PyErr_NoMemory();
            fine = 0;
        }
    }
    Py_XDECREF(members);
    request_leave(&request);
    return fine;
}

int say_inadmissible(Folder *self, const AssertionState *assertion, const char *status, const char *reason, int disposition)
{
    ShownChecks shown_checks;
    shown_checks_begin(&shown_checks, assertion);
    Decision decision = {"InadmissibleAssertion", status, reason, NULL, disposition, 1, "", "", &shown_checks, NULL, 0, 0};
    self->more.length = 0;
    int fine = put_head(self, assertion, &decision) && put_output(self, assertion, ON_INADMISSIBLE, &decision);
    if (fine && (disposition == TO_REVIEW || disposition == RE_EMIT)) {
        put_missing(&self->more, assertion);
        fine = disposition != TO_REVIEW || put_request(self, assertion, &decision);
        fine = fine && put_output(self, assertion, disposition == TO_REVIEW ? ON_REVIEWS : ON_REEMISSIONS, &decision);
    }
    decision_leave(&decision);
    return fine ? DONE : FAILED;
}

int say_expired(Folder *self, const AssertionState *assertion)
{
    ShownChecks shown_checks;
    shown_checks_begin(&shown_checks, assertion);
    const char *reason = assertion->has_asked ? word_of_reason(assertion->asked_reason) : NULL;
    Decision decision = {"EndedReviewRequest", "expired", reason, NULL, TO_REVIEW, 0, "", "", &shown_checks, NULL, 0, 0};
    Buffer *more = &self->more;
    put_missing(more, assertion);
    PUT(more, ",\"ended_at\":\"");
    put_time(more, self->time);
    put_byte(more, '"');
    int fine = put_head(self, assertion, &decision) && put_output(self, assertion, ON_REVIEWS, &decision);
    decision_leave(&decision);
    return fine ? DONE : FAILED;
}

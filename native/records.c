/* Reads the inputs' JSON in one pass. What is taken here is a subset of what codecs/decode.py takes, read alike: a
 * member of an unknown name is passed, and one that is unusual (null, twice there, of another form) is Python's. */
#include <Python.h>

#include "hashes.h"
#include "hexadecimal.h"
#include "json.h"
#include "records.h"
#include "sse.h"
#include "times.h"

static const uint8_t *names_of(void)
{
    static uint8_t table[256];
    if (!table['a']) {
        for (const char *at = "ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz0123456789._~:/+=@-"; *at; at++)
            table[(uint8_t)*at] = 1;
        table['a'] = 1; /* last: whoever sees it sees the others */
    }
    return table;
}

#ifdef __SSE2__
/* Whether sixteen bytes are all of the same table: `-./0-9:`, `A-Z`, `a-z`, as they mostly are, and five alone.
 * A percent sign is left to Python, which says what may be encoded. */
static int are_of_names(const uint8_t *at)
{
    const __m128i some = _mm_loadu_si128((const __m128i *)at);
    const __m128i lower = _mm_or_si128(some, _mm_set1_epi8(0x20)); /* of no other byte does this make a letter */
    __m128i found = _mm_or_si128(bytes_between(some, '-', ':'), bytes_between(lower, 'a', 'z'));
    if (_mm_movemask_epi8(found) == 0xffff)
        return 1;
    for (const char *alone = "@_~+="; *alone; alone++)
        found = _mm_or_si128(found, _mm_cmpeq_epi8(some, _mm_set1_epi8(*alone)));
    return _mm_movemask_epi8(found) == 0xffff;
}
#endif

static int is_identifier(View name)
{
    const uint8_t *table = names_of();
    if (name.length < 1 || name.length > LONGEST_NAME)
        return 0;
    size_t i = 0;
#ifdef __SSE2__
    for (; name.length - i >= 16; i += 16)
        if (!are_of_names(name.at + i))
            return 0;
#endif
    uint8_t plain = 1;
    for (; i < name.length; i++)
        plain &= table[name.at[i]];
    return plain;
}

static int identifier(Json *json, View *name)
{
    int ascii;
    return json_text(json, name, &ascii) && is_identifier(*name);
}

static int instant(Json *json, int64_t *milliseconds)
{
    View text;
    int ascii;
    if (json->at < json->end && *json->at == '"')
        return json_text(json, &text, &ascii) && time_of(text, milliseconds);
    return json_whole(json, milliseconds) && *milliseconds <= LATEST;
}

static int effect(Json *json, int *external)
{
    View text;
    int ascii;
    if (!json_text(json, &text, &ascii))
        return 0;
    *external = IS(text, "external");
    return *external || IS(text, "internal");
}

/* A substrate-class of version 1.0, bare or anchored; no terminal. */
static int substrate_class(Json *json, int64_t *number)
{
    View text;
    int ascii;
    if (!json_text(json, &text, &ascii))
        return 0;
    if (text.length > 4 && memcmp(text.at, "1.0.", 4) == 0)
        text = (View){text.at + 4, text.length - 4};
    for (*number = 0; *number < CLASSES; ++*number)
        if (same_view(text, CLASS_NAMES[*number]))
            return 1;
    return 0;
}

static int confidence(Json *json, double *value)
{
    View number;
    char text[JSON_NUMBER + 1] = {0};
    if (!json_number(json, &number) || number.at[0] == '-')
        return 0;
    memcpy(text, number.at, number.length);
    *value = PyOS_string_to_double(text, NULL, NULL);
    return *value >= 0 && *value <= 1; /* of plain digits: there is no error to be had */
}

static int attempt(Json *json, int64_t *number) { return json_whole(json, number) && *number <= LAST_ATTEMPT; }

static int begins(Json *json, char bracket)
{
    json_space(json);
    return json_is(json, bracket);
}

/* Whether null stands here, which is as if the member did not; passes it. */
static int absent(Json *json)
{
    if (json->end - json->at < 4 || memcmp(json->at, "null", 4) != 0)
        return 0;
    json->at += 4;
    return 1;
}

/* A member's bit, once. */
static int once(unsigned *seen, unsigned bit)
{
    if (*seen & 1u << bit)
        return 0;
    *seen |= 1u << bit;
    return 1;
}

/* Character offsets, in order and not empty. */
static int span_read(Json *json, int64_t *start, int64_t *end)
{
    static const Name names[] = {NAME("chars"), NAME("tokens"), NAME("tokenizer"), NAME("path")};
    int found, first = 1, inner = 1;
    unsigned seen = 0, next = 0, member;
    if (!begins(json, '{'))
        return 0;
    while ((found = JSON_NAMED(json, &first, names, &next, &member)) > 0) {
        if (member == 4) {
            if (!json_pass(json, JSON_DEPTH / 2))
                return 0;
            continue;
        }
        if (member != 0 || !once(&seen, 0) || !begins(json, '[') || json_element(json, &inner) != 1 ||
            !json_whole(json, start) || json_element(json, &inner) != 1 || !json_whole(json, end) ||
            json_element(json, &inner) != 0)
            return 0;
    }
    return found == 0 && seen && *start < *end && *end <= LAST_OFFSET;
}

static int span_key(int64_t start, int64_t end, Arena *arena, View *key)
{
    char *text = arena_take(arena, 3 + 2 * DECIMAL_DIGITS);
    if (text == NULL)
        return 0;
    size_t length = 2;
    memcpy(text, "c:", length);
    length += decimal_of(start, text + length);
    text[length++] = '-';
    length += decimal_of(end, text + length);
    *key = (View){(uint8_t *)text, length};
    return 1;
}

/* ---------------------------------------------------------------- emissions */

/* An object, as its bytes. */
static int object_read(Json *json, View *raw)
{
    const uint8_t *start = json->at;
    if (!json_pass_object(json))
        return 0;
    *raw = (View){start, (size_t)(json->at - start)};
    return 1;
}

static int annotation_read(Emission *self, AssertionState *assertion, Json *json)
{
    static const Name names[] = {NAME("substrate_class"), NAME("observation_id"), NAME("ts"), NAME("locator"),
                                 NAME("terminal"), NAME("unknown"), NAME("computed")};
    int found, first = 1, flag, computed = 0, fine = 1;
    unsigned seen = 0, absences = 0, next = 0, member;
    int64_t number, ts;
    View id, locator = {NULL, 0};
    if (++self->annotations > MOST_DECLARED || !begins(json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(json, &first, names, &next, &member)) > 0) {
        if (member < 7 && !once(&seen, member))
            return 0;
        if (member >= 1 && member <= 3 && absent(json)) {
            absences |= 1u << member;
            continue;
        }
        fine = member == 0   ? substrate_class(json, &number)
               : member == 1 ? identifier(json, &id)
               : member == 2 ? instant(json, &ts)
               : member == 3 ? object_read(json, &locator)
               : member == 4 ? json_bool(json, &flag)
               : member == 5 ? json_bool(json, &flag) && !flag
               : member == 6 ? json_bool(json, &computed)
                             : json_pass(json, JSON_DEPTH / 2);
    }
    if (!fine || found || !(seen & 1))
        return 0;
    seen &= ~absences;
    if (seen & 4 && ts > self->latest)
        self->latest = ts;
    return assertion_declare(assertion, json->arena, number, seen & 2 && !computed ? &id : NULL, seen & 4 ? &ts : NULL, locator);
}

static int provenance_read(Emission *self, AssertionState *assertion, Json *json)
{
    int found, first = 1;
    assertion->annotated = 1;
    if (json->at < json->end && *json->at == '{')
        return annotation_read(self, assertion, json);
    if (!begins(json, '['))
        return 0;
    while ((found = json_element(json, &first)) > 0)
        if (!annotation_read(self, assertion, json))
            return 0;
    assertion->annotated = assertion->declared_count > 0;
    return found == 0;
}

static int kind_read(AssertionState *assertion, Json *json)
{
    int ascii;
    return json_text(json, &assertion->kind, &ascii) && (IS(assertion->kind, "assertion") || IS(assertion->kind, "denial"));
}

/* One value of a kind, as its bytes. */
static int raw_read(Json *json, char bracket, View *raw)
{
    const uint8_t *start = json->at;
    if (start >= json->end || *start != (uint8_t)bracket || !json_pass(json, JSON_DEPTH / 2))
        return 0;
    *raw = (View){start, (size_t)(json->at - start)};
    return 1;
}

enum { CHECK_LENGTH = 2000 };

/* A text of at most so many characters. */
static int text_up_to(Json *json, int64_t most, View *text)
{
    int ascii;
    return json_text(json, text, &ascii) && (text->length <= (size_t)most || code_points(*text) <= most);
}

/* The checks that an assertion declares; an empty list is as none. */
static int checks_read(AssertionState *assertion, Json *json)
{
    View texts[MOST_CHECKS];
    size_t count = 0;
    int found, first = 1;
    if (!begins(json, '['))
        return 0;
    while ((found = json_element(json, &first)) > 0)
        if (count == MOST_CHECKS || !text_up_to(json, CHECK_LENGTH, &texts[count++]))
            return 0;
    if (found || !count)
        return found == 0;
    Checking *checks = checking_of(assertion, json->arena);
    if (checks == NULL || (checks->texts = arena_take(json->arena, count * sizeof *texts)) == NULL ||
        (checks->wheres = arena_take(json->arena, count * sizeof *checks->wheres)) == NULL)
        return 0;
    memcpy(checks->texts, texts, count * sizeof *texts);
    checks->count = count;
    return 1;
}

static int assertion_read(Emission *self, AssertionState *assertion, Json *json, View *said)
{
    static const Name names[] = {NAME("span"), NAME("span_key"), NAME("assertion"), NAME("kind"), NAME("provenance"),
                                 NAME("effect"), NAME("grounded"), NAME("chain"), NAME("confidence"), NAME("cites"),
                                 NAME("checks"), NAME("proposal"), NAME("session")};
    int found, first = 1, flag, fine = 1;
    unsigned seen = 0, next = 0, member;
    if (!begins(json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(json, &first, names, &next, &member)) > 0) {
        if (member < 13 && !once(&seen, member))
            return 0;
        if (member != 0 && member != 3 && member < 13 && absent(json))
            continue;
        fine = member == 0   ? span_read(json, &assertion->start, &assertion->end)
               : member == 1 ? json_pass_text(json) /* it is made anew */
               : member == 2 ? json_text(json, said, &flag)
               : member == 3 ? kind_read(assertion, json)
               : member == 4 ? provenance_read(self, assertion, json)
               : member == 5 ? effect(json, &assertion->external)
               : member == 6 ? json_bool(json, &assertion->grounded)
               : member == 7 ? (assertion->has_chain = raw_read(json, '[', &assertion->chain))
               : member == 8 ? (assertion->has_confidence = confidence(json, &assertion->confidence))
               : member == 10 ? checks_read(assertion, json)
               : member > 12  ? json_pass(json, JSON_DEPTH / 2)
                              : 0; /* citations, proposals and what a session shows are Python's */
    }
    return fine && found == 0 && seen & 1;
}

static int more_assertions(Emission *self, Arena *arena)
{
    size_t count = self->count;
    if (count >= MOST_ASSERTIONS)
        return 0;
    if (count == 0 || (count >= 4 && (count & (count - 1)) == 0)) {
        AssertionState *assertions = arena_take(arena, (count ? 2 * count : 4) * sizeof *assertions);
        if (assertions == NULL)
            return 0;
        if (count)
            memcpy(assertions, self->assertions, count * sizeof *assertions);
        self->assertions = assertions;
    }
    self->assertions[count] = (AssertionState){.kind = {(const uint8_t *)"assertion", 9},
                                .basis = {(const uint8_t *)"corroboration", 13},
                                .external = -1,
                                .admitted_at = -1,
                                .valid_until = -1,
                                .session = -1};
    self->count++;
    return 1;
}

/* `said`: what each assertion gives as its text; NULL where it gives none. */
static int assertions_read(Emission *self, Json *json, View *said)
{
    int found, first = 1;
    if (!begins(json, '['))
        return 0;
    while ((found = json_element(json, &first)) > 0) {
        if (!more_assertions(self, json->arena))
            return 0;
        said[self->count - 1].at = NULL;
        if (!assertion_read(self, &self->assertions[self->count - 1], json, &said[self->count - 1]))
            return 0;
    }
    return found == 0 && self->count;
}

static int emitter_read(Emission *self, Json *json)
{
    static const Name names[] = {NAME("system"), NAME("model"), NAME("prompt")};
    int found, first = 1, fine = 1;
    unsigned seen = 0, absences = 0, next = 0, member;
    if (!begins(json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(json, &first, names, &next, &member)) > 0) {
        if (member < 3 && !once(&seen, member))
            return 0;
        if (member < 3 && absent(json)) {
            absences |= 1u << member;
            continue;
        }
        fine = member == 0   ? identifier(json, &self->system)
               : member == 1 ? identifier(json, &self->model)
               : member == 2 ? identifier(json, &self->prompt)
                             : json_pass(json, JSON_DEPTH / 2);
    }
    self->has_system = seen & ~absences & 1;
    return fine && found == 0;
}

/* The bytes of a span of code points; 0 where the text has fewer. */
static int slice(View text, int64_t start, int64_t end, View *part, int *ascii)
{
    const uint8_t *at = text.at, *last = text.at + text.length, *from = NULL;
    *ascii = 1;
    for (int64_t place = 0; place < end; place++) {
        if (at >= last)
            return 0;
        if (place == start)
            from = at;
        if (*at >= 0x80 && place >= start)
            *ascii = 0;
        at += utf8_character(at, last); /* the text has been looked at: never 0 */
    }
    *part = (View){from, (size_t)(at - from)};
    return 1;
}

enum { AROUND = 200 }; /* characters on either side, as in reviewing.py */

/* The text around an assertion, as far as a reviewer may need it. */
static void look_around(View text, AssertionState *assertion)
{
    const uint8_t *start = assertion->text.at, *end = start + assertion->text.length, *at = start;
    for (int i = 0; i < AROUND && at > text.at; i++)
        do
            at--;
        while (at > text.at && (*at & 0xc0) == 0x80);
    assertion->before = (View){at, (size_t)(start - at)};
    const uint8_t *last = text.at + text.length;
    at = end;
    for (int i = 0; i < AROUND && at < last; i++)
        do
            at++;
        while (at < last && (*at & 0xc0) == 0x80);
    assertion->after = (View){end, (size_t)(at - end)};
}

/* The text and key of every assertion's span, no two of them alike. */
static int place_assertions(Emission *self, Arena *arena, const View *said)
{
    for (size_t i = 0; i < self->count; i++) {
        AssertionState *assertion = &self->assertions[i];
        assertion->ascii = 1;
        if (self->ascii) {
            if ((uint64_t)assertion->end > self->text.length)
                return 0;
            assertion->text = (View){self->text.at + assertion->start, (size_t)(assertion->end - assertion->start)};
        } else if (!slice(self->text, assertion->start, assertion->end, &assertion->text, &assertion->ascii)) {
            return 0;
        }
        for (size_t other = 0; other < i; other++)
            if (self->assertions[other].start == assertion->start && self->assertions[other].end == assertion->end)
                return 0;
        if ((said[i].at != NULL && !same_view(said[i], assertion->text)) ||
            !span_key(assertion->start, assertion->end, arena, &assertion->span_key))
            return 0;
        look_around(self->text, assertion);
        assertion->emission_id = self->emission_id;
        assertion->attempt = self->attempt;
        assertion->emitted_at = self->emitted_at;
        assertion->emitter = self->system;
        assertion->has_emitter = self->has_system;
    }
    return 1;
}

/* What citations would be held against; there are none, so only its form is looked at. */
static int contexts_read(Json *json)
{
    int found, first = 1;
    View name;
    if (!begins(json, '{'))
        return 0;
    while ((found = json_member(json, &first, &name)) > 0)
        if (!is_identifier(name) || !json_pass_text(json))
            return 0;
    return found == 0;
}

int emission_read(Emission *self, View record, Arena *arena)
{
    static const Name names[] = {NAME("emission_id"), NAME("emitted_at"), NAME("emitter"), NAME("effect"),
                                 NAME("vocabulary"), NAME("text"), NAME("assertions"), NAME("contexts"),
                                 NAME("attempt"), NAME("group"), NAME("part"), NAME("final")};
    Json json = {record.at, record.at + record.length, arena};
    int found, first = 1, fine = 1, ascii, final;
    int64_t part;
    unsigned seen = 0, next = 0, member;
    View vocabulary, group, said[MOST_ASSERTIONS];
    *self = (Emission){.ascii = 1};
    if (!begins(&json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(&json, &first, names, &next, &member)) > 0) {
        if (member < 12 && !once(&seen, member))
            return 0;
        if ((member == 2 || (member >= 9 && member < 12)) && absent(&json))
            continue;
        fine = member == 0   ? identifier(&json, &self->emission_id)
               : member == 1 ? instant(&json, &self->emitted_at)
               : member == 2 ? emitter_read(self, &json)
               : member == 3 ? effect(&json, &self->external)
               : member == 4 ? json_text(&json, &vocabulary, &ascii) && IS(vocabulary, "1.0")
               : member == 5 ? (self->has_text = json_text(&json, &self->text, &self->ascii))
               : member == 6 ? assertions_read(self, &json, said)
               : member == 7 ? contexts_read(&json)
               : member == 8 ? attempt(&json, &self->attempt)
               /* which piece of an answer it is decides nothing: only its form is looked at */
               : member == 9  ? identifier(&json, &group)
               : member == 10 ? attempt(&json, &part)
               : member == 11 ? json_bool(&json, &final)
                              : json_pass(&json, JSON_DEPTH);
    }
    json_space(&json);
    if (!fine || found || json.at != json.end || !(seen & 1) || !(seen & 2) || !self->has_text || !self->count)
        return 0;
    if (self->emitted_at > self->latest)
        self->latest = self->emitted_at;
    return place_assertions(self, arena, said);
}

/* ---------------------------------------------------------------- observations */

/* `sha256:` and 64 lower-case hex digits: the digits. */
static int digest_read(Json *json, View *digits)
{
    static const char prefix[] = "sha256:";
    const size_t named = sizeof prefix - 1;
    View text;
    int ascii;
    if (!json_text(json, &text, &ascii) || text.length != named + 2 * SHA256_BYTES || memcmp(text.at, prefix, named) != 0)
        return 0;
    *digits = (View){text.at + named, text.length - named};
    for (size_t i = 0; i < digits->length; i++)
        if (hex_digit(digits->at[i]) < 0)
            return 0;
    return 1;
}

static int subject_read(Observation *self, Json *json)
{
    static const Name names[] = {NAME("emission_id"), NAME("span"), NAME("attempt"), NAME("digest")};
    int found, first = 1, fine = 1;
    unsigned seen = 0, next = 0, member;
    if (!begins(json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(json, &first, names, &next, &member)) > 0) {
        if (member < 4 && !once(&seen, member))
            return 0;
        if (member == 3 && absent(json))
            continue;
        fine = member == 0   ? identifier(json, &self->emission_id)
               : member == 1 ? span_read(json, &self->start, &self->end)
               : member == 2 ? attempt(json, &self->attempt)
               : member == 3 ? digest_read(json, &self->digest)
                             : json_pass(json, JSON_DEPTH / 2);
    }
    return fine && found == 0 && (seen & 3) == 3;
}

static int outcome_read(Observation *self, Json *json)
{
    View text;
    int ascii;
    if (!json_text(json, &text, &ascii))
        return 0;
    self->outcome = IS(text, "corroborates")    ? OUTCOME_CORROBORATES
                    : IS(text, "absent")        ? OUTCOME_ABSENT
                    : IS(text, "terms-present") ? OUTCOME_TERMS_PRESENT
                                                : OUTCOME_UNAVAILABLE;
    return self->outcome != OUTCOME_UNAVAILABLE || IS(text, "unavailable");
}

static int tier_read(Observation *self, Json *json)
{
    View text;
    int ascii;
    if (!json_text(json, &text, &ascii))
        return 0;
    self->identity_bound = IS(text, "identity-bound");
    return self->identity_bound || IS(text, "pseudonymous");
}

/* Places of checks, a bit for each. */
static int places_read(Json *json, int64_t *places)
{
    int found, first = 1;
    int64_t place, count = 0;
    if (!begins(json, '['))
        return 0;
    while ((found = json_element(json, &first)) > 0) {
        if (++count > MOST_CHECKS || !json_whole(json, &place) || place >= MOST_CHECKS)
            return 0;
        *places |= INT64_C(1) << place;
    }
    return found == 0;
}

static int coverage_read(Json *json, int64_t *coverage)
{
    View text;
    int ascii;
    if (!json_text(json, &text, &ascii))
        return 0;
    *coverage = IS(text, "whole") ? WHOLE : IS(text, "part") ? PART : NO_COVERAGE;
    return *coverage != NO_COVERAGE || IS(text, "none");
}

/* Whether a claim form is said to cover the sentence: a proposer's word Python weighs. */
static int is_form(Json *json)
{
    View text;
    int ascii;
    return json_text(json, &text, &ascii) && IS(text, "form");
}

enum { MOST_UNCHECKED = 1000 };

static int unchecked_read(Json *json, Ranges *unchecked)
{
    int found, first = 1, inner;
    Range *at = NULL, one;
    size_t count = 0;
    if (!begins(json, '['))
        return 0;
    while ((found = json_element(json, &first)) > 0) {
        inner = 1;
        if (count == MOST_UNCHECKED || !json_is(json, '[') || json_element(json, &inner) != 1 ||
            !json_whole(json, &one.start) || json_element(json, &inner) != 1 || !json_whole(json, &one.end) ||
            json_element(json, &inner) != 0)
            return 0;
        /* Room for 4, then for twice as many whenever their number has become a power of two. */
        if (count == 0 || (count >= 4 && (count & (count - 1)) == 0)) {
            Range *room = arena_take(json->arena, (count ? 2 * count : 4) * sizeof *room);
            if (room == NULL)
                return 0;
            if (count)
                memcpy(room, at, count * sizeof *room);
            at = room;
        }
        at[count++] = one;
    }
    *unchecked = (Ranges){at, count};
    return found == 0;
}

/* Where the observer looked: of that root, path and content may be kept, of the rest only its form is looked at. */
static int looked_at_read(Observation *self, Json *json)
{
    static const Name names[] = {NAME("root"), NAME("path"), NAME("content"), NAME("commit"), NAME("owner")};
    static const int64_t most[] = {256, 4096, 256, 64, 256};
    int found, first = 1, fine = 1;
    unsigned seen = 0, next = 0, member;
    View text;
    if (!begins(json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(json, &first, names, &next, &member)) > 0) {
        if (member < 5 && !once(&seen, member))
            return 0;
        if (member < 5 && absent(json))
            continue;
        fine = member < 5 ? text_up_to(json, most[member], &text) : json_pass(json, JSON_DEPTH / 2);
        if (fine && member == 0)
            self->looked.root = text;
        if (fine && member == 1)
            self->file = text;
        if (fine && member == 2)
            self->looked.content = text;
    }
    return fine && found == 0;
}

enum { WHERE_DEPTH = JSON_DEPTH / 2, MOST_PATH = 4096, MOST_COMMIT = 64, LAST_LINE = 0x7fffffff };

/* A member's text where it is one and not too long, else none; passes it. */
static int where_text(Json *json, int64_t most, View *text)
{
    int ascii;
    *text = (View){(const uint8_t *)"", 0};
    if (json->at >= json->end || *json->at != '"')
        return json_pass(json, WHERE_DEPTH);
    if (!json_text(json, text, &ascii))
        return 0;
    if (text->length > (size_t)most && code_points(*text) > most)
        text->length = 0;
    return 1;
}

/* Two lines, in order and from 1, else none; passes them. */
static int where_lines(Json *json, Where *where)
{
    const uint8_t *start = json->at;
    int64_t first, last;
    int inner = 1;
    where->first = where->last = 0;
    if (json_is(json, '[') && json_element(json, &inner) == 1 && json_whole(json, &first) &&
        json_element(json, &inner) == 1 && json_whole(json, &last) && json_element(json, &inner) == 0) {
        if (first >= 1 && first <= last && last <= LAST_LINE) {
            where->first = first;
            where->last = last;
        }
        return 1;
    }
    json->at = start;
    return json_pass(json, WHERE_DEPTH);
}

/* Whether a check holds: anything but true says that it does not. Passes it. */
static int where_holds(Json *json, Where *where)
{
    where->holds = json->end - json->at >= 4 && memcmp(json->at, "true", 4) == 0;
    return json_pass(json, WHERE_DEPTH);
}

/* `check_places._place`: as far as it is told in the agreed form; of a member twice there the last one holds. */
static int where_read(Json *json, Where *where)
{
    static const Name names[] = {NAME("check"), NAME("holds"), NAME("path"), NAME("lines"), NAME("commit"),
                                 NAME("reason")};
    int found, first = 1, fine = 1;
    unsigned next = 0, member;
    *where = (Where){.path = VIEW(""), .commit = VIEW(""), .check = VIEW(""), .reason = VIEW("")};
    if (!json_is(json, '{'))
        return json_pass(json, WHERE_DEPTH);
    where->is_told = 1;
    while (fine && (found = JSON_NAMED(json, &first, names, &next, &member)) > 0)
        fine = member == 0   ? where_text(json, INT64_MAX, &where->check)
               : member == 1 ? where_holds(json, where)
               : member == 2 ? where_text(json, MOST_PATH, &where->path)
               : member == 3 ? where_lines(json, where)
               : member == 4 ? where_text(json, MOST_COMMIT, &where->commit)
               : member == 5 ? where_text(json, INT64_MAX, &where->reason)
                             : json_pass(json, WHERE_DEPTH);
    return fine && found == 0;
}

/* What each check came to, in their order; anything but an array says nothing. */
static int wheres_read(Observation *self, Json *json)
{
    int found, first = 1;
    self->where_count = 0;
    if (json->at >= json->end || *json->at != '[')
        return json_pass(json, WHERE_DEPTH);
    if (self->wheres == NULL && (self->wheres = arena_take(json->arena, MOST_CHECKS * sizeof *self->wheres)) == NULL)
        return 0;
    json->at++;
    while ((found = json_element(json, &first)) > 0)
        if (!(self->where_count < MOST_CHECKS ? where_read(json, &self->wheres[self->where_count++])
                                              : json_pass(json, WHERE_DEPTH)))
            return 0;
    return found == 0;
}

enum { LONGEST_TERM = 80, TERMS_LOOKED_AT = 4 * MOST_TERMS }; /* as in mending.py */

/* Whether a text is nothing but white space: 1, 0, or -1 where Python has to look at what is not ASCII. */
static int is_blank(View text)
{
    int other = 0;
    for (size_t i = 0; i < text.length; i++) {
        uint8_t c = text.at[i];
        if (c >= 0x80)
            other = 1;
        else if (c > ' ' || !((c >= '\t' && c <= '\r') || c >= 0x1c))
            return 0;
    }
    return other ? -1 : 1;
}

/* The first characters of a text. */
static View shortened(View text, int64_t most)
{
    size_t end = 0;
    for (; end < text.length; end++)
        if ((text.at[end] & 0xc0) != 0x80 && most-- == 0)
            break;
    return (View){text.at, end};
}

/* The words that were not there; anything but an array of texts says nothing. */
static int terms_read(Observation *self, Json *json)
{
    int found, first = 1, ascii;
    View text;
    self->term_count = 0;
    if (json->at >= json->end || *json->at != '[')
        return json_pass(json, WHERE_DEPTH);
    json->at++;
    for (size_t place = 0; (found = json_element(json, &first)) > 0; place++) {
        if (place >= TERMS_LOOKED_AT || json->at >= json->end || *json->at != '"') {
            if (!json_pass(json, WHERE_DEPTH))
                return 0;
            continue;
        }
        if (!json_text(json, &text, &ascii))
            return 0;
        int blank = self->term_count < MOST_TERMS ? is_blank(text) : 1;
        if (blank < 0)
            return 0;
        if (!blank)
            self->terms[self->term_count++] = shortened(text, LONGEST_TERM);
    }
    return found == 0;
}

/* What was found: what each check came to, the words that were not there, and why; of a member twice there the last one
 * holds. */
static int detail_read(Observation *self, Json *json)
{
    int found, first = 1;
    View name;
    if (!begins(json, '{'))
        return 0;
    while ((found = json_member(json, &first, &name)) > 0)
        if (!(IS(name, "checks")    ? wheres_read(self, json)
              : IS(name, "missing") ? terms_read(self, json)
              : IS(name, "reason")  ? where_text(json, INT64_MAX, &self->reason)
                                    : json_pass(json, JSON_DEPTH / 2)))
            return 0;
    return found == 0;
}

int observation_read(Observation *self, View record, Arena *arena)
{
    static const Name names[] = {NAME("observation_id"), NAME("substrate_class"), NAME("observed_at"), NAME("observer"),
                                 NAME("subject"), NAME("outcome"), NAME("tier"), NAME("confidence"), NAME("locator"),
                                 NAME("detail"), NAME("attestation"), NAME("signature"), NAME("verified"),
                                 NAME("refuted"), NAME("coverage"), NAME("unchecked"), NAME("looked_at"),
                                 NAME("judge"), NAME("sighting"), NAME("coverage_by")};
    Json json = {record.at, record.at + record.length, arena};
    int found, first = 1, fine = 1;
    unsigned seen = 0, next = 0, member;
    *self = (Observation){.confidence = 1, .coverage = -1, .reason = VIEW(""), .looked = {VIEW(""), VIEW("")}, .file = VIEW("")};
    if (!begins(&json, '{'))
        return 0;
    while (fine && (found = JSON_NAMED(&json, &first, names, &next, &member)) > 0) {
        if (member < 20 && !once(&seen, member))
            return 0;
        if (member >= 8 && member < 20 && member != 18 && absent(&json))
            continue;
        fine = member == 0    ? identifier(&json, &self->observation_id)
               : member == 1  ? substrate_class(&json, &self->number)
               : member == 2  ? instant(&json, &self->ts)
               : member == 3  ? identifier(&json, &self->observer)
               : member == 4  ? subject_read(self, &json)
               : member == 5  ? outcome_read(self, &json)
               : member == 6  ? tier_read(self, &json)
               : member == 7  ? confidence(&json, &self->confidence)
               : member == 8  ? json_pass_object(&json)
               : member == 9  ? detail_read(self, &json)
               : member == 10 ? (self->has_attestation = raw_read(&json, '{', &self->attestation))
               : member == 11 ? json_pass_text(&json) /* whom it has to hold for, Python looks at */
               : member == 12 ? (self->has_verified = places_read(&json, &self->verified))
               : member == 13 ? places_read(&json, &self->refuted)
               : member == 14 ? coverage_read(&json, &self->coverage)
               : member == 15 ? unchecked_read(&json, &self->unchecked)
               : member == 16 ? looked_at_read(self, &json)
               : member == 19 ? is_form(&json)
               : member >= 17 && member < 19 ? 0 /* what a judge says, and what a sighting bears out, Python weighs */
                              : json_pass(&json, JSON_DEPTH);
    }
    json_space(&json);
    return fine && found == 0 && json.at == json.end && (seen & 63) == 63 &&
           span_key(self->start, self->end, arena, &self->span_key);
}

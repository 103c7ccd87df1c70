/* streams/adjudication/corroboration.py for what corroborates, under trust mode `observed`, and
 * streams/adjudication/check_tally.py under terms by which every class counts once; and observation ids at rest. */
#include "hexadecimal.h"
#include "emission_state.h"

enum { BARE, SHA256, TEXT }; /* what the first byte of a kept id says of the others */
enum { LEAST_PREFIX = 7, LONGEST_ID = 256 };

int short_id(View id, Arena *arena, View *kept)
{
    View digits = id;
    int prefixed = id.length > 7 && memcmp(id.at, "sha256:", 7) == 0;
    if (prefixed)
        digits = (View){id.at + 7, id.length - 7};
    uint8_t *out = arena_take(arena, id.length + 1);
    if (out == NULL)
        return 0;
    *kept = (View){out, digits.length / 2 + 1};
    if ((digits.length == 64 || digits.length == 40) && bytes_of_hex(digits.at, digits.length / 2, out + 1)) {
        out[0] = prefixed ? SHA256 : BARE;
        return 1;
    }
    out[0] = TEXT;
    memcpy(out + 1, id.at, id.length);
    kept->length = id.length + 1;
    return 1;
}

static void whole_id(View kept, Buffer *out)
{
    if (kept.at[0] == TEXT) {
        put(out, kept.at + 1, kept.length - 1);
        return;
    }
    if (kept.at[0] == SHA256)
        PUT(out, "sha256:");
    if (buffer_reserve(out, 2 * kept.length)) {
        hex_of(kept.at + 1, kept.length - 1, (char *)out->data + out->length);
        out->length += 2 * (kept.length - 1);
    }
}

void put_whole_id(Buffer *out, View kept) { whole_id(kept, out); }

/* An id that calls itself one of a peer's credentials, and is no HMAC over them. */
int may_be_credentials(View kept)
{
    static const char name[] = "peercred:";
    const size_t named = sizeof name - 1;
    if (kept.at[0] != TEXT || kept.length <= named)
        return 0;
    const uint8_t *text = kept.at + 1;
    int exact = kept.length - 1 == named + 64;
    for (size_t i = 0; i < named; i++) {
        if ((text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]) != (uint8_t)name[i])
            return 0;
        exact = exact && text[i] == (uint8_t)name[i];
    }
    for (size_t i = named; exact && i < kept.length - 1; i++)
        exact = hex_digit(text[i]) >= 0;
    return !exact;
}

/* An identifier of at most LONGEST_ID bytes in lower case; 0 where it is longer, which none of ours is. */
static size_t lowered(View kept, uint8_t out[LONGEST_ID])
{
    uint8_t *at = out;
    size_t length = kept.at[0] == TEXT ? kept.length - 1 : 2 * (kept.length - 1) + (kept.at[0] == SHA256 ? 7 : 0);
    if (length > LONGEST_ID)
        return 0;
    if (kept.at[0] == TEXT) {
        memcpy(out, kept.at + 1, length);
    } else {
        if (kept.at[0] == SHA256) {
            memcpy(at, "sha256:", 7);
            at += 7;
        }
        hex_of(kept.at + 1, kept.length - 1, (char *)at);
    }
    for (size_t i = 0; i < length; i++)
        out[i] += out[i] >= 'A' && out[i] <= 'Z' ? 32 : 0;
    return length;
}

/* Whether two ids that differ name one commit: a prefix of 7 digits will do. */
static int same_commit(View one, View other)
{
    uint8_t first[LONGEST_ID], second[LONGEST_ID];
    size_t length = lowered(one, first), longer = lowered(other, second);
    size_t shorter = length < longer ? length : longer;
    return shorter >= LEAST_PREFIX && memcmp(first, second, shorter) == 0;
}

static void confirm(AssertionState *self, View kept, int64_t ts)
{
    for (size_t i = 0; i < self->declared_count; i++) {
        Declared *one = &self->declared[i];
        if (one->id < 0 || ts <= one->confirmed)
            continue;
        if (same_view(self->ids[one->id], kept)) {
            one->confirmed = ts;
        } else if (one->number == GIT_LOG && same_commit(self->ids[one->id], kept)) {
            for (size_t other = 0; other < self->declared_count; other++)
                if (self->declared[other].id == one->id && self->declared[other].confirmed < ts)
                    self->declared[other].confirmed = ts;
        }
    }
}

static int assertion_room(AssertionState *self, Arena *arena)
{
    if (self->id_count < self->id_room)
        return 1;
    View *ids = arena_take(arena, (self->id_room * 2 + 4) * sizeof *ids);
    if (ids == NULL)
        return 0;
    if (self->id_count)
        memcpy(ids, self->ids, self->id_count * sizeof *ids);
    self->ids = ids;
    self->id_room = self->id_room * 2 + 4;
    return 1;
}

static int64_t place_of(const AssertionState *self, View kept)
{
    for (size_t i = 0; i < self->id_count; i++)
        if (same_view(self->ids[i], kept))
            return (int64_t)i;
    return -1;
}

int assertion_declare(AssertionState *self, Arena *arena, int64_t number, const View *id, const int64_t *ts, View locator)
{
    Declared one = {.number = number, .id = -1, .confirmed = -1, .has_ts = ts != NULL, .ts = ts != NULL ? *ts : 0, .locator = locator};
    if (id != NULL) {
        View kept;
        if (!short_id(*id, arena, &kept))
            return 0;
        one.id = place_of(self, kept);
        if (one.id < 0) {
            if (!assertion_room(self, arena))
                return 0;
            one.id = (int64_t)self->id_count;
            self->ids[self->id_count++] = kept;
        }
    }
    /* Room for 4, then for twice as many whenever their number has become a power of two. */
    size_t count = self->declared_count;
    if (count == 0 || (count >= 4 && (count & (count - 1)) == 0)) {
        Declared *declared = arena_take(arena, (count ? 2 * count : 4) * sizeof one);
        if (declared == NULL)
            return 0;
        if (count)
            memcpy(declared, self->declared, count * sizeof one);
        self->declared = declared;
    }
    self->declared[self->declared_count++] = one;
    return 1;
}

static int named(const AssertionState *self, int64_t place)
{
    for (size_t i = 0; i < self->declared_count; i++)
        if (self->declared[i].id == place)
            return 1;
    for (size_t i = 0; i < self->seen_count; i++)
        if (self->seen[i].id == place)
            return 1;
    return 0;
}

static int keep_id(AssertionState *self, ClassEvidence *seen, View kept, Arena *arena)
{
    seen->id = -1;
    int64_t place = place_of(self, kept);
    if (place < 0) {
        if (!assertion_room(self, arena))
            return 0;
        for (place = 0; place < (int64_t)self->id_count && named(self, place); place++)
            ;
        if (place == (int64_t)self->id_count)
            self->id_count++;
        self->ids[place] = kept;
    }
    seen->id = place;
    return 1;
}

static ClassEvidence *seen_of(AssertionState *self, int64_t number)
{
    for (size_t i = 0; i < self->seen_count; i++)
        if (self->seen[i].number == number)
            return &self->seen[i];
    if (self->seen_count == CLASSES)
        return NULL; /* a class twice, which nothing of ours writes */
    ClassEvidence *seen = &self->seen[self->seen_count++];
    *seen = (ClassEvidence){.number = number, .latest = -1, .ts = -1, .id = -1, .observer = {(const uint8_t *)"", 0}};
    return seen;
}

/* ---------------------------------------------------------------- checks */

int64_t code_points(View text)
{
    int64_t count = 0;
    for (size_t i = 0; i < text.length; i++)
        count += (text.at[i] & 0xc0) != 0x80;
    return count;
}

static int by_place(const void *one, const void *other)
{
    const Range *first = one, *second = other;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return (first->end > second->end) - (first->end < second->end);
}

/* `merged`: these and others as one, in order, what touches or overlaps as one; 0 where memory was refused. */
static int merge(Ranges *self, Ranges others, Arena *arena)
{
    Range *all = arena_take(arena, (self->count + others.count) * sizeof *all);
    size_t count = 0;
    if (all == NULL)
        return 0;
    if (self->count)
        memcpy(all, self->at, self->count * sizeof *all);
    if (others.count)
        memcpy(all + self->count, others.at, others.count * sizeof *all);
    qsort(all, self->count + others.count, sizeof *all, by_place);
    for (size_t i = 0; i < self->count + others.count; i++) {
        if (count && all[i].start <= all[count - 1].end) {
            if (all[i].end > all[count - 1].end)
                all[count - 1].end = all[i].end;
        } else {
            all[count++] = all[i];
        }
    }
    *self = (Ranges){all, count};
    return 1;
}

/* `_note_coverage`: the least coverage of a class, with the spans that those who told it left open. */
static int note_coverage(Verified *entry, const AssertionState *assertion, const Observation *observation, Arena *arena)
{
    int64_t level = observation->coverage < 0 ? PART : observation->coverage;
    if (level == WHOLE || level > entry->coverage)
        return 1;
    int64_t length = code_points(assertion->text);
    Range *spans = arena_take(arena, (observation->unchecked.count + 1) * sizeof *spans);
    size_t count = 0;
    if (spans == NULL)
        return 0;
    for (size_t i = 0; i < observation->unchecked.count; i++) {
        Range one = observation->unchecked.at[i];
        one.end = one.end < length ? one.end : length;
        if (one.start < one.end)
            spans[count++] = one;
    }
    if (!count)
        spans[count++] = (Range){0, length};
    if (level < entry->coverage)
        entry->unchecked.count = 0;
    entry->coverage = level;
    return merge(&entry->unchecked, (Ranges){spans, count}, arena);
}

static const Where NOWHERE = {.path = VIEW(""), .commit = VIEW(""), .check = VIEW(""), .reason = VIEW("")};

Where where_of(const Checking *self, size_t check)
{
    return check < self->where_count ? self->wheres[check] : NOWHERE;
}

/* Where an observation saw a check hold: where it names neither file nor commit, in the file looked at (`with_file`). */
static Where where_named(const Observation *self, size_t check)
{
    Where named = check < self->where_count ? self->wheres[check] : NOWHERE;
    if (!named.path.length && !named.commit.length)
        named.path = self->file;
    return named;
}

int is_elsewhere(const AssertionState *self, const Observation *observation, int64_t places)
{
    for (size_t check = 0; self->checks != NULL && check < self->checks->count; check++) {
        View own = where_of(self->checks, check).path, named = where_named(observation, check).path;
        if (places >> check & 1 && own.length && named.length && !same_view(own, named))
            return 1;
    }
    return 0;
}

/* `check_places.keep`: where each of these checks was last seen to hold; what names no file replaces none that does. */
static void note_wheres(Checking *checks, const Observation *observation, int64_t places)
{
    for (; checks->where_count < checks->count; checks->where_count++)
        checks->wheres[checks->where_count] = NOWHERE;
    for (size_t check = 0; check < checks->count; check++) {
        Where named = where_named(observation, check);
        if (places >> check & 1 && (named.path.length || !checks->wheres[check].path.length))
            checks->wheres[check] = named;
    }
}

static Verified *verified_of(Checking *checks, int64_t number)
{
    for (size_t i = 0; i < checks->class_count; i++)
        if (checks->classes[i].number == number)
            return &checks->classes[i];
    return NULL;
}

/* Keeps what the newest evidence of a check looked at; 0 where memory was refused. */
static int note_looked(Verified *entry, size_t check, size_t checks, Looked looked, Arena *arena)
{
    static const Looked NOTHING = {VIEW(""), VIEW("")};
    if (!looked.root.length && !looked.content.length)
        return 1;
    if (entry->looked == NULL) {
        entry->looked = arena_take(arena, checks * sizeof *entry->looked);
        if (entry->looked == NULL)
            return 0;
        for (size_t i = 0; i < checks; i++)
            entry->looked[i] = NOTHING;
    }
    entry->looked[check] = looked;
    return 1;
}

/* `note`: takes in what a fresh corroboration verifies; 1 where it is news, 0, or -1 where memory was refused. */
static int note(AssertionState *self, const Terms *terms, const ClassEvidence *seen, const Observation *observation,
                int64_t places, Arena *arena)
{
    if (places == AS_A_WHOLE &&
        (self->checks == NULL || (!terms->has_k_by_check && verified_of(self->checks, seen->number) == NULL)))
        return 0; /* `seen` says all */
    Checking *checks = checking_of(self, arena);
    if (checks == NULL)
        return -1;
    Verified *entry = verified_of(checks, seen->number);
    if (entry == NULL) {
        if (checks->class_count == CLASSES)
            return -1; /* a class twice, which nothing of ours writes */
        entry = &checks->classes[checks->class_count++];
        *entry = (Verified){.number = seen->number, .coverage = WHOLE};
        entry->stamps = arena_take(arena, checks->count * sizeof *entry->stamps);
        if (entry->stamps == NULL)
            return -1;
        for (size_t i = 0; i < checks->count; i++)
            entry->stamps[i] = seen->ts;
    }
    int news = 0;
    for (size_t i = 0; i < checks->count; i++)
        if (places >> i & 1 && observation->ts > entry->stamps[i]) { /* all of them are set in AS_A_WHOLE */
            entry->stamps[i] = observation->ts;
            news = 1;
            if (terms->has_k_by_check && !note_looked(entry, i, checks->count, observation->looked, arena))
                return -1;
        }
    if (places == AS_A_WHOLE)
        return news;
    entry->named |= places;
    if (checks->coverage >= 0) /* since it was admitted */
        return news;
    note_wheres(checks, observation, places);
    return note_coverage(entry, self, observation, arena) ? news : -1;
}

static int is_counted(const AssertionState *self, int64_t number)
{
    for (size_t i = 0; i < self->seen_count; i++)
        if (self->seen[i].number == number && self->seen[i].ts >= 0)
            return 1;
    return 0;
}

int64_t coverage_of(const AssertionState *self, Arena *arena, Ranges *unchecked)
{
    const Checking *checks = self->checks;
    int64_t least = WHOLE;
    *unchecked = (Ranges){NULL, 0};
    if (checks == NULL)
        return WHOLE;
    if (checks->coverage >= 0) {
        *unchecked = checks->unchecked;
        return checks->coverage;
    }
    for (size_t i = 0; i < checks->class_count; i++) {
        const Verified *one = &checks->classes[i];
        if (one->coverage > least || !is_counted(self, one->number))
            continue;
        if (one->coverage < least)
            unchecked->count = 0;
        least = one->coverage;
        if (one->unchecked.count && !merge(unchecked, one->unchecked, arena))
            return -1;
    }
    return least;
}

int settle(AssertionState *self, Arena *arena)
{
    Ranges unchecked;
    if (self->checks == NULL || self->checks->coverage >= 0)
        return 1;
    int64_t level = coverage_of(self, arena, &unchecked);
    if (level < 0 || checking_of(self, arena) == NULL)
        return 0;
    self->checks->coverage = level;
    self->checks->unchecked = unchecked;
    return 1;
}

/* ---------------------------------------------------------------- counted */

int corroborate(AssertionState *self, const Terms *terms, const Observation *observation, int64_t places, Arena *arena)
{
    if (places == NO_CHECK)
        return 0;
    ClassEvidence *seen = seen_of(self, observation->number);
    View kept;
    int64_t ts = observation->ts;
    if (seen == NULL || !short_id(observation->observation_id, arena, &kept))
        return -1;
    if (ts > seen->latest)
        seen->latest = ts;
    confirm(self, kept, ts);
    if (ts < self->emitted_at - terms->window[observation->number]) {
        self->aged = 1;
        self->uncounted = UNCOUNTED_TOO_OLD;
        return 0;
    }
    /* After admission any newer corroboration renews; before it, only fresh ones count. */
    if (self->valid_until < 0 && ts > self->emitted_at + terms->horizon + terms->late_horizon) {
        self->uncounted = UNCOUNTED_TOO_LATE;
        return 0;
    }
    int news = note(self, terms, seen, observation, places, arena);
    if (news < 0 || ts <= seen->ts) {
        self->uncounted = news ? -1 : UNCOUNTED_NOT_NEWER;
        return news;
    }
    if (seen->ts < 0)
        self->fresh++;
    seen->ts = ts;
    if (!keep_id(self, seen, kept, arena))
        return -1;
    seen->observer = observation->observer;
    seen->identity_bound = observation->identity_bound || observation->number == PEERCRED; /* privacy.py */
    seen->has_attestation = observation->has_attestation;
    seen->attestation = observation->attestation;
    return 1;
}

/* The newest evidence of a class for a check; -1 where there is none. */
static int64_t stamp_of(const AssertionState *self, const ClassEvidence *seen, size_t check)
{
    const Verified *entry = self->checks != NULL && seen->ts >= 0 ? verified_of(self->checks, seen->number) : NULL;
    return entry == NULL ? seen->ts : entry->stamps[check];
}

static int has_verified(const AssertionState *self, const ClassEvidence *seen, size_t check)
{
    const Verified *entry = verified_of(self->checks, seen->number);
    return entry != NULL && entry->named >> check & 1 && stamp_of(self, seen, check) >= 0;
}

int64_t classes_of_check(const AssertionState *self, size_t check)
{
    int64_t classes = 0;
    for (size_t i = 0; i < self->seen_count; i++)
        classes += has_verified(self, &self->seen[i], check);
    return classes;
}

int verifies_check(const AssertionState *self, int64_t number, size_t check)
{
    for (size_t i = 0; i < self->seen_count; i++)
        if (self->seen[i].number == number && has_verified(self, &self->seen[i], check))
            return 1;
    return 0;
}

static size_t checks_of(const AssertionState *self) { return self->checks == NULL ? 1 : self->checks->count; }

int64_t k_of_check(const AssertionState *self, size_t check)
{
    return self->checks != NULL && self->checks->needs != NULL ? self->checks->needs[check] : self->k;
}

/* `least_k`: the fewest classes that any of its checks needs. */
static int64_t least_k(const AssertionState *self)
{
    int64_t least = k_of_check(self, 0);
    for (size_t check = 1; check < checks_of(self); check++)
        least = k_of_check(self, check) < least ? k_of_check(self, check) : least;
    return least;
}

/* `ends`: until when each class carries a check; the k-th of them, the longest first, or -1 below k. */
static int64_t carried(const AssertionState *self, const Terms *terms, size_t check)
{
    int64_t ends[CLASSES], count = 0, k = k_of_check(self, check);
    for (size_t i = 0; i < self->seen_count; i++) {
        const ClassEvidence *seen = &self->seen[i];
        int64_t stamp = stamp_of(self, seen, check);
        if (stamp < 0)
            continue;
        int64_t end = stamp + terms->window[seen->number], place = count++;
        for (; place > 0 && ends[place - 1] < end; place--)
            ends[place] = ends[place - 1];
        ends[place] = end; /* the largest first */
    }
    return k < 1 || k > count ? -1 : ends[k - 1];
}

int64_t validity(const AssertionState *self, const Terms *terms)
{
    int64_t least = self->arrival + terms->max_validity;
    if (self->fresh < least_k(self))
        return -1;
    for (size_t check = 0; check < checks_of(self); check++) {
        int64_t end = carried(self, terms, check);
        if (end < 0)
            return -1;
        least = end < least ? end : least;
    }
    return least;
}

int64_t missing(const AssertionState *self)
{
    int64_t most = 0;
    for (size_t check = 0; check < checks_of(self); check++) {
        int64_t lacks = k_of_check(self, check);
        for (size_t i = 0; i < self->seen_count; i++)
            lacks -= stamp_of(self, &self->seen[i], check) >= 0;
        most = lacks > most ? lacks : most;
    }
    return most;
}

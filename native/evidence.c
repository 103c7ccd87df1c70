/* streams/corroboration.py for what corroborates, under trust mode `observed`; and observation ids at rest. */
#include "hexadecimal.h"
#include "life.h"

enum { BARE, SHA256, TEXT }; /* what the first octet of a kept id says of the others */
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
    if ((digits.length == 64 || digits.length == 40) && octets_of_hex(digits.at, digits.length / 2, out + 1)) {
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

/* An identifier of at most LONGEST_ID octets in lower case; 0 where it is longer, which none of ours is. */
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

static void confirm(Life *self, View kept, int64_t ts)
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

static int life_room(Life *self, Arena *arena)
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

static int64_t place_of(const Life *self, View kept)
{
    for (size_t i = 0; i < self->id_count; i++)
        if (same_view(self->ids[i], kept))
            return (int64_t)i;
    return -1;
}

int life_declare(Life *self, Arena *arena, int64_t number, const View *id, const int64_t *ts)
{
    Declared one = {.number = number, .id = -1, .confirmed = -1, .has_ts = ts != NULL, .ts = ts != NULL ? *ts : 0};
    if (id != NULL) {
        View kept;
        if (!short_id(*id, arena, &kept))
            return 0;
        one.id = place_of(self, kept);
        if (one.id < 0) {
            if (!life_room(self, arena))
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

static int named(const Life *self, int64_t place)
{
    for (size_t i = 0; i < self->declared_count; i++)
        if (self->declared[i].id == place)
            return 1;
    for (size_t i = 0; i < self->seen_count; i++)
        if (self->seen[i].id == place)
            return 1;
    return 0;
}

static int keep_id(Life *self, Seen *seen, View kept, Arena *arena)
{
    seen->id = -1;
    int64_t place = place_of(self, kept);
    if (place < 0) {
        if (!life_room(self, arena))
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

static Seen *seen_of(Life *self, int64_t number)
{
    for (size_t i = 0; i < self->seen_count; i++)
        if (self->seen[i].number == number)
            return &self->seen[i];
    if (self->seen_count == CLASSES)
        return NULL; /* a class twice, which nothing of ours writes */
    Seen *seen = &self->seen[self->seen_count++];
    *seen = (Seen){.number = number, .latest = -1, .ts = -1, .id = -1, .observer = {(const uint8_t *)"", 0}};
    return seen;
}

int corroborate(Life *self, const Terms *terms, const Observation *observation, Arena *arena)
{
    Seen *seen = seen_of(self, observation->number);
    View kept;
    int64_t ts = observation->ts;
    if (seen == NULL || !short_id(observation->observation_id, arena, &kept))
        return -1;
    if (ts > seen->latest)
        seen->latest = ts;
    confirm(self, kept, ts);
    if (ts < self->emitted_at - terms->window[observation->number]) {
        self->aged = 1;
        return 0;
    }
    /* After admission any newer corroboration renews; before it, only fresh ones count. */
    if (self->valid_until < 0 && ts > self->emitted_at + terms->horizon)
        return 0;
    if (ts <= seen->ts)
        return 0;
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

int64_t validity(const Life *self, const Terms *terms)
{
    int64_t ends[CLASSES], count = 0;
    if (self->fresh < self->k)
        return -1;
    for (size_t i = 0; i < self->seen_count; i++) {
        if (self->seen[i].ts < 0)
            continue;
        int64_t end = self->seen[i].ts + terms->window[self->seen[i].number], place = count++;
        for (; place > 0 && ends[place - 1] < end; place--)
            ends[place] = ends[place - 1];
        ends[place] = end; /* the largest first */
    }
    if (self->k < 1 || self->k > count)
        return -1; /* `fresh` says how many count: never here */
    int64_t end = ends[self->k - 1], longest = self->arrival + terms->max_validity;
    return end < longest ? end : longest;
}

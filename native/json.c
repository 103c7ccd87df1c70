/* Reads and writes JSON; see json.h for what is left to Python. */
#include "json.h"

int utf8_character(const uint8_t *at, const uint8_t *end)
{
    uint8_t first = *at;
    if (first < 0x80)
        return 1;
    int length = first >= 0xc2 && first <= 0xdf ? 2 : (first & 0xf0) == 0xe0 ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
    if (!length || end - at < length)
        return 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f) || (first == 0xf0 && at[1] < 0x90) ||
        (first == 0xf4 && at[1] > 0x8f))
        return 0; /* too long for what it says, a surrogate, beyond U+10FFFF */
    return length;
}

static int hex4(Json *self, unsigned *value)
{
    if (self->end - self->at < 4)
        return 0;
    *value = 0;
    for (int i = 0; i < 4; i++) {
        int c = *self->at++, lower = c | 32;
        int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0)
            return 0;
        *value = *value << 4 | (unsigned)digit;
    }
    return 1;
}

/* What stands behind `\u`, as UTF-8; lone surrogates are for Python to refuse. */
static int unicode_escape(Json *self, uint8_t **out)
{
    unsigned code, low;
    if (!hex4(self, &code))
        return 0;
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || !json_is(self, '\\') || !json_is(self, 'u') || !hex4(self, &low) || low < 0xdc00 ||
            low > 0xdfff)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    uint8_t *at = *out;
    if (code < 0x80) {
        *at++ = (uint8_t)code;
    } else if (code < 0x800) {
        *at++ = (uint8_t)(0xc0 | code >> 6);
        *at++ = (uint8_t)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *at++ = (uint8_t)(0xe0 | code >> 12);
        *at++ = (uint8_t)(0x80 | (code >> 6 & 63));
        *at++ = (uint8_t)(0x80 | (code & 63));
    } else {
        *at++ = (uint8_t)(0xf0 | code >> 18);
        *at++ = (uint8_t)(0x80 | (code >> 12 & 63));
        *at++ = (uint8_t)(0x80 | (code >> 6 & 63));
        *at++ = (uint8_t)(0x80 | (code & 63));
    }
    *out = at;
    return 1;
}

static int escape(Json *self, uint8_t **out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    if (self->at >= self->end)
        return 0;
    char name = (char)*self->at++;
    if (name == 'u')
        return unicode_escape(self, out);
    const char *found = memchr(names, name, sizeof names - 1);
    if (found == NULL)
        return 0;
    *(*out)++ = (uint8_t)bytes[found - names];
    return 1;
}

/* A text behind its quotation mark, with what has to be unescaped, or is not ASCII. */
int json_any_text(Json *self, View *text, int *ascii)
{
    const uint8_t *start = self->at;
    uint8_t *unescaped = NULL, *out = NULL;
    for (;;) {
        const uint8_t *from = self->at;
        self->at = plain_end(from, self->end);
        while (self->at < self->end && *self->at >= 0x80) {
            int length = utf8_character(self->at, self->end);
            if (!length)
                return 0;
            *ascii = 0;
            self->at += length;
        }
        if (unescaped != NULL) {
            memcpy(out, from, (size_t)(self->at - from));
            out += self->at - from;
        }
        if (self->at >= self->end)
            return 0;
        if (*self->at == '"')
            break;
        if (*self->at != '\\') {
            if (*self->at < 0x20)
                return 0;
            continue; /* plain again, behind what was not ASCII */
        }
        if (unescaped == NULL) { /* no escape is shorter than what it stands for */
            unescaped = arena_take(self->arena, (size_t)(self->end - start));
            if (unescaped == NULL)
                return 0;
            memcpy(unescaped, start, (size_t)(self->at - start));
            out = unescaped + (self->at - start);
        }
        self->at++;
        uint8_t *before = out;
        if (!escape(self, &out))
            return 0;
        if (*before >= 0x80)
            *ascii = 0;
    }
    *text = unescaped != NULL ? (View){unescaped, (size_t)(out - unescaped)} : (View){start, (size_t)(self->at - start)};
    self->at++;
    return 1;
}

int json_number(Json *self, View *number)
{
    const uint8_t *start = self->at;
    json_is(self, '-');
    const uint8_t *digits = self->at;
    while (self->at < self->end && *self->at >= '0' && *self->at <= '9')
        self->at++;
    if (self->at == digits || (*digits == '0' && self->at - digits > 1))
        return 0;
    if (json_is(self, '.')) {
        digits = self->at;
        while (self->at < self->end && *self->at >= '0' && *self->at <= '9')
            self->at++;
        if (self->at == digits)
            return 0;
    }
    if (self->at < self->end && (*self->at | 32) == 'e')
        return 0;
    *number = (View){start, (size_t)(self->at - start)};
    return number->length <= JSON_NUMBER;
}

int json_whole(Json *self, int64_t *value)
{
    View number;
    if (!json_number(self, &number))
        return 0;
    *value = 0;
    for (size_t i = 0; i < number.length; i++) {
        if (number.at[i] < '0' || number.at[i] > '9')
            return 0;
        *value = *value * 10 + (number.at[i] - '0');
    }
    return 1;
}

static int word(Json *self, const char *text, size_t length)
{
    if ((size_t)(self->end - self->at) < length || memcmp(self->at, text, length) != 0)
        return 0;
    self->at += length;
    return 1;
}

int json_bool(Json *self, int *value)
{
    *value = word(self, "true", 4);
    return *value || word(self, "false", 5);
}

/* Up to the quotation mark of the next name: 1 there is one, 0 the object is over, -1 Python has to look. */
static inline int to_name(Json *self, const int *first)
{
    const uint8_t *at = behind_space(self->at, self->end), *end = self->end;
    if (at < end && *at == '}') {
        self->at = at + 1;
        return 0;
    }
    if (*first != 1) {
        if (at >= end || *at != ',')
            return -1;
        at = behind_space(at + 1, end);
    }
    self->at = at;
    return 1;
}

/* Up to the value of a name. */
static inline int to_value(Json *self, int *first, const uint8_t *at)
{
    at = behind_space(at, self->end);
    if (at >= self->end || *at != ':')
        return -1;
    self->at = behind_space(at + 1, self->end);
    *first = 2;
    return 1;
}

int json_member(Json *self, int *first, View *name)
{
    int found = to_name(self, first), ascii;
    if (found <= 0)
        return found;
    return json_text(self, name, &ascii) ? to_value(self, first, self->at) : -1;
}

int json_named(Json *self, int *first, const Name *names, unsigned count, unsigned *next, unsigned *which)
{
    View name;
    int found = to_name(self, first), ascii;
    if (found <= 0)
        return found;
#ifdef __SSE2__
    const uint8_t *at = self->at;
    if (self->end - at > 16 && *at == '"') { /* without a look at where the name ends */
        const __m128i some = _mm_loadu_si128((const __m128i *)(at + 1));
        for (unsigned tried = 0, place = *next; tried < count; tried++, place++) {
            if (place >= count)
                place -= count;
            const __m128i wanted = _mm_loadu_si128((const __m128i *)names[place].text);
            unsigned mask = (2u << names[place].length) - 1; /* of the name and its quotation mark */
            if (((unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(some, wanted)) & mask) == mask) {
                *which = place;
                *next = place + 1;
                return to_value(self, first, at + names[place].length + 2);
            }
        }
    }
#endif
    if (!json_text(self, &name, &ascii))
        return -1;
    for (*which = 0; *which < count; ++*which)
        if (view_is(name, names[*which].text, names[*which].length))
            break;
    *next = *which < count ? *which + 1 : *next;
    return to_value(self, first, self->at);
}

int json_element(Json *self, int *first)
{
    json_space(self);
    if (json_is(self, ']'))
        return 0;
    if (*first != 1 && !json_is(self, ','))
        return -1;
    json_space(self);
    *first = 2;
    return 1;
}

int json_pass_text(Json *self)
{
    View text;
    int ascii;
    return json_text(self, &text, &ascii);
}

int json_pass_object(Json *self) { return self->at < self->end && *self->at == '{' && json_pass(self, JSON_DEPTH / 2); }

int json_pass(Json *self, int depth)
{
    View text;
    int ascii, found, first = 1;
    if (depth <= 0 || self->at >= self->end)
        return 0;
    switch (*self->at) {
    case '"':
        return json_text(self, &text, &ascii);
    case '{':
        self->at++;
        while ((found = json_member(self, &first, &text)) > 0)
            if (!json_pass(self, depth - 1))
                return 0;
        return found == 0;
    case '[':
        self->at++;
        while ((found = json_element(self, &first)) > 0)
            if (!json_pass(self, depth - 1))
                return 0;
        return found == 0;
    case 't':
        return word(self, "true", 4);
    case 'f':
        return word(self, "false", 5);
    case 'n':
        return word(self, "null", 4);
    default:
        return json_number(self, &text);
    }
}

void put_json(Buffer *self, View text)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *at = text.at, *end = at + text.length;
    put_byte(self, '"');
    while (at < end) {
        const uint8_t *from = at;
        while (at < end && (at = plain_end(at, end)) < end && *at >= 0x80)
            at++;
        put(self, from, (size_t)(at - from));
        if (at == end)
            break;
        char c = (char)*at++, escaped[6] = {'\\', c};
        const char *name = strchr("\bb\ff\nn\rr\tt", c);
        size_t length = 2;
        if (c == '\0' || ((uint8_t)c < 0x20 && name == NULL)) {
            memcpy(escaped, "\\u00", 4);
            escaped[4] = digits[(uint8_t)c >> 4];
            escaped[5] = digits[c & 15];
            length = 6;
        } else if ((uint8_t)c < 0x20) {
            escaped[1] = name[1];
        }
        put(self, escaped, length);
    }
    put_byte(self, '"');
}

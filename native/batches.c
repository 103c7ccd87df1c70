/* `read_events`, `read_stored` and `pack_records`: the rules are codecs/record_batches.py's, and so is every sentence here. */
#include "batches.h"
#include "tuples.h"
#include "bytes.h"
#include "in_place.h"
#include "outputs.h"

typedef struct {
    int64_t offset, timestamp;
    View key, value; /* `at` NULL: null */
    Reader headers;
    int64_t header_count;
} Record;

static int malformed(const char *sentence)
{
    PyErr_SetString(PyExc_ValueError, sentence);
    return 0;
}

static int take_varint(Reader *self, int64_t *value)
{
    uint64_t found = 0;
    for (int shift = 0; self->at < self->end && shift < 70; shift += 7) {
        uint8_t byte = *self->at++;
        if (shift < 64)
            found |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (int64_t)((found >> 1) ^ (0 - (found & 1)));
            return 1;
        }
    }
    return malformed("a record's number has no end");
}

static int take_part(Reader *self, View *part)
{
    int64_t length;
    if (!take_varint(self, &length))
        return 0;
    if (length < 0) { /* Kafka writes -1, and takes any */
        *part = (View){NULL, 0};
        return 1;
    }
    if (length > self->end - self->at)
        return malformed("a record's part is longer than the record");
    *part = (View){self->at, (size_t)length};
    self->at += length;
    return 1;
}

/* A batch's offsets: a dense one has all of them, so that a record's place says which is its own. */
typedef struct {
    int64_t base, next, least; /* no record left has an offset below `least` */
    int64_t left;
    int dense;
} Offsets;

/* A record's offset; what it says of it counts only where compaction has left gaps. */
static int offset_of(Offsets *self, int64_t delta, int64_t *offset)
{
    if (self->dense) {
        *offset = (int64_t)((uint64_t)self->next - (uint64_t)self->left);
        return 1;
    }
    *offset = (int64_t)((uint64_t)self->base + (uint64_t)delta);
    if (*offset < self->least || *offset >= self->next)
        return malformed("a record's offset is none of its batch's");
    self->least = *offset + 1;
    return 1;
}

static int take_record(Reader *self, Offsets *offsets, int64_t first_timestamp, Record *record)
{
    int64_t length, time_delta, offset_delta;
    if (!take_varint(self, &length))
        return 0;
    if (length < 1 || length > self->end - self->at)
        return malformed("a record is longer than its batch");
    Reader inside = {self->at + 1, self->at + length}; /* attributes: none are defined */
    if (!take_varint(&inside, &time_delta) || !take_varint(&inside, &offset_delta) ||
        !offset_of(offsets, offset_delta, &record->offset) ||
        !take_part(&inside, &record->key) || !take_part(&inside, &record->value) ||
        !take_varint(&inside, &record->header_count))
        return 0;
    if (record->header_count < 0 || record->header_count > inside.end - inside.at)
        return malformed("a record has more headers than octets");
    record->timestamp = (int64_t)((uint64_t)first_timestamp + (uint64_t)time_delta);
    record->headers = inside;
    self->at = inside.end;
    return 1;
}

static PyObject *bytes_of(View part)
{
    return PyBytes_FromStringAndSize((const char *)part.at, (Py_ssize_t)part.length);
}

#define NOT_SO_LONG "a record is not as long as it says"

/* A header's name and value; 0 with an exception. */
static int take_named(Reader *headers, View *name, View *content)
{
    if (!take_part(headers, name))
        return 0;
    if (name->at == NULL)
        return malformed("a record's header has no name");
    return take_part(headers, content);
}

/* A header; `exact` leaves a null value null, and takes no name that is no UTF-8. */
static PyObject *pair_of(Reader *headers, Py_ssize_t *size, int exact)
{
    View name, content;
    if (!take_named(headers, &name, &content))
        return NULL;
    PyObject *text = PyUnicode_DecodeUTF8((const char *)name.at, (Py_ssize_t)name.length, exact ? "strict" : "replace");
    if (text == NULL)
        return NULL;
    *size += PyUnicode_GET_LENGTH(text) + (Py_ssize_t)content.length;
    PyObject *fields[HEADER_FIELDS] = {
        [HEADER_NAME] = text,
        [HEADER_VALUE] = exact ? bytes_or_none(content) : bytes_of(content),
    };
    return tuple_of(fields, HEADER_FIELDS);
}

enum { KEPT = 8 };

/* The record's before, by place: most of them are the same in every record of a batch. */
typedef struct {
    View bytes;
    PyObject *pair;
    Py_ssize_t size;
} Kept;

static void kept_leave(Kept kept[KEPT])
{
    for (int place = 0; place < KEPT; place++)
        Py_CLEAR(kept[place].pair);
}

/* The next header; that of the record before where it is the same. */
static PyObject *next_pair(Reader *headers, Kept *kept, Py_ssize_t *size, int exact)
{
    if (kept == NULL)
        return pair_of(headers, size, exact);
    if (kept->pair != NULL && kept->bytes.length <= (size_t)(headers->end - headers->at) &&
        memcmp(kept->bytes.at, headers->at, kept->bytes.length) == 0) {
        headers->at += kept->bytes.length;
    } else {
        const uint8_t *start = headers->at;
        Py_CLEAR(kept->pair);
        kept->size = 0;
        if ((kept->pair = pair_of(headers, &kept->size, exact)) == NULL)
            return NULL;
        kept->bytes = (View){start, (size_t)(headers->at - start)};
    }
    *size += kept->size;
    return Py_NewRef(kept->pair);
}

/* A record's headers, `most` at the most, their bytes added to `size`; NULL with an exception. */
static PyObject *headers_of(const Record *record, int64_t most, Py_ssize_t *size, int exact, Kept kept[KEPT])
{
    Reader headers = record->headers;
    PyObject *list = PyList_New(0);
    int64_t wanted = record->header_count < most ? record->header_count : most;
    for (int64_t place = 0; list != NULL && place < wanted; place++) {
        PyObject *pair = next_pair(&headers, place < KEPT ? kept + place : NULL, size, exact);
        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    if (list != NULL && wanted == record->header_count && headers.at != headers.end) {
        malformed(NOT_SO_LONG);
        Py_CLEAR(list);
    }
    return list;
}

typedef struct {
    PyObject *data, *source; /* the bytes that all lies in; whose events these are */
    long long source_number, append_time;
    int has_append_time; /* else a record has its own */
    PyObject *type, *event_for; /* of what lies nowhere; of what is too large */
    int in_place;
    View having; /* `at` NULL: all records are wanted */
    int64_t most_bytes, most_headers;
    Kept *kept;
} Making;

static int64_t time_of(const Record *record, const Making *making)
{
    return making->has_append_time ? making->append_time : record->timestamp;
}

/* Calls `make` with what a record is made of; `parts` are taken over, NULL where there is an exception. */
static PyObject *made(PyObject *make, PyObject **parts, int count)
{
    int whole = 1;
    for (int i = 0; i < count; i++)
        whole &= parts[i] != NULL;
    PyObject *found = whole ? PyObject_Vectorcall(make, parts, (size_t)count, NULL) : NULL;
    for (int i = 0; i < count; i++)
        Py_XDECREF(parts[i]);
    return found;
}

/* The event of a record; its bytes are added to `bytes` where it was kept whole. */
static PyObject *event_of(const Record *record, const Making *making, long long *bytes)
{
    Py_ssize_t size = (Py_ssize_t)(record->key.length + record->value.length);
    PyObject *headers = NULL;
    if (record->header_count || record->headers.at != record->headers.end) {
        /* so many that they are seen to be too many */
        headers = headers_of(record, making->most_headers + 1, &size, 0, making->kept);
        if (headers == NULL)
            return NULL;
    }
    if (record->header_count > making->most_headers || size > making->most_bytes) {
        PyObject *parts[EVENT_FOR_FIELDS] = {
            [EVENT_FOR_SOURCE] = Py_NewRef(making->source),
            [EVENT_FOR_OFFSET] = PyLong_FromLongLong(record->offset),
            [EVENT_FOR_TIMESTAMP] = PyLong_FromLongLong(time_of(record, making)),
            [EVENT_FOR_HEADERS] = headers == NULL ? PyList_New(0) : headers,
            [EVENT_FOR_KEY] = bytes_or_none(record->key),
            [EVENT_FOR_VALUE] = bytes_or_none(record->value),
        };
        return made(making->event_for, parts, EVENT_FOR_FIELDS);
    }
    InPlace *found = in_place(event_in_place, making->data, record->key, record->value, headers);
    if (found != NULL) {
        found->source = making->source_number;
        found->offset = record->offset;
        found->timestamp = time_of(record, making);
        *bytes += size;
    }
    return (PyObject *)found;
}

/* A name's length in characters; -1 with an exception where it is no UTF-8. */
static Py_ssize_t characters_of(View name)
{
    uint8_t all = 0;
    for (size_t i = 0; i < name.length; i++)
        all |= name.at[i];
    if (all < 0x80)
        return (Py_ssize_t)name.length;
    PyObject *text = PyUnicode_DecodeUTF8((const char *)name.at, (Py_ssize_t)name.length, "strict");
    Py_ssize_t length = text == NULL ? -1 : PyUnicode_GET_LENGTH(text);
    Py_XDECREF(text);
    return length;
}

/* Looks through all headers without making them, their bytes added to `size`; 0 with an exception. */
static int look_through(const Record *record, Py_ssize_t *size, Kept kept[KEPT])
{
    Reader headers = record->headers;
    for (int64_t place = 0; place < record->header_count; place++) {
        Kept *before = place < KEPT ? kept + place : NULL;
        size_t left = (size_t)(headers.end - headers.at);
        if (before != NULL && before->bytes.at != NULL && before->bytes.length <= left &&
            memcmp(before->bytes.at, headers.at, before->bytes.length) == 0) {
            headers.at += before->bytes.length;
            *size += before->size;
            continue;
        }
        const uint8_t *start = headers.at;
        View name, content;
        if (!take_named(&headers, &name, &content))
            return 0;
        Py_ssize_t characters = characters_of(name);
        if (characters < 0)
            return 0;
        characters += (Py_ssize_t)content.length;
        *size += characters;
        if (before != NULL) {
            before->bytes = (View){start, (size_t)(headers.at - start)};
            before->size = characters;
        }
    }
    return headers.at == headers.end || malformed(NOT_SO_LONG);
}

/* Whether a record has a header of this name, all its headers being looked at; -1 with an exception. */
static int has_header(const Record *record, View wanted)
{
    Reader headers = record->headers;
    int found = 0;
    for (int64_t place = 0; place < record->header_count; place++) {
        View name, content;
        if (!take_named(&headers, &name, &content) || characters_of(name) < 0)
            return -1;
        found |= same_view(name, wanted);
    }
    return headers.at == headers.end || malformed(NOT_SO_LONG) ? found : -1;
}

/* The record as it is stored; its bytes are added to `bytes`. */
static PyObject *stored_of(const Record *record, const Making *making, long long *bytes)
{
    Py_ssize_t size = (Py_ssize_t)(record->key.length + record->value.length);
    PyObject *found;
    if (making->in_place) {
        if (!look_through(record, &size, making->kept))
            return NULL;
        InPlace *lies = in_place(stored_in_place, making->data, record->key, record->value, NULL);
        if (lies == NULL)
            return NULL;
        lies->offset = record->offset;
        lies->timestamp = time_of(record, making);
        lies->raw_headers = (View){record->headers.at, (size_t)(record->headers.end - record->headers.at)};
        lies->header_count = record->header_count;
        found = (PyObject *)lies;
    } else {
        PyObject *parts[STORED_FIELDS] = {
            [STORED_OFFSET] = PyLong_FromLongLong(record->offset),
            [STORED_TIMESTAMP] = PyLong_FromLongLong(time_of(record, making)),
            [STORED_KEY] = bytes_or_none(record->key),
            [STORED_VALUE] = bytes_or_none(record->value),
            [STORED_HEADERS] = headers_of(record, INT64_MAX, &size, 1, making->kept),
        };
        found = made(making->type, parts, STORED_FIELDS);
    }
    *bytes += size;
    return found;
}

/* A stored record's headers, made; it was looked through before. */
PyObject *stored_headers(View raw, int64_t count)
{
    Kept kept[KEPT] = {{{NULL, 0}, NULL, 0}};
    Record record = {.headers = {raw.at, raw.at + raw.length}, .header_count = count};
    Py_ssize_t size = 0;
    PyObject *list = headers_of(&record, INT64_MAX, &size, 1, kept);
    kept_leave(kept);
    return list;
}

/* A header's name and content; 0 where it is no (text, bytes). */
static int header_of(PyObject *header, View *name, View *content)
{
    if (!is_tuple_of(header, HEADER_FIELDS) || !PyUnicode_Check(field_of(header, HEADER_NAME)) ||
        !PyBytes_Check(field_of(header, HEADER_VALUE)) || !utf8_of(field_of(header, HEADER_NAME), name))
        return 0;
    *content = view_of_bytes(field_of(header, HEADER_VALUE));
    return 1;
}

int is_next_header(Reader *headers, View name, View content)
{
    View of_name, of_content;
    if (!take_named(headers, &of_name, &of_content)) {
        PyErr_Clear();
        return 0;
    }
    return of_content.at != NULL && same_view(name, of_name) && same_view(content, of_content);
}

int is_next_pair(Reader *headers, PyObject *pair)
{
    View name, content;
    if (header_of(pair, &name, &content))
        return is_next_header(headers, name, content);
    PyErr_Clear();
    return 0;
}

/* Whether a stored record's headers are these (text, bytes); 0 also where something else stands in the list. */
int same_headers(PyObject *list, View raw, int64_t count)
{
    Reader headers = {raw.at, raw.at + raw.length};
    int same = PyList_CheckExact(list) && PyList_GET_SIZE(list) == count;
    for (Py_ssize_t place = 0; same && place < count; place++)
        same = is_next_pair(&headers, PyList_GET_ITEM(list, place));
    return same;
}

typedef PyObject *(*Maker)(const Record *record, const Making *making, long long *bytes);

enum { MOST_HELD = 1 << 24, SHARE = 4 };

/* Whether records may lie in what they came in: all of it is held as long as the last of them, by who counts only
 * theirs. */
static int is_worth_holding(PyObject *data, long long bytes)
{
    return PyBytes_GET_SIZE(data) <= MOST_HELD && bytes >= PyBytes_GET_SIZE(data) / SHARE;
}

/* Makes all those that lie in place anew, of their parts; 0 with an exception. */
static int make_anew(PyObject *records, PyObject *type)
{
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(records); place++) {
        PyObject *one = PyList_GET_ITEM(records, place), *anew;
        if (!Py_IS_TYPE(one, event_in_place) && !Py_IS_TYPE(one, stored_in_place))
            continue;
        if ((anew = made_of_parts(one, type)) == NULL)
            return 0;
        PyList_SetItem(records, place, anew);
    }
    return 1;
}

/* Where a reading stands, and how far it goes. */
typedef struct {
    PyObject *data, *append_time; /* borrowed */
    Py_ssize_t at, end, most;
    int64_t left, base, first_timestamp, count, next, least, first, room;
} Reading;

static int cursor_parse(Reading *self, PyObject *cursor)
{
    self->append_time = field_of(cursor, CURSOR_APPEND_TIME);
    return take_object(cursor, CURSOR_DATA, &PyBytes_Type, &self->data) && take_size(cursor, CURSOR_AT, &self->at) &&
           take_size(cursor, CURSOR_END, &self->end) && take_integer(cursor, CURSOR_LEFT, &self->left) &&
           take_integer(cursor, CURSOR_BASE_OFFSET, &self->base) &&
           take_integer(cursor, CURSOR_FIRST_TIMESTAMP, &self->first_timestamp) &&
           take_integer(cursor, CURSOR_COUNT, &self->count) && take_integer(cursor, CURSOR_NEXT, &self->next) &&
           take_integer(cursor, CURSOR_LEAST, &self->least);
}

static int bounds_parse(Reading *self, Making *making, PyObject *bounds)
{
    making->source = field_of(bounds, READ_BOUNDS_SOURCE);
    return take_integer(bounds, READ_BOUNDS_FIRST, &self->first) && take_size(bounds, READ_BOUNDS_MOST, &self->most) &&
           take_integer(bounds, READ_BOUNDS_ROOM, &self->room) &&
           take_integer(bounds, READ_BOUNDS_MAX_BYTES, &making->most_bytes) &&
           take_integer(bounds, READ_BOUNDS_MAX_HEADERS, &making->most_headers);
}

/* reads(cursor, bounds, what records become), each a tuple. */
static PyObject *read_records(PyObject *const *args, Py_ssize_t nargs, Maker maker)
{
    Kept kept[KEPT] = {{{NULL, 0}, NULL, 0}};
    Making making = {.kept = kept};
    Reading from;
    long long bytes = 0;
    if (nargs != 3 || !is_tuple_of(args[0], CURSOR_FIELDS) || !is_tuple_of(args[1], READ_BOUNDS_FIELDS) ||
        !is_tuple_of(args[2], READ_AS_FIELDS)) {
        PyErr_SetString(PyExc_TypeError, "a cursor, bounds and what records become are wanted");
        return NULL;
    }
    if (!cursor_parse(&from, args[0]) || !bounds_parse(&from, &making, args[1]) ||
        !take_flag(args[2], READ_AS_IN_PLACE, &making.in_place))
        return NULL;
    if (from.at < 0 || from.end < from.at || from.end > PyBytes_GET_SIZE(from.data)) {
        PyErr_SetString(PyExc_ValueError, "no such place");
        return NULL;
    }
    making.data = from.data;
    making.type = field_of(args[2], READ_AS_TYPE);
    making.event_for = field_of(args[2], READ_AS_EVENT_FOR);
    PyObject *having = field_of(args[2], READ_AS_HAVING);
    if (PyBytes_Check(having))
        making.having = view_of_bytes(having);
    making.has_append_time = from.append_time != Py_None;
    making.append_time = making.has_append_time ? PyLong_AsLongLong(from.append_time) : 0;
    making.source_number = making.source != Py_None ? PyLong_AsLongLong(making.source) : 0;
    if (PyErr_Occurred())
        return NULL;
    const uint8_t *start = (const uint8_t *)PyBytes_AS_STRING(from.data);
    Reader reader = {start + from.at, start + from.end};
    PyObject *found = PyList_New(0);
    Offsets offsets = {from.base, from.next, from.least, from.left,
                       from.count == (int64_t)((uint64_t)from.next - (uint64_t)from.base)};
    int failed = found == NULL;
    while (!failed && offsets.left > 0 && PyList_GET_SIZE(found) < from.most && bytes < from.room) {
        Record record;
        PyObject *one = NULL;
        failed = !take_record(&reader, &offsets, from.first_timestamp, &record);
        offsets.left--;
        if (failed || record.offset < from.first)
            continue;
        if (making.having.at != NULL && offsets.left > 0) { /* the last one says how far the reading is */
            int has = has_header(&record, making.having);
            failed = has < 0;
            if (has <= 0)
                continue;
        }
        failed = (one = maker(&record, &making, &bytes)) == NULL || PyList_Append(found, one) < 0;
        Py_XDECREF(one);
    }
    kept_leave(kept);
    if (!failed && making.in_place && !is_worth_holding(from.data, bytes))
        failed = !make_anew(found, making.type);
    if (failed) {
        Py_XDECREF(found);
        return NULL;
    }
    PyObject *fields[READ_RECORDS_FIELDS] = {
        [READ_RECORDS_RECORDS] = found,
        [READ_RECORDS_BYTE_COUNT] = PyLong_FromLongLong(bytes),
        [READ_RECORDS_AT] = PyLong_FromSsize_t(reader.at - start),
        [READ_RECORDS_LEFT] = PyLong_FromLongLong(offsets.left),
        [READ_RECORDS_LEAST] = PyLong_FromLongLong(offsets.least),
    };
    return tuple_of(fields, READ_RECORDS_FIELDS);
}

/* read_events(CURSOR, READ_BOUNDS, READ_AS) -> READ_RECORDS: records as events. */
PyObject *read_events(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    return read_records(args, nargs, event_of);
}

/* The same, of any size, as they are stored. */
PyObject *read_stored(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    return read_records(args, nargs, stored_of);
}

/* ---------------------------------------------------------------- written */

static size_t varint_size(int64_t value)
{
    size_t count = 1;
    for (uint64_t left = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0); left >= 0x80; left >>= 7)
        count++;
    return count;
}

static size_t part_size(size_t length) { return varint_size((int64_t)length) + length; }

static void put_varint(Buffer *buffer, int64_t value)
{
    uint64_t left = (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
    uint8_t bytes[10];
    size_t count = 0;
    for (; left >= 0x80; left >>= 7)
        bytes[count++] = (uint8_t)(left | 0x80);
    bytes[count++] = (uint8_t)left;
    put(buffer, bytes, count);
}

static void put_part(Buffer *buffer, const void *data, size_t length)
{
    put_varint(buffer, (int64_t)length);
    put(buffer, data, length);
}

/* How many bytes a header takes; 0 where it is not plain. `sizes` has those of the record before, without their bytes. */
static size_t header_size(PyObject *pair, Py_ssize_t place, KeptHeader *sizes)
{
    const KeptHeader *same = kept_header(sizes, place, pair);
    View name, content;
    if (same != NULL)
        return same->length;
    if (!header_of(pair, &name, &content))
        return 0;
    size_t size = part_size(name.length) + part_size(content.length);
    if (place < KEPT_HEADERS) {
        sizes[place].pair = pair;
        sizes[place].length = size;
    }
    return size;
}

/* The same of an output that lies in place; it is plain. */
static size_t size_in_place(const OutputInPlace *one, int64_t place, KeptHeader *sizes)
{
    size_t size = 2 + varint_size(place) + part_size(one->key.length) + part_size(one->value.length) +
                  varint_size(own_headers(one));
    for (Py_ssize_t i = 0; i < own_headers(one); i++) {
        View name, content;
        PyObject *pair = own_header(one, i, &name, &content);
        size_t of_one = pair == NULL ? part_size(name.length) + part_size(content.length) : header_size(pair, i, sizes);
        if (of_one == 0)
            return 0;
        size += of_one;
    }
    return size;
}

/* How many bytes follow upon a record's length; 0 where the output is not plain. */
static size_t record_size(PyObject *output, int64_t place, KeptHeader *sizes)
{
    const OutputInPlace *lies = output_of_object(output);
    if (lies != NULL)
        return size_in_place(lies, place, sizes);
    if (!is_tuple_of(output, OUTPUT_FIELDS))
        return 0;
    PyObject *key = field_of(output, OUTPUT_KEY), *value = field_of(output, OUTPUT_VALUE);
    PyObject *headers = field_of(output, OUTPUT_HEADERS);
    if (!(key == Py_None || PyBytes_Check(key)) || !PyBytes_Check(value) || !PyList_Check(headers))
        return 0;
    size_t size = 2 + varint_size(place) + (key == Py_None ? 1 : part_size((size_t)PyBytes_GET_SIZE(key))) +
                  part_size((size_t)PyBytes_GET_SIZE(value)) + varint_size(PyList_GET_SIZE(headers));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++) {
        size_t of_one = header_size(PyList_GET_ITEM(headers, i), i, sizes);
        if (of_one == 0)
            return 0;
        size += of_one;
    }
    return size;
}

static void put_header(Buffer *buffer, PyObject *pair, Py_ssize_t place, KeptHeader *kept)
{
    const KeptHeader *same = kept_header(kept, place, pair);
    size_t from = buffer->length;
    View name, content;
    if (same != NULL) {
        put(buffer, same->bytes, same->length);
    } else if (header_of(pair, &name, &content)) {
        put_part(buffer, name.at, name.length);
        put_part(buffer, content.at, content.length);
        keep_header(kept, place, pair, buffer, from);
    }
}

static void put_in_place(Buffer *buffer, const OutputInPlace *one, KeptHeader *kept)
{
    put_part(buffer, one->key.at, one->key.length);
    put_part(buffer, one->value.at, one->value.length);
    put_varint(buffer, own_headers(one));
    for (Py_ssize_t i = 0; i < own_headers(one); i++) {
        View name, content;
        PyObject *pair = own_header(one, i, &name, &content);
        if (pair != NULL) {
            put_header(buffer, pair, i, kept);
            continue;
        }
        put_part(buffer, name.at, name.length);
        put_part(buffer, content.at, content.length);
    }
}

/* A plain output, into as much room as it takes. */
static void put_record(Buffer *buffer, PyObject *output, int64_t place, KeptHeader *kept)
{
    const OutputInPlace *lies = output_of_object(output);
    put(buffer, "\0\0", 2); /* no attributes, and the batch's own time */
    put_varint(buffer, place);
    if (lies != NULL) {
        put_in_place(buffer, lies, kept);
        return;
    }
    PyObject *key = field_of(output, OUTPUT_KEY), *value = field_of(output, OUTPUT_VALUE);
    PyObject *headers = field_of(output, OUTPUT_HEADERS);
    if (key == Py_None)
        put_varint(buffer, -1);
    else
        put_part(buffer, PyBytes_AS_STRING(key), (size_t)PyBytes_GET_SIZE(key));
    put_part(buffer, PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value));
    put_varint(buffer, PyList_GET_SIZE(headers));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(headers); i++)
        put_header(buffer, PyList_GET_ITEM(headers, i), i, kept);
}

/* pack_records([Output, …], at, most) -> (bytes of records, the first output that is not among them), or None. */
PyObject *pack_records(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *outputs;
    Py_ssize_t at, most, place;
    size_t total = 0;
    KeptHeader sizes[KEPT_HEADERS], kept[KEPT_HEADERS];
    if (!PyArg_ParseTuple(args, "O!nn", &PyList_Type, &outputs, &at, &most))
        return NULL;
    if (at < 0)
        Py_RETURN_NONE;
    size_t left = at < PyList_GET_SIZE(outputs) ? (size_t)(PyList_GET_SIZE(outputs) - at) : 0;
    size_t *of_each = PyMem_Malloc((left + 1) * sizeof *of_each);
    if (of_each == NULL)
        return PyErr_NoMemory();
    no_headers(sizes);
    no_headers(kept);
    for (place = at; place < PyList_GET_SIZE(outputs); place++) {
        size_t size = of_each[place - at] = record_size(PyList_GET_ITEM(outputs, place), place - at, sizes);
        if (size == 0) {
            PyErr_Clear(); /* Python says what is wrong */
            PyMem_Free(of_each);
            Py_RETURN_NONE;
        }
        size += varint_size((int64_t)size);
        if (place > at && total + size > (size_t)(most < 0 ? 0 : most))
            break; /* begins the next batch */
        total += size;
    }
    PyObject *records = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)total);
    if (records != NULL) {
        Buffer buffer = {(uint8_t *)PyBytes_AS_STRING(records), 0, total, 0};
        for (Py_ssize_t each = at; each < place; each++) {
            put_varint(&buffer, (int64_t)of_each[each - at]);
            put_record(&buffer, PyList_GET_ITEM(outputs, each), each - at, kept);
        }
    }
    PyMem_Free(of_each);
    PyObject *fields[PACKED_RECORDS_FIELDS] = {
        [PACKED_RECORDS_RECORDS] = records,
        [PACKED_RECORDS_END] = PyLong_FromSsize_t(place),
    };
    return tuple_of(fields, PACKED_RECORDS_FIELDS);
}

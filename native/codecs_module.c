/* `sluice.codecs._native`: hashes, blocks and batches, for `codecs/merkle.py`, `blocks.py`, `partition.py` and
 * `record_batches.py`.
 *
 * What is not plain gives None, and Python looks at it: whether it is right, and what is wrong with it, is said there
 * only. Nothing here keeps anything between two calls. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "batches.h"
#include "bytes.h"
#include "hashes.h"
#include "in_place.h"
#include "members.h"
#include "outputs.h"
#include "tuples.h"
#include "version.h"

static PyObject *leaf_hash_of(PyObject *Py_UNUSED(module), PyObject *data)
{
    Py_buffer bytes;
    uint8_t hash[SHA256_BYTES];
    if (PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    leaf_hash(bytes.buf, (size_t)bytes.len, hash);
    PyBuffer_Release(&bytes);
    return PyBytes_FromStringAndSize((char *)hash, sizeof hash);
}

static PyObject *root_of(uint8_t *leaves, size_t count)
{
    uint8_t root[SHA256_BYTES];
    merkle_root(leaves, count, root);
    return PyBytes_FromStringAndSize((char *)root, sizeof root);
}

static PyObject *root(PyObject *Py_UNUSED(module), PyObject *given)
{
    PyObject *found = NULL, *leaves = PySequence_Fast(given, "the leaves are a sequence");
    if (leaves == NULL)
        return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(leaves);
    uint8_t *copy = count ? PyMem_Malloc((size_t)count * SHA256_BYTES) : NULL;
    if (count && copy == NULL) {
        Py_DECREF(leaves);
        return PyErr_NoMemory();
    }
    Py_ssize_t place = 0;
    for (; place < count; place++) {
        PyObject *leaf = PySequence_Fast_GET_ITEM(leaves, place);
        if (!PyBytes_CheckExact(leaf) || PyBytes_GET_SIZE(leaf) != SHA256_BYTES)
            break;
        memcpy(copy + place * SHA256_BYTES, PyBytes_AS_STRING(leaf), SHA256_BYTES);
    }
    if (count && place == count)
        found = root_of(copy, (size_t)count);
    else
        found = Py_NewRef(Py_None);
    PyMem_Free(copy);
    Py_DECREF(leaves);
    return found;
}

static PyObject *murmur2_of(PyObject *Py_UNUSED(module), PyObject *key)
{
    Py_buffer bytes;
    if (PyObject_GetBuffer(key, &bytes, PyBUF_SIMPLE) < 0)
        return NULL;
    uint32_t hash = murmur2(bytes.buf, (size_t)bytes.len);
    PyBuffer_Release(&bytes);
    return PyLong_FromUnsignedLong(hash);
}

/* ---------------------------------------------------------------- events */

static Members event_members = {.names = {EVENT_NAMES}};

enum { EVENT_NUMBERS = EVENT_HEADERS }; /* the fields before the headers are numbers */
FOLLOWS(EVENT_SOURCE, EVENT_KIND);
FOLLOWS(EVENT_OFFSET, EVENT_SOURCE);
FOLLOWS(EVENT_TIMESTAMP, EVENT_OFFSET);
FOLLOWS(EVENT_HEADERS, EVENT_TIMESTAMP);
FOLLOWS(EVENT_KEY, EVENT_HEADERS);
FOLLOWS(EVENT_VALUE, EVENT_KEY);
LAST(EVENT, EVENT_VALUE);
FOLLOWS(OUTPUT_KEY, OUTPUT_TOPIC);
FOLLOWS(OUTPUT_VALUE, OUTPUT_KEY);
FOLLOWS(OUTPUT_HEADERS, OUTPUT_VALUE);
LAST(OUTPUT, OUTPUT_HEADERS);
FOLLOWS(HEADER_VALUE, HEADER_NAME);
LAST(HEADER, HEADER_VALUE);
FOLLOWS(PACKED_BLOCK_EVENTS, PACKED_BLOCK_HEADER);
LAST(PACKED_BLOCK, PACKED_BLOCK_EVENTS);

/* Bytes or nil, which is a view of NULL; 0 where it is neither. */
static int take_bytes_or_nil(Reader *reader, View *view)
{
    *view = (View){NULL, 0};
    return take_nil(reader) || take_bytes(reader, view);
}

static PyObject *header_made(View name, View content)
{
    PyObject *fields[HEADER_FIELDS] = {
        [HEADER_NAME] = PyUnicode_DecodeUTF8((const char *)name.at, (Py_ssize_t)name.length, NULL),
        [HEADER_VALUE] = PyBytes_FromStringAndSize((const char *)content.at, (Py_ssize_t)content.length),
    };
    return tuple_of(fields, HEADER_FIELDS);
}

static PyObject *headers(Reader *reader, uint64_t count)
{
    if (count > (uint64_t)(reader->end - reader->at))
        return NULL;
    PyObject *list = PyList_New(0);
    for (; list != NULL && count; count--) {
        View name, content;
        PyObject *pair = NULL;
        if (take_array_of(reader, HEADER_FIELDS) && take_text(reader, &name) && take_bytes(reader, &content))
            pair = header_made(name, content);
        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* The root of some bytes' leaves, which end there; nobody waits for it. */
static PyObject *root_between(const uint8_t *data, const size_t *ends, size_t count)
{
    uint8_t root[SHA256_BYTES], *leaves = PyMem_Malloc(count * SHA256_BYTES);
    if (leaves == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    leaf_hashes(data, ends, count, leaves);
    merkle_root(leaves, count, root);
    Py_END_ALLOW_THREADS
    PyMem_Free(leaves);
    return PyBytes_FromStringAndSize((char *)root, sizeof root);
}

/* One event where it lies, or NULL, with or without an exception. */
static InPlace *event_lying(Reader *reader, PyObject *data)
{
    int64_t numbers[EVENT_NUMBERS];
    View key, value;
    uint64_t count;
    PyObject *pairs = NULL;
    if (!take_array_of(reader, EVENT_FIELDS))
        return NULL;
    for (int i = 0; i < EVENT_NUMBERS; i++)
        if (!take_int(reader, &numbers[i]))
            return NULL;
    if (!take_array(reader, &count) || (count && (pairs = headers(reader, count)) == NULL))
        return NULL;
    if (!take_bytes_or_nil(reader, &key) || !take_bytes_or_nil(reader, &value)) {
        Py_XDECREF(pairs);
        return NULL;
    }
    InPlace *found = in_place(event_in_place, data, key, value, pairs);
    if (found != NULL) {
        found->kind = numbers[EVENT_KIND];
        found->source = numbers[EVENT_SOURCE];
        found->offset = numbers[EVENT_OFFSET];
        found->timestamp = numbers[EVENT_TIMESTAMP];
    }
    return found;
}

/* The same, made of its parts where there is a `type`. */
static PyObject *event(Reader *reader, PyObject *data, PyObject *type)
{
    PyObject *lies = (PyObject *)event_lying(reader, data);
    if (lies == NULL || type == Py_None)
        return lies;
    PyObject *made = made_of_parts(lies, type);
    Py_DECREF(lies);
    return made;
}

/* open_block(data, Event) -> (where the header ends, the events, their root), or None. Instead of Event None: they lie in
 * the data. */
static PyObject *open_block(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !PyBytes_CheckExact(args[0]))
        Py_RETURN_NONE;
    const uint8_t *data = (const uint8_t *)PyBytes_AS_STRING(args[0]);
    Reader reader = {data, data + PyBytes_GET_SIZE(args[0])};
    uint8_t tag;
    uint64_t count;
    if (!take_array_of(&reader, PACKED_BLOCK_FIELDS) || !pass_values(&reader, PACKED_BLOCK_EVENTS))
        Py_RETURN_NONE;
    size_t header = (size_t)(reader.at - data);
    /* An event has more than one byte: a count beyond what is there allocates nothing. */
    if (!take_tag(&reader, &tag) || tag != 0xdd || !take_big(&reader, 4, &count) || count == 0 ||
        count > (uint64_t)(reader.end - reader.at))
        Py_RETURN_NONE;
    const uint8_t *first = reader.at;
    size_t *ends = PyMem_Malloc(count * sizeof *ends);
    PyObject *events = PyList_New((Py_ssize_t)count), *root_bytes = NULL;
    if (ends == NULL || events == NULL) {
        PyMem_Free(ends);
        Py_XDECREF(events);
        return PyErr_NoMemory();
    }
    int plain = 1;
    for (uint64_t place = 0; plain && place < count; place++) {
        PyObject *one = event(&reader, args[0], args[1]);
        if (one == NULL) {
            plain = 0;
            break;
        }
        PyList_SET_ITEM(events, (Py_ssize_t)place, one);
        ends[place] = (size_t)(reader.at - first);
    }
    plain = plain && reader.at == reader.end;
    if (plain)
        root_bytes = root_between(first, ends, count);
    PyMem_Free(ends);
    if (root_bytes == NULL) {
        Py_DECREF(events);
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_MemoryError))
            PyErr_Clear(); /* a name that is no UTF-8, say: Python finds it again */
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    PyObject *fields[OPENED_BLOCK_FIELDS] = {
        [OPENED_BLOCK_HEADER_LENGTH] = PyLong_FromSize_t(header),
        [OPENED_BLOCK_EVENTS] = events,
        [OPENED_BLOCK_ROOT] = root_bytes,
    };
    return tuple_of(fields, OPENED_BLOCK_FIELDS);
}

/* ---------------------------------------------------------------- Python's own, packed: 1, or 0 where it is not plain */

static int pack_python_text(Buffer *buffer, PyObject *text)
{
    View view;
    if (!PyUnicode_CheckExact(text) || !utf8_of(text, &view))
        return 0;
    pack_text(buffer, view);
    return 1;
}

static int pack_python_bytes(Buffer *buffer, PyObject *bytes)
{
    if (!PyBytes_CheckExact(bytes))
        return 0;
    pack_bytes(buffer, (View){(const uint8_t *)PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)});
    return 1;
}

static int pack_bytes_or_none(Buffer *buffer, PyObject *bytes)
{
    if (bytes != Py_None)
        return pack_python_bytes(buffer, bytes);
    pack_nil(buffer);
    return 1;
}

static int pack_header(Buffer *buffer, PyObject *pair)
{
    if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != HEADER_FIELDS)
        return 0;
    pack_array(buffer, HEADER_FIELDS);
    return pack_python_text(buffer, field_of(pair, HEADER_NAME)) && pack_python_bytes(buffer, field_of(pair, HEADER_VALUE));
}

/* A header that is kept from one record to the next. */
static int pack_kept_header(Buffer *buffer, PyObject *pair, Py_ssize_t place, KeptHeader *kept)
{
    const KeptHeader *same = kept_header(kept, place, pair);
    size_t from = buffer->length;
    if (same != NULL) {
        put_kept_header(buffer, same);
        return 1;
    }
    if (!pack_header(buffer, pair))
        return 0;
    keep_header(kept, place, pair, buffer, from);
    return 1;
}

/* `kept` NULL: the headers of one record are not those of the next. */
static int pack_headers(Buffer *buffer, PyObject *pairs, KeptHeader *kept)
{
    if (!PyList_CheckExact(pairs))
        return 0;
    pack_array(buffer, (size_t)PyList_GET_SIZE(pairs));
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(pairs); place++) {
        PyObject *pair = PyList_GET_ITEM(pairs, place);
        if (!(kept == NULL ? pack_header(buffer, pair) : pack_kept_header(buffer, pair, place, kept)))
            return 0;
    }
    return 1;
}

/* ---------------------------------------------------------------- a block, sealed */

static int pack_event_part(Buffer *buffer, int part, PyObject *value)
{
    if (part == EVENT_HEADERS)
        return pack_headers(buffer, value, NULL);
    if (part > EVENT_HEADERS)
        return pack_bytes_or_none(buffer, value);
    if (!PyLong_Check(value))
        return 0;
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return 0;
    pack_int(buffer, number);
    return 1;
}

static void pack_view_or_nil(Buffer *buffer, View view)
{
    if (view.at == NULL)
        pack_nil(buffer);
    else
        pack_bytes(buffer, view);
}

static int pack_event_in_place(Buffer *buffer, const InPlace *one)
{
    pack_int(buffer, one->kind);
    pack_int(buffer, one->source);
    pack_int(buffer, one->offset);
    pack_int(buffer, one->timestamp);
    if (one->headers == NULL)
        pack_array(buffer, 0);
    else if (!pack_headers(buffer, one->headers, NULL))
        return 0;
    pack_view_or_nil(buffer, one->key);
    pack_view_or_nil(buffer, one->value);
    return !buffer->failed;
}

static int pack_event(Buffer *buffer, PyObject *one)
{
    const InPlace *lies = event_of_object(one);
    pack_array(buffer, EVENT_FIELDS);
    if (lies != NULL)
        return pack_event_in_place(buffer, lies);
    for (int part = 0; part < EVENT_FIELDS; part++) {
        PyObject *value = member_of(&event_members, one, part);
        if (value == NULL)
            return 0;
        int packed = pack_event_part(buffer, part, value);
        Py_DECREF(value);
        if (!packed)
            return 0;
    }
    return !buffer->failed;
}

enum { LONGEST_FRAMING = 64 }; /* of an event without headers: two arrays, four numbers, two lengths, and some to spare */

/* How much room the events take at the most; 0 where nobody knows that beforehand: they have headers, or lie nowhere. */
static size_t room_of(PyObject *events)
{
    size_t room = 0;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(events); place++) {
        const InPlace *lies = event_of_object(PyList_GET_ITEM(events, place));
        if (lies == NULL || lies->headers != NULL)
            return 0;
        room += LONGEST_FRAMING + lies->key.length + lies->value.length;
    }
    return room;
}

/* seal_block(header, [Event, …]) -> (the block's bytes, its events' root), or None. */
static PyObject *seal_block(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !PyBytes_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || PyList_GET_SIZE(args[1]) == 0 ||
        PyList_GET_SIZE(args[1]) > UINT32_MAX)
        Py_RETURN_NONE;
    size_t count = (size_t)PyList_GET_SIZE(args[1]), place = 0, room = room_of(args[1]);
    size_t *ends = PyMem_Malloc(count * sizeof *ends);
    if (ends == NULL)
        return PyErr_NoMemory();
    Buffer buffer = {0};
    PyObject *data = NULL, *found = NULL;
    if (room) { /* written where it is to lie */
        room += LONGEST_FRAMING + (size_t)PyBytes_GET_SIZE(args[0]);
        data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room);
        if (data == NULL)
            goto done;
        buffer = (Buffer){(uint8_t *)PyBytes_AS_STRING(data), 0, room, 0, 1};
    }
    pack_array(&buffer, PACKED_BLOCK_FIELDS);
    put(&buffer, PyBytes_AS_STRING(args[0]), (size_t)PyBytes_GET_SIZE(args[0]));
    pack_big(&buffer, 0xdd, count, 4);
    size_t start = buffer.length;
    for (; place < count && pack_event(&buffer, PyList_GET_ITEM(args[1], (Py_ssize_t)place)); place++)
        ends[place] = buffer.length - start;
    if (place < count) {
        PyErr_Clear(); /* Python says what is wrong */
        found = Py_NewRef(Py_None);
        goto done;
    }
    PyObject *root = root_between(buffer.data + start, ends, count);
    if (data == NULL)
        data = PyBytes_FromStringAndSize((const char *)buffer.data, (Py_ssize_t)buffer.length);
    else
        _PyBytes_Resize(&data, (Py_ssize_t)buffer.length);
    PyObject *fields[SEALED_BLOCK_FIELDS] = {[SEALED_BLOCK_DATA] = data, [SEALED_BLOCK_ROOT] = root};
    found = tuple_of(fields, SEALED_BLOCK_FIELDS);
    data = NULL;
done:
    Py_XDECREF(data);
    if (!buffer.fixed)
        buffer_free(&buffer);
    PyMem_Free(ends);
    return found;
}

/* ---------------------------------------------------------------- a portion of events */

static Py_ssize_t bytes_in(PyObject *part) { return PyBytes_Check(part) ? PyBytes_GET_SIZE(part) : 0; }

static Py_ssize_t header_bytes(PyObject *headers, Py_ssize_t framing)
{
    Py_ssize_t sum = 0;
    for (Py_ssize_t i = 0; PyList_CheckExact(headers) && i < PyList_GET_SIZE(headers); i++) {
        PyObject *pair = PyList_GET_ITEM(headers, i);
        if (is_tuple_of(pair, HEADER_FIELDS) && PyUnicode_Check(field_of(pair, HEADER_NAME)))
            sum += framing + PyUnicode_GET_LENGTH(field_of(pair, HEADER_NAME)) + bytes_in(field_of(pair, HEADER_VALUE));
    }
    return sum;
}

/* The length of an event's key, value and headers, each header with its framing; -1 with an exception. */
static Py_ssize_t event_bytes(PyObject *one, Py_ssize_t framing)
{
    const InPlace *lies = event_of_object(one);
    if (lies != NULL)
        return (Py_ssize_t)(lies->key.length + lies->value.length) +
               (lies->headers == NULL ? 0 : header_bytes(lies->headers, framing));
    Py_ssize_t sum = 0;
    for (int part = EVENT_HEADERS; part < EVENT_FIELDS; part++) {
        PyObject *value = member_of(&event_members, one, part);
        if (value == NULL)
            return -1;
        sum += part == EVENT_HEADERS ? header_bytes(value, framing) : bytes_in(value);
        Py_DECREF(value);
    }
    return sum;
}

/* portion(events, at, most, room, framing, header framing) -> (the first that does not fit, the bytes of those before it) */
static PyObject *portion(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *events;
    Py_ssize_t at, most, room, framing, header_framing, bytes = 0;
    if (!PyArg_ParseTuple(args, "O!nnnnn", &PyList_Type, &events, &at, &most, &room, &framing, &header_framing))
        return NULL;
    for (; at >= 0 && at < PyList_GET_SIZE(events) && most > 0; at++, most--) {
        Py_ssize_t size = event_bytes(PyList_GET_ITEM(events, at), header_framing);
        if (size < 0)
            return NULL;
        if (bytes + size + framing > room)
            break;
        bytes += size + framing;
    }
    PyObject *fields[PORTION_FIELDS] = {
        [PORTION_END] = PyLong_FromSsize_t(at),
        [PORTION_BYTE_COUNT] = PyLong_FromSsize_t(bytes),
    };
    return tuple_of(fields, PORTION_FIELDS);
}

/* A number of an event; 0 with an exception. */
static int event_number(PyObject *one, int part, long long *number)
{
    const InPlace *lies = event_of_object(one);
    if (lies != NULL) {
        *number = part == EVENT_KIND ? lies->kind : part == EVENT_SOURCE ? lies->source : lies->offset;
        return 1;
    }
    PyObject *value = member_of(&event_members, one, part);
    if (value == NULL)
        return 0;
    *number = PyLong_AsLongLong(value);
    Py_DECREF(value);
    return *number != -1 || !PyErr_Occurred();
}

enum { SOURCES = 16 };
typedef struct {
    long long count, first, last;
} Stretch;

/* Adds an event; 0 where it is out of its source's order, or of no source, or a number is none. */
static int stretch_on(Stretch *stretches, Py_ssize_t sources, PyObject *one)
{
    long long kind, source, offset;
    if (!event_number(one, EVENT_KIND, &kind))
        return 0;
    if (kind != 0 && kind != 1)
        return 1; /* no input */
    if (!event_number(one, EVENT_SOURCE, &source) || !event_number(one, EVENT_OFFSET, &offset) || source < 0 || source >= sources)
        return 0;
    Stretch *stretch = &stretches[source];
    if (stretch->count && offset <= stretch->last)
        return 0;
    if (!stretch->count++)
        stretch->first = offset;
    stretch->last = offset;
    return 1;
}

/* stretches([Event, …], sources) -> [(inputs, the first offset, the last), …] by source; None where Python has to look. */
static PyObject *stretches(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *events;
    Py_ssize_t sources;
    Stretch found[SOURCES] = {{0}};
    if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &events, &sources))
        return NULL;
    int plain = sources >= 0 && sources <= SOURCES;
    for (Py_ssize_t place = 0; plain && place < PyList_GET_SIZE(events); place++)
        plain = stretch_on(found, sources, PyList_GET_ITEM(events, place));
    if (!plain) {
        PyErr_Clear(); /* Python says what is wrong */
        Py_RETURN_NONE;
    }
    PyObject *list = PyList_New(sources);
    for (Py_ssize_t source = 0; list != NULL && source < sources; source++) {
        PyObject *fields[STRETCH_FIELDS] = {
            [STRETCH_INPUTS] = PyLong_FromLongLong(found[source].count),
            [STRETCH_FIRST] = PyLong_FromLongLong(found[source].first),
            [STRETCH_LAST] = PyLong_FromLongLong(found[source].last),
        };
        PyObject *stretch = tuple_of(fields, STRETCH_FIELDS);
        if (stretch == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, source, stretch);
    }
    return list;
}

/* The events of which one number is the one that is wanted; None where Python has to look. */
static PyObject *events_with(int part, PyObject *args)
{
    PyObject *events;
    long long wanted, number;
    if (!PyArg_ParseTuple(args, "O!L", &PyList_Type, &events, &wanted))
        return NULL;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t place = 0; list != NULL && place < PyList_GET_SIZE(events); place++) {
        PyObject *one = PyList_GET_ITEM(events, place);
        if (!event_number(one, part, &number)) {
            PyErr_Clear(); /* Python says what is wrong */
            Py_DECREF(list);
            Py_RETURN_NONE;
        }
        if (number == wanted && PyList_Append(list, one) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* of_kind([Event, …], kind) and of_source([Event, …], source) -> those events. */
static PyObject *of_kind(PyObject *Py_UNUSED(module), PyObject *args) { return events_with(EVENT_KIND, args); }
static PyObject *of_source(PyObject *Py_UNUSED(module), PyObject *args) { return events_with(EVENT_SOURCE, args); }

/* ---------------------------------------------------------------- outputs */

static int pack_output_in_place(Buffer *buffer, const OutputInPlace *one, KeptHeader *kept)
{
    if (!pack_python_text(buffer, one->topic))
        return 0;
    pack_bytes(buffer, one->key);
    pack_bytes(buffer, one->value);
    pack_array(buffer, (size_t)own_headers(one));
    for (Py_ssize_t place = 0; place < own_headers(one); place++) {
        View name, content;
        PyObject *pair = own_header(one, place, &name, &content);
        if (pair == NULL) {
            pack_array(buffer, HEADER_FIELDS);
            pack_text(buffer, name);
            pack_bytes(buffer, content);
        } else if (!pack_kept_header(buffer, pair, place, kept)) {
            return 0;
        }
    }
    return !buffer->failed;
}

static int pack_output(Buffer *buffer, PyObject *output, KeptHeader *kept)
{
    const OutputInPlace *lies = output_of_object(output);
    pack_array(buffer, OUTPUT_FIELDS);
    if (lies != NULL)
        return pack_output_in_place(buffer, lies, kept);
    if (!is_tuple_of(output, OUTPUT_FIELDS))
        return 0;
    return pack_python_text(buffer, field_of(output, OUTPUT_TOPIC)) &&
           pack_bytes_or_none(buffer, field_of(output, OUTPUT_KEY)) &&
           pack_python_bytes(buffer, field_of(output, OUTPUT_VALUE)) &&
           pack_headers(buffer, field_of(output, OUTPUT_HEADERS), kept) && !buffer->failed;
}

enum { TOGETHER = 1 << 16 };

/* outputs_root([Output, …]) -> the root of their leaves, or None. */
static PyObject *outputs_root(PyObject *Py_UNUSED(module), PyObject *outputs)
{
    if (!PyList_CheckExact(outputs) || PyList_GET_SIZE(outputs) == 0)
        Py_RETURN_NONE;
    size_t count = (size_t)PyList_GET_SIZE(outputs), place = 0, hashed = 0;
    uint8_t *leaves = PyMem_Malloc(count * SHA256_BYTES);
    size_t *ends = PyMem_Malloc(count * sizeof *ends);
    Buffer buffer = {0};
    KeptHeader kept[KEPT_HEADERS];
    PyObject *found = NULL;
    no_headers(kept);
    if (leaves == NULL || ends == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    while (place < count && pack_output(&buffer, PyList_GET_ITEM(outputs, (Py_ssize_t)place), kept)) {
        ends[place++] = buffer.length;
        if (buffer.length < TOGETHER && place < count)
            continue; /* what is hashed at once stays in the processor's cache */
        leaf_hashes(buffer.data, ends + hashed, place - hashed, leaves + hashed * SHA256_BYTES);
        hashed = place;
        buffer.length = 0;
    }
    if (place == count) {
        found = root_of(leaves, count);
    } else {
        PyErr_Clear(); /* Python says what is wrong */
        found = Py_NewRef(Py_None);
    }
done:
    buffer_free(&buffer);
    PyMem_Free(ends);
    PyMem_Free(leaves);
    return found;
}

/* by_topic([Output, …]) -> {topic: [Output, …]}, each in the order of its first; None where one is not plain. */
static PyObject *by_topic(PyObject *Py_UNUSED(module), PyObject *outputs)
{
    if (!PyList_CheckExact(outputs))
        Py_RETURN_NONE;
    PyObject *found = PyDict_New(), *last = NULL, *list = NULL; /* the last topic and its list: borrowed */
    for (Py_ssize_t place = 0; found != NULL && place < PyList_GET_SIZE(outputs); place++) {
        PyObject *output = PyList_GET_ITEM(outputs, place);
        const OutputInPlace *lies = output_of_object(output);
        if (lies == NULL && !is_tuple_of(output, OUTPUT_FIELDS)) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        PyObject *topic = lies != NULL ? lies->topic : field_of(output, OUTPUT_TOPIC);
        if (topic != last) {
            last = topic;
            if ((list = PyDict_GetItemWithError(found, topic)) == NULL && !PyErr_Occurred()) {
                PyObject *anew = PyList_New(0);
                if (anew != NULL && PyDict_SetItem(found, topic, anew) == 0)
                    list = anew;
                Py_XDECREF(anew);
            }
        }
        if (list == NULL || PyList_Append(list, output) < 0)
            Py_CLEAR(found);
    }
    return found;
}

/* Adds one to a count of a dictionary; 0 with an exception. */
static int count_on(PyObject *counts, PyObject *key)
{
    PyObject *count = PyDict_GetItemWithError(counts, key);
    if (count == NULL && PyErr_Occurred())
        return 0;
    PyObject *more = PyLong_FromSsize_t(count == NULL ? 1 : PyLong_AsSsize_t(count) + 1);
    int done = more != NULL && PyDict_SetItem(counts, key, more) == 0;
    Py_XDECREF(more);
    return done;
}

/* Whether a pair is a header of this name; 0 in `plain` where it is none. */
static int is_named(PyObject *pair, PyObject *name, int *plain)
{
    *plain = is_tuple_of(pair, HEADER_FIELDS) && PyUnicode_CheckExact(field_of(pair, HEADER_NAME));
    PyObject *own = *plain ? field_of(pair, HEADER_NAME) : NULL;
    return *plain && (own == name || (PyUnicode_GET_LENGTH(own) == PyUnicode_GET_LENGTH(name) &&
                                      PyUnicode_Compare(own, name) == 0));
}

/* As below; a header that is the output's own is made by Python. */
static PyObject *header_in_place(const OutputInPlace *one, PyObject *name, int *plain)
{
    View wanted, own, content;
    *plain = utf8_of(name, &wanted);
    for (Py_ssize_t place = 0; *plain && place < own_headers(one); place++) {
        PyObject *pair = own_header(one, place, &own, &content);
        if (pair != NULL && is_named(pair, name, plain))
            return field_of(pair, HEADER_VALUE);
        if (pair == NULL)
            *plain = !same_view(own, wanted);
    }
    return NULL;
}

/* The value of an output's first header of this name, borrowed; NULL where it has none; 0 in `plain` where it is none. */
static PyObject *header_named(PyObject *output, PyObject *name, int *plain)
{
    const OutputInPlace *lies = output_of_object(output);
    if (lies != NULL)
        return header_in_place(lies, name, plain);
    *plain = is_tuple_of(output, OUTPUT_FIELDS) && PyList_CheckExact(field_of(output, OUTPUT_HEADERS));
    PyObject *headers = *plain ? field_of(output, OUTPUT_HEADERS) : NULL;
    for (Py_ssize_t place = 0; *plain && place < PyList_GET_SIZE(headers); place++) {
        PyObject *pair = PyList_GET_ITEM(headers, place);
        if (is_named(pair, name, plain))
            return field_of(pair, HEADER_VALUE);
    }
    return NULL;
}

/* count_headers([Output, …], name) -> how many have which value in their first header of this name, where it has one;
 * None where an output is not plain. */
static PyObject *count_headers(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *outputs, *name;
    if (!PyArg_ParseTuple(args, "O!U", &PyList_Type, &outputs, &name))
        return NULL;
    PyObject *found = PyDict_New();
    for (Py_ssize_t place = 0; found != NULL && place < PyList_GET_SIZE(outputs); place++) {
        int plain;
        PyObject *value = header_named(PyList_GET_ITEM(outputs, place), name, &plain);
        if (!plain) {
            PyErr_Clear(); /* a name that is no UTF-8: no header of ours has it */
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
        if (value != NULL && value != Py_None && !count_on(found, value))
            Py_CLEAR(found);
    }
    return found;
}

/* ---------------------------------------------------------------- what decisions tell (codecs/blocks.py) */

/* A word of small letters and hyphens between `before` and a quotation mark, if that is what begins here; passes it. */
static int take_word(Reader *reader, View before, View *word)
{
    const uint8_t *at = reader->at;
    if ((size_t)(reader->end - at) < before.length || memcmp(at, before.at, before.length) != 0)
        return 0;
    at += before.length;
    const uint8_t *start = at;
    while (at < reader->end && ((*at >= 'a' && *at <= 'z') || *at == '-'))
        at++;
    if (at == start || at == reader->end || *at != '"')
        return 0;
    *word = (View){start, (size_t)(at - start)};
    reader->at = at + 1;
    return 1;
}

/* The first status in a record, with the reason behind it; empty where there is none. */
static void told_in(View record, View *status, View *reason)
{
    static const View is_status = VIEW("\"status\":\""), is_basis = VIEW(",\"basis\":\""), is_reason = VIEW(",\"reason\":\"");
    Reader reader = {record.at, record.at + record.length};
    View basis;
    *status = *reason = (View)VIEW("");
    while ((reader.at = memchr(reader.at, '"', (size_t)(reader.end - reader.at))) != NULL) {
        if (take_word(&reader, is_status, status)) {
            take_word(&reader, is_basis, &basis);
            take_word(&reader, is_reason, reason);
            return;
        }
        reader.at++;
    }
}

enum { TELLINGS = 16 };
typedef struct {
    View status, reason; /* in one of the records */
    Py_ssize_t count;
} Telling;

/* One more record; 0 where there are too many kinds of them. */
static int tell_on(Telling tellings[TELLINGS], View record)
{
    View status, reason;
    told_in(record, &status, &reason);
    for (int i = 0; i < TELLINGS; i++) {
        Telling *one = &tellings[i];
        if (one->count && !(same_view(one->status, status) && same_view(one->reason, reason)))
            continue;
        if (!one->count++) {
            one->status = status;
            one->reason = reason;
        }
        return 1;
    }
    return 0;
}

/* Status and reason with a quotation mark between, which neither has. */
static PyObject *key_of(const Telling *one)
{
    PyObject *key = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(one->status.length + 1 + one->reason.length));
    if (key != NULL) {
        char *at = PyBytes_AS_STRING(key);
        memcpy(at, one->status.at, one->status.length);
        at[one->status.length] = '"';
        memcpy(at + one->status.length + 1, one->reason.at, one->reason.length);
    }
    return key;
}

/* count_told([Output, …], most) -> how many tell which status and reason, a quotation mark between, of what stands in the
 * first bytes of each; None where an output is not plain, or they tell too many things. */
static PyObject *count_told(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *outputs;
    Py_ssize_t most;
    Telling tellings[TELLINGS] = {{VIEW(""), VIEW(""), 0}};
    if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &outputs, &most))
        return NULL;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(outputs); place++) {
        PyObject *output = PyList_GET_ITEM(outputs, place);
        const OutputInPlace *lies = output_of_object(output);
        if (most < 0 || (lies == NULL && (!is_tuple_of(output, OUTPUT_FIELDS) ||
                                          !PyBytes_CheckExact(field_of(output, OUTPUT_VALUE)))))
            Py_RETURN_NONE;
        View record = lies != NULL ? lies->value : view_of_bytes(field_of(output, OUTPUT_VALUE));
        if (record.length > (size_t)most)
            record.length = (size_t)most;
        if (!tell_on(tellings, record))
            Py_RETURN_NONE;
    }
    PyObject *found = PyDict_New();
    for (int i = 0; found != NULL && i < TELLINGS && tellings[i].count; i++) {
        PyObject *key = key_of(&tellings[i]), *count = PyLong_FromSsize_t(tellings[i].count);
        if (key == NULL || count == NULL || PyDict_SetItem(found, key, count) < 0)
            Py_CLEAR(found);
        Py_XDECREF(key);
        Py_XDECREF(count);
    }
    return found;
}

enum { COMPARED_KEY, COMPARED_VALUE, COMPARED_HEADERS, COMPARED, COMPARED_OFFSET = COMPARED };
static Members stored_members = {.names = {[COMPARED_KEY] = "key",
                                           [COMPARED_VALUE] = "value",
                                           [COMPARED_HEADERS] = "headers",
                                           [COMPARED_OFFSET] = "offset"}};
static const int COMPARED_WITH[COMPARED] = {
    [COMPARED_KEY] = OUTPUT_KEY, [COMPARED_VALUE] = OUTPUT_VALUE, [COMPARED_HEADERS] = OUTPUT_HEADERS};

/* Whether two are equal: 1, 0, or -1 with an exception. */
static int is_equal_bytes(PyObject *one, PyObject *other)
{
    if (one == other)
        return 1;
    if (!PyBytes_CheckExact(one) || !PyBytes_CheckExact(other))
        return PyObject_RichCompareBool(one, other, Py_EQ);
    return PyBytes_GET_SIZE(one) == PyBytes_GET_SIZE(other) &&
           memcmp(PyBytes_AS_STRING(one), PyBytes_AS_STRING(other), (size_t)PyBytes_GET_SIZE(one)) == 0;
}

static int is_equal_headers(PyObject *one, PyObject *other)
{
    if (!PyList_CheckExact(one) || !PyList_CheckExact(other) || PyList_GET_SIZE(one) != PyList_GET_SIZE(other))
        return PyObject_RichCompareBool(one, other, Py_EQ);
    int equal = 1;
    for (Py_ssize_t place = 0; equal == 1 && place < PyList_GET_SIZE(one); place++) {
        PyObject *pair = PyList_GET_ITEM(one, place), *with = PyList_GET_ITEM(other, place);
        if (pair == with)
            continue;
        if (!PyTuple_CheckExact(pair) || !PyTuple_CheckExact(with) || PyTuple_GET_SIZE(pair) != HEADER_FIELDS ||
            PyTuple_GET_SIZE(with) != HEADER_FIELDS)
            return PyObject_RichCompareBool(one, other, Py_EQ);
        equal = PyObject_RichCompareBool(field_of(pair, HEADER_NAME), field_of(with, HEADER_NAME), Py_EQ);
        if (equal == 1)
            equal = is_equal_bytes(field_of(pair, HEADER_VALUE), field_of(with, HEADER_VALUE));
    }
    return equal;
}

static int is_in_place(PyObject *bytes, View view)
{
    return PyBytes_CheckExact(bytes) ? view.at != NULL && same_view(view_of_bytes(bytes), view)
                                      : bytes == Py_None && view.at == NULL;
}

/* Whether a stored record has this output's own headers. */
static int has_own_headers(const OutputInPlace *output, const InPlace *record)
{
    if (record->header_count != own_headers(output))
        return 0;
    Reader headers = {record->raw_headers.at, record->raw_headers.at + record->raw_headers.length};
    for (Py_ssize_t place = 0; place < own_headers(output); place++) {
        View name, content;
        PyObject *pair = own_header(output, place, &name, &content);
        if (!(pair == NULL ? is_next_header(&headers, name, content) : is_next_pair(&headers, pair)))
            return 0;
    }
    return 1;
}

/* The same of a record that was made, part by part; -1 with an exception. */
static int is_made_record_of(PyObject *output, PyObject *record)
{
    int equal = 1;
    for (int part = 0; equal == 1 && part < COMPARED; part++) {
        PyObject *ours = output_part(output, COMPARED_WITH[part]), *stored = member_of(&stored_members, record, part);
        equal = ours == NULL || stored == NULL ? -1 : PyObject_RichCompareBool(ours, stored, Py_EQ);
        Py_XDECREF(ours);
        Py_XDECREF(stored);
    }
    return equal;
}

/* Whether a stored record is this output; -1 with an exception. */
static int is_record_of(PyObject *output, PyObject *record)
{
    const OutputInPlace *own = output_of_object(output);
    const int is_raw = Py_IS_TYPE(record, stored_in_place);
    if (own != NULL && !is_raw)
        return is_made_record_of(output, record);
    if (own != NULL) {
        const InPlace *stored = (InPlace *)record;
        return stored->key.at != NULL && same_view(own->key, stored->key) && stored->value.at != NULL &&
               same_view(own->value, stored->value) && has_own_headers(own, stored);
    }
    if (is_raw) {
        const InPlace *lies = (InPlace *)record;
        return is_in_place(field_of(output, OUTPUT_KEY), lies->key) &&
               is_in_place(field_of(output, OUTPUT_VALUE), lies->value) &&
               same_headers(field_of(output, OUTPUT_HEADERS), lies->raw_headers, lies->header_count);
    }
    static int (*const is_equal[COMPARED])(PyObject *, PyObject *) = {
        [COMPARED_KEY] = is_equal_bytes, [COMPARED_VALUE] = is_equal_bytes, [COMPARED_HEADERS] = is_equal_headers};
    int equal = 1;
    for (int part = 0; equal == 1 && part < COMPARED; part++) {
        PyObject *stored = member_of(&stored_members, record, part);
        if (stored == NULL)
            return -1;
        equal = is_equal[part](field_of(output, COMPARED_WITH[part]), stored);
        Py_DECREF(stored);
    }
    return equal;
}

/* matching([Output, …], at, [record, …], first) -> how many records from `first` on are the outputs from `at` on, in
 * order. */
static PyObject *matching(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *outputs, *records;
    Py_ssize_t at, first, found = 0;
    if (!PyArg_ParseTuple(args, "O!nO!n", &PyList_Type, &outputs, &at, &PyList_Type, &records, &first))
        return NULL;
    if (at < 0 || first < 0)
        return PyLong_FromSsize_t(0);
    int equal = 1;
    while (at + found < PyList_GET_SIZE(outputs) && first + found < PyList_GET_SIZE(records)) {
        PyObject *output = PyList_GET_ITEM(outputs, at + found), *record = PyList_GET_ITEM(records, first + found);
        if (output_of_object(output) == NULL && !is_tuple_of(output, OUTPUT_FIELDS))
            break;
        Py_INCREF(output); /* a record's own comparison may be Python's */
        Py_INCREF(record);
        equal = is_record_of(output, record);
        Py_DECREF(record);
        Py_DECREF(output);
        if (equal != 1)
            break;
        found++;
    }
    return equal < 0 ? NULL : PyLong_FromSsize_t(found);
}

/* The offset of a stored record and the bytes of its value; 0 where it is not plain, with or without an exception. */
static int place_of(PyObject *record, long long *offset, Py_ssize_t *bytes)
{
    if (Py_IS_TYPE(record, stored_in_place)) {
        *offset = ((InPlace *)record)->offset;
        *bytes = (Py_ssize_t)((InPlace *)record)->value.length;
        return 1;
    }
    PyObject *number = member_of(&stored_members, record, COMPARED_OFFSET), *value = NULL;
    int plain = number != NULL && PyLong_CheckExact(number) &&
                (value = member_of(&stored_members, record, COMPARED_VALUE)) != NULL &&
                (value == Py_None || PyBytes_CheckExact(value));
    if (plain) {
        *offset = PyLong_AsLongLong(number);
        plain = *offset != -1 || !PyErr_Occurred();
        *bytes = bytes_in(value);
    }
    Py_XDECREF(value);
    Py_XDECREF(number);
    return plain;
}

/* run([record, …], offset) -> the bytes of their values, or None where their offsets do not increase from there on, or
 * Python has to look. */
static PyObject *run(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *records;
    long long before;
    Py_ssize_t bytes = 0;
    if (!PyArg_ParseTuple(args, "O!L", &PyList_Type, &records, &before))
        return NULL;
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(records); place++) {
        long long offset;
        Py_ssize_t size;
        if (!place_of(PyList_GET_ITEM(records, place), &offset, &size) || offset <= before) {
            PyErr_Clear(); /* Python says what is wrong */
            Py_RETURN_NONE;
        }
        before = offset;
        bytes += size;
    }
    return PyLong_FromSsize_t(bytes);
}

/* crc32c(data, start, end) -> the CRC-32C of the bytes in between; None where nothing here computes it. */
static PyObject *crc32c(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *data;
    Py_ssize_t start, end;
    if (!PyArg_ParseTuple(args, "Snn", &data, &start, &end))
        return NULL;
    if (start < 0 || end < start || end > PyBytes_GET_SIZE(data)) {
        PyErr_SetString(PyExc_ValueError, "no such place");
        return NULL;
    }
    const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(data) + start;
    uint32_t crc = 0;
    if (!crc32c_of(bytes, (size_t)(end - start), &crc)) /* 0.15 us a kB: less than handing the interpreter over */
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(crc);
}

static PyMethodDef methods[] = {
    {"leaf_hash", leaf_hash_of, METH_O, "SHA-256 over 0x00 and the data."},
    {"root", root, METH_O, "The Merkle root of leaves of 32 bytes each; None of others, and of none."},
    {"crc32c", crc32c, METH_VARARGS, "The CRC-32C of a part of the data; None where nothing here computes it."},
    {"murmur2", murmur2_of, METH_O, "The 32-bit MurmurHash2 with Kafka's seed."},
    {"open_block", (PyCFunction)(void (*)(void))open_block, METH_FASTCALL,
     "Where a block's header ends, its events, and their root; None where it is not plain."},
    {"seal_block", (PyCFunction)(void (*)(void))seal_block, METH_FASTCALL,
     "A block's bytes and its events' root, of its packed header and its events; None where one is not plain."},
    {"stretches", stretches, METH_VARARGS,
     "How many inputs of each source, with their first and last offset; None where Python has to look."},
    {"of_kind", of_kind, METH_VARARGS, "The events of one kind; None where Python has to look."},
    {"of_source", of_source, METH_VARARGS, "The events of one source; None where Python has to look."},
    {"portion", portion, METH_VARARGS, "How many events fit into a block, and their bytes."},
    {"read_events", (PyCFunction)(void (*)(void))read_events, METH_FASTCALL, "Records of a batch as events."},
    {"read_stored", (PyCFunction)(void (*)(void))read_stored, METH_FASTCALL, "Records of a batch as they are stored."},
    {"pack_records", pack_records, METH_VARARGS, "Outputs as the records of a batch; None where one is not plain."},
    {"matching", matching, METH_VARARGS, "How many of the records from a place on are these outputs, in order."},
    {"run", run, METH_VARARGS, "The bytes of the values of records in the order of their offsets; or None."},
    {"by_topic", by_topic, METH_O, "A list of outputs by their topics, in order; None where one is not plain."},
    {"count_headers", count_headers, METH_VARARGS,
     "How many outputs have which value in their first header of a name; None where one is not plain."},
    {"count_told", count_told, METH_VARARGS,
     "How many outputs tell which status and reason; None where Python has to look."},
    {"outputs_root", outputs_root, METH_O, "The root of a list of outputs; None where it is not plain."},
    {NULL, NULL, 0, NULL},
};

static int on_start(PyObject *module)
{
    if (!members_begin(&event_members) || !members_begin(&stored_members) || !in_place_begin(module) ||
        !outputs_begin(module) ||
        PyModule_AddIntConstant(module, "PURE", sluice_pure()) < 0 ||
        PyModule_AddStringConstant(module, "LAYOUT", SLUICE_CODECS_LAYOUT) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "VERSION", SLUICE_NATIVE_VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, on_start}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sluice.codecs._native", NULL, 0, methods, slots, NULL, NULL,
                                 NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }

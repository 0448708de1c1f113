/* The part of ringbuf that Python cannot promise: the order in which two processes see memory.
 *
 * The words and their orders are in _ring.h. This file gives them to Python:
 *
 *   Words     64-bit control words, one writer each
 *   Columns   one slot of a structure of arrays as plain ints
 *   Doorbell  how a process sleeps until one of its lanes has something for it
 *   Ring      head and tail of a single-producer single-consumer ring
 *   lifeline  ends this process when its parent is gone, even while Python holds the GIL
 *
 * Built against the stable ABI of Python 3.11; one binary serves every later one. The GIL is held
 * everywhere but in the one place that waits: Doorbell.park.
 */
#define PY_SSIZE_T_CLEAN
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <Python.h>
#include <structmember.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "_ring.h"

typedef struct {
    PyTypeObject *doorbell;
    PyObject *closed; /* ringbuf.errors.Closed */
} State;

static State *state_of(void *self) { return PyType_GetModuleState(Py_TYPE((PyObject *)self)); }

/* ---------------------------------------------------------------- Shared
 *
 * What all three types begin with: a piece of the mapping. `at` is NULL before __init__ and after
 * close(); the buffer is held until the object goes, so a thread that is parked, or a NumPy view,
 * never loses the memory under it.
 */
typedef struct {
    PyObject_HEAD
    Py_buffer memory;
    void *at;
} Shared;

/* The first of `size` bytes at an offset of an exported buffer; read-only buffers will do. */
static int shared_open(Shared *self, PyObject *source, Py_ssize_t offset, size_t size)
{
    if (self->memory.obj) {
        PyErr_SetString(PyExc_TypeError, "__init__ was called twice");
        return -1;
    }
    if (PyObject_GetBuffer(source, &self->memory, PyBUF_WRITABLE) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_BufferError))
            return -1;
        PyErr_Clear();
        if (PyObject_GetBuffer(source, &self->memory, PyBUF_SIMPLE) < 0)
            return -1;
    }
    if (offset < 0 || offset > self->memory.len || size > (size_t)(self->memory.len - offset)) {
        PyErr_Format(PyExc_ValueError, "%zu bytes at offset %zd do not fit in %zd bytes", size,
                     offset, self->memory.len);
        return -1;
    }
    char *at = (char *)self->memory.buf + offset;
    if ((uintptr_t)at % sizeof(word_t)) {
        PyErr_Format(PyExc_ValueError, "offset %zd is not that of a 64-bit word", offset);
        return -1;
    }
    self->at = at;
    return 0;
}

/* 0 if the object may be used, and written to if that is asked. */
static int shared_check(void *self, int writing)
{
    Shared *shared = self;
    if (!shared->at) {
        PyErr_SetString(state_of(self)->closed, "its arena is closed");
        return -1;
    }
    if (writing && shared->memory.readonly) {
        PyErr_SetString(PyExc_TypeError, "this arena is mapped for reading only");
        return -1;
    }
    return 0;
}

static void shared_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyBuffer_Release(&((Shared *)self)->memory);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *shared_is_closed(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(!((Shared *)self)->at);
}

static PyObject *number(uint64_t value) { return PyLong_FromUnsignedLongLong(value); }

static int to_number(PyObject *value, uint64_t limit, uint64_t *result)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "it cannot be deleted");
        return -1;
    }
    *result = PyLong_AsUnsignedLongLong(value);
    if (*result == (uint64_t)-1 && PyErr_Occurred())
        return -1;
    if (*result > limit) {
        PyErr_Format(PyExc_ValueError, "%llu slots, but only %llu are there",
                     (unsigned long long)*result, (unsigned long long)limit);
        return -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- Words */

typedef struct {
    Shared shared;
    Py_ssize_t count, stride;
} Words;

static int Words_init(Words *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "offset", "count", "stride", NULL};
    PyObject *source;
    Py_ssize_t offset, count, stride = LINE;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn|n", names, &source, &offset, &count,
                                     &stride))
        return -1;
    if (count < 0 || stride < 8 || stride % 8 || count > PY_SSIZE_T_MAX / stride) {
        PyErr_Format(PyExc_ValueError, "%zd words, %zd bytes apart", count, stride);
        return -1;
    }
    self->count = count;
    self->stride = stride;
    return shared_open(&self->shared, source, offset, (size_t)(count * stride));
}

static word_t *Words_at(PyObject *object, Py_ssize_t index, int writing)
{
    Words *self = (Words *)object;
    if (shared_check(self, writing) < 0)
        return NULL;
    if (index < 0 || index >= self->count) {
        PyErr_Format(PyExc_IndexError, "word %zd of %zd", index, self->count);
        return NULL;
    }
    return (word_t *)((char *)self->shared.at + index * self->stride);
}

static PyObject *Words_item(PyObject *self, Py_ssize_t index)
{
    word_t *word = Words_at(self, index, 0);
    return word ? number(word_load(word)) : NULL;
}

static int Words_assign(PyObject *self, Py_ssize_t index, PyObject *value)
{
    uint64_t wanted;
    word_t *word = Words_at(self, index, 1);
    if (!word || to_number(value, UINT64_MAX, &wanted) < 0)
        return -1;
    word_store(word, wanted);
    return 0;
}

static Py_ssize_t Words_length(PyObject *self) { return ((Words *)self)->count; }

static PyObject *Words_close(Words *self, PyObject *Py_UNUSED(ignored))
{
    self->shared.at = NULL;
    Py_RETURN_NONE;
}

static PyMethodDef Words_methods[] = {
    {"close", (PyCFunction)Words_close, METH_NOARGS, "Any later use raises Closed."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef Words_getset[] = {
    {"is_closed", shared_is_closed, NULL, "Whether close() was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot Words_slots[] = {
    {Py_tp_doc, "Words(memory, offset, count, stride=128): atomic 64-bit words of a mapping."},
    {Py_tp_init, Words_init},
    {Py_tp_dealloc, shared_dealloc},
    {Py_tp_methods, Words_methods},
    {Py_tp_getset, Words_getset},
    {Py_sq_item, Words_item},
    {Py_sq_ass_item, Words_assign},
    {Py_sq_length, Words_length},
    {0, NULL},
};
static PyType_Spec Words_spec = {"ringbuf._core.Words", sizeof(Words), 0, Py_TPFLAGS_DEFAULT,
                                 Words_slots};

/* -------------------------------------------------------------- Columns
 *
 * One slot of a structure of arrays as plain ints, in one call. The same through NumPy costs an
 * object and a lookup for each value, and that on the way of every token. Plain loads and stores:
 * it is the counters of the ring that say who may touch a slot.
 */
#define MAX_COLUMNS 16

typedef struct {
    char *first;
    char type; /* as in the struct module: B I i q */
} column_t;

typedef struct {
    Shared shared;
    Py_ssize_t capacity, count;
    column_t columns[MAX_COLUMNS];
} Columns;

static Py_ssize_t type_size(char type)
{
    return type == 'B' ? 1 : type == 'I' || type == 'i' ? 4 : type == 'q' ? 8 : 0;
}

static int Columns_init(Columns *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "capacity", "types", "offsets", NULL};
    PyObject *source, *offsets;
    Py_ssize_t capacity;
    const char *types;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OnsO!", names, &source, &capacity, &types,
                                     &PyTuple_Type, &offsets))
        return -1;
    if (shared_open(&self->shared, source, 0, 0) < 0)
        return -1;
    Py_ssize_t count = (Py_ssize_t)strlen(types);
    if (count > MAX_COLUMNS || PyTuple_Size(offsets) != count || capacity < 1) {
        PyErr_SetString(PyExc_ValueError, "one offset for each type, and a capacity above 0");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t offset = PyLong_AsSsize_t(PyTuple_GetItem(offsets, i));
        Py_ssize_t size = type_size(types[i]);
        if (offset == -1 && PyErr_Occurred())
            return -1;
        if (!size || offset < 0 || offset % size ||
            capacity > (self->shared.memory.len - offset) / size) {
            PyErr_Format(PyExc_ValueError, "a column of type %c at offset %zd", types[i], offset);
            return -1;
        }
        self->columns[i] = (column_t){(char *)self->shared.at + offset, types[i]};
    }
    self->capacity = capacity;
    self->count = count;
    return 0;
}

static int Columns_slot(Columns *self, PyObject *value, Py_ssize_t *slot)
{
    *slot = PyLong_AsSsize_t(value);
    if (*slot == -1 && PyErr_Occurred())
        return -1;
    if (*slot < 0 || *slot >= self->capacity) {
        PyErr_Format(PyExc_IndexError, "slot %zd of %zd", *slot, self->capacity);
        return -1;
    }
    return 0;
}

static long long column_load(column_t column, Py_ssize_t slot)
{
    switch (column.type) {
    case 'B':
        return ((const uint8_t *)column.first)[slot];
    case 'I':
        return ((const uint32_t *)column.first)[slot];
    case 'i':
        return ((const int32_t *)column.first)[slot];
    default:
        return ((const int64_t *)column.first)[slot];
    }
}

/* Whether it fits. */
static int column_store(column_t column, Py_ssize_t slot, long long value)
{
    switch (column.type) {
    case 'B':
        ((uint8_t *)column.first)[slot] = (uint8_t)value;
        return value >= 0 && value <= UINT8_MAX;
    case 'I':
        ((uint32_t *)column.first)[slot] = (uint32_t)value;
        return value >= 0 && value <= UINT32_MAX;
    case 'i':
        ((int32_t *)column.first)[slot] = (int32_t)value;
        return value >= INT32_MIN && value <= INT32_MAX;
    default:
        ((int64_t *)column.first)[slot] = value;
        return 1;
    }
}

static PyObject *Columns_get(Columns *self, PyObject *argument)
{
    Py_ssize_t slot;
    if (Columns_slot(self, argument, &slot) < 0)
        return NULL;
    PyObject *values = PyTuple_New(self->count);
    for (Py_ssize_t i = 0; values && i < self->count; i++) {
        PyObject *value = PyLong_FromLongLong(column_load(self->columns[i], slot));
        if (!value || PyTuple_SetItem(values, i, value) < 0)
            Py_CLEAR(values);
    }
    return values;
}

static PyObject *Columns_set(Columns *self, PyObject *args)
{
    Py_ssize_t slot;
    if (PyTuple_Size(args) != self->count + 1)
        return PyErr_Format(PyExc_TypeError, "a slot and %zd values", self->count);
    if (shared_check(self, 1) < 0 || Columns_slot(self, PyTuple_GetItem(args, 0), &slot) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        long long value = PyLong_AsLongLong(PyTuple_GetItem(args, i + 1));
        if (value == -1 && PyErr_Occurred())
            return NULL;
        if (!column_store(self->columns[i], slot, value))
            return PyErr_Format(PyExc_OverflowError, "%lld in column %zd", value, i);
    }
    Py_RETURN_NONE;
}

#define TOKEN_TYPES "iIIIBq" /* id, position, turn, answer, kind, stamp: see ringbuf/layout.py */
#define KIND_ID 0            /* ringbuf.Kind.ID */

static int has_token_types(const Columns *self)
{
    for (Py_ssize_t i = 0; i < self->count; i++)
        if (self->columns[i].type != TOKEN_TYPES[i])
            return 0;
    return self->count == (Py_ssize_t)sizeof TOKEN_TYPES - 1;
}

/* Where the run that begins at `first` ends: ids of one turn and answer at consecutive positions,
 * or one slot of another kind. The same by NumPy takes longer than the rest of a read. */
static Py_ssize_t token_run(const Columns *self, Py_ssize_t first, Py_ssize_t stop)
{
    const uint32_t *position = (const uint32_t *)self->columns[1].first;
    const uint32_t *turn = (const uint32_t *)self->columns[2].first;
    const uint32_t *answer = (const uint32_t *)self->columns[3].first;
    const uint8_t *kind = (const uint8_t *)self->columns[4].first;
    Py_ssize_t slot = first + 1;
    while (slot < stop && kind[first] == KIND_ID && kind[slot] == KIND_ID &&
           turn[slot] == turn[first] && answer[slot] == answer[first] &&
           position[slot] == position[slot - 1] + 1)
        slot++;
    return slot;
}

static PyObject *Columns_run(Columns *self, PyObject *args)
{
    Py_ssize_t first, stop;
    if (!PyArg_ParseTuple(args, "nn", &first, &stop))
        return NULL;
    if (!has_token_types(self)) {
        PyErr_SetString(PyExc_TypeError, "only token slots have runs");
        return NULL;
    }
    if (first < 0 || first >= stop || stop > self->capacity)
        return PyErr_Format(PyExc_IndexError, "slots %zd to %zd of %zd", first, stop,
                            self->capacity);
    return PyLong_FromSsize_t(token_run(self, first, stop));
}

static PyMethodDef Columns_methods[] = {
    {"get", (PyCFunction)Columns_get, METH_O, "The values of one slot."},
    {"run", (PyCFunction)Columns_run, METH_VARARGS, "The end of the run from first, below stop."},
    {"set", (PyCFunction)Columns_set, METH_VARARGS, "Store the values of one slot."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot Columns_slots[] = {
    {Py_tp_doc, "Columns(memory, capacity, types, offsets): slots of a structure of arrays."},
    {Py_tp_init, Columns_init},
    {Py_tp_dealloc, shared_dealloc},
    {Py_tp_methods, Columns_methods},
    {0, NULL},
};
static PyType_Spec Columns_spec = {"ringbuf._core.Columns", sizeof(Columns), 0, Py_TPFLAGS_DEFAULT,
                                   Columns_slots};

/* ------------------------------------------------------------- Doorbell */

typedef struct {
    Shared shared;
    bell_t bell;
} Doorbell;

static int Doorbell_init(Doorbell *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "offset", "lanes", "read_fd", "write_fd", NULL};
    PyObject *source;
    Py_ssize_t offset, lanes;
    int read_fd = -1, write_fd = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn|ii", names, &source, &offset, &lanes,
                                     &read_fd, &write_fd))
        return -1;
    if (lanes < 0 || lanes > PY_SSIZE_T_MAX - 63) {
        PyErr_Format(PyExc_ValueError, "%zd lanes", lanes);
        return -1;
    }
    size_t words = ((size_t)lanes + 63) / 64;
    if (shared_open(&self->shared, source, offset, sizeof(struct bell) + words * 8) < 0)
        return -1;
    /* rung: what a predecessor left in the pipe is thrown out before the first sleep. */
    self->bell = (bell_t){self->shared.at, (size_t)lanes, words, read_fd, write_fd, true};
    return 0;
}

/* The bell, or NULL with an exception. */
static bell_t *Doorbell_open(Doorbell *self, int writing)
{
    return shared_check(self, writing) < 0 ? NULL : &self->bell;
}

static bell_t *Doorbell_owned(Doorbell *self)
{
    bell_t *bell = Doorbell_open(self, 1);
    if (bell && bell->read_fd < 0) {
        PyErr_SetString(PyExc_ValueError, "only the owner of a doorbell may sleep on it");
        return NULL;
    }
    return bell;
}

static PyObject *Doorbell_ring(Doorbell *self, PyObject *argument)
{
    bell_t *bell = Doorbell_open(self, 1);
    if (!bell)
        return NULL;
    Py_ssize_t lane = PyLong_AsSsize_t(argument);
    if (lane == -1 && PyErr_Occurred())
        return NULL;
    if (lane < 0 || (size_t)lane >= bell->lanes)
        return PyErr_Format(PyExc_IndexError, "lane %zd of %zu", lane, bell->lanes);
    bell_ring(bell, (size_t)lane);
    Py_RETURN_NONE;
}

static PyObject *Doorbell_nudge(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    bell_t *bell = Doorbell_open(self, 1);
    if (!bell)
        return NULL;
    bell_nudge(bell);
    Py_RETURN_NONE;
}

static int append_lanes(PyObject *lanes, size_t word, uint64_t bits)
{
    for (; bits; bits &= bits - 1) {
        PyObject *lane = PyLong_FromSize_t(word * 64 + (size_t)__builtin_ctzll(bits));
        int failed = !lane || PyList_Append(lanes, lane) < 0;
        Py_XDECREF(lane);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *Doorbell_take(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    bell_t *bell = Doorbell_open(self, 1);
    PyObject *lanes = bell ? PyList_New(0) : NULL;
    for (size_t i = 0; lanes && i < bell->words; i++)
        if (append_lanes(lanes, i, bell_take(bell, i)) < 0)
            Py_CLEAR(lanes);
    return lanes;
}

static PyObject *Doorbell_pending(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    bell_t *bell = Doorbell_open(self, 0);
    PyObject *lanes = bell ? PyList_New(0) : NULL;
    for (size_t i = 0; lanes && i < bell->words; i++)
        if (append_lanes(lanes, i, word_load(&bell->shared->work[i])) < 0)
            Py_CLEAR(lanes);
    return lanes;
}

static PyObject *Doorbell_arm(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    bell_t *bell = Doorbell_owned(self);
    return bell ? PyBool_FromLong(bell_arm(bell)) : NULL;
}

static PyObject *Doorbell_disarm(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    bell_t *bell = Doorbell_owned(self);
    if (!bell)
        return NULL;
    bell_disarm(bell);
    Py_RETURN_NONE;
}

static PyObject *Doorbell_park(Doorbell *self, PyObject *argument)
{
    bell_t *bell = Doorbell_owned(self);
    if (!bell)
        return NULL;
    double seconds = PyFloat_AsDouble(argument);
    if (seconds == -1.0 && PyErr_Occurred())
        return NULL;
    int64_t ns = seconds > 0 ? seconds < 1 ? (int64_t)(seconds * 1e9) : SAFETY_NS : 0;
    int events = 1;
    if (bell_before_sleep(bell)) {
        /* Another thread may close the arena meanwhile; the mapping stays until we are gone. */
        Py_BEGIN_ALLOW_THREADS
        events = bell_sleep(bell, ns);
        Py_END_ALLOW_THREADS
        bell_after_sleep(bell, events);
    }
    if (events < 0 && PyErr_CheckSignals() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *Doorbell_fileno(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    bell_t *bell = Doorbell_open(self, 0);
    return bell ? PyLong_FromLong(bell->read_fd) : NULL;
}

static PyObject *Doorbell_close(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    /* A thread of this process that is parked on it wakes up, and then finds it closed. */
    if (self->shared.at && !self->shared.memory.readonly && self->bell.read_fd >= 0)
        bell_nudge(&self->bell);
    self->shared.at = NULL;
    Py_RETURN_NONE;
}

static PyObject *Doorbell_repr(Doorbell *self)
{
    if (!self->shared.at)
        return PyUnicode_FromString("<Doorbell: closed>");
    struct bell *bell = self->shared.at;
    return PyUnicode_FromFormat(
        "<Doorbell: %s, %s, recoveries %llu>", bell_load_life(&self->bell) % 2 ? "dead" : "alive",
        word_load(&bell->asleep) ? "asleep" : "awake",
        (unsigned long long)word_load(&bell->recoveries));
}

static PyObject *Doorbell_get(Doorbell *self, void *closure)
{
    bell_t *bell = Doorbell_open(self, 0);
    if (!bell)
        return NULL;
    switch (*(const char *)closure) {
    case 'a':
        return PyBool_FromLong(word_load(&bell->shared->asleep) != 0);
    case 'b':
        return number(word_load(&bell->shared->beat));
    case 'l':
        return number(bell_load_life(bell));
    default:
        return number(word_load(&bell->shared->recoveries));
    }
}

static int Doorbell_set(Doorbell *self, PyObject *value, void *closure)
{
    uint64_t wanted;
    bell_t *bell = Doorbell_open(self, 1);
    if (!bell || to_number(value, UINT64_MAX, &wanted) < 0)
        return -1;
    if (*(const char *)closure == 'l')
        bell_store_life(bell, wanted);
    else /* relaxed: a time that is compared with the clock, nothing else */
        atomic_store_explicit(&bell->shared->beat, wanted, memory_order_relaxed);
    return 0;
}

static PyMethodDef Doorbell_methods[] = {
    {"ring", (PyCFunction)Doorbell_ring, METH_O, "Mark a lane as having work; wake the owner."},
    {"nudge", (PyCFunction)Doorbell_nudge, METH_NOARGS, "Wake the owner, asleep or not."},
    {"take", (PyCFunction)Doorbell_take, METH_NOARGS, "The lanes that have work; clears them."},
    {"pending", (PyCFunction)Doorbell_pending, METH_NOARGS, "The lanes that have work."},
    {"park", (PyCFunction)Doorbell_park, METH_O, "Sleep until rung, at most so many seconds."},
    {"arm", (PyCFunction)Doorbell_arm, METH_NOARGS, "Go to sleep; False if there is work."},
    {"disarm", (PyCFunction)Doorbell_disarm, METH_NOARGS, "Wake up and empty the pipe."},
    {"fileno", (PyCFunction)Doorbell_fileno, METH_NOARGS, "The descriptor to wait on."},
    {"close", (PyCFunction)Doorbell_close, METH_NOARGS, "Any later use raises Closed."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef Doorbell_getset[] = {
    {"asleep", (getter)Doorbell_get, NULL, "Whether the owner sleeps.", "a"},
    {"beat", (getter)Doorbell_get, (setter)Doorbell_set, "Last sign of life, ns.", "b"},
    {"life", (getter)Doorbell_get, (setter)Doorbell_set, "Odd while the owner is dead.", "l"},
    {"recoveries", (getter)Doorbell_get, NULL, "Wake-ups that were missed.", "r"},
    {"is_closed", shared_is_closed, NULL, "Whether close() was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot Doorbell_slots[] = {
    {Py_tp_doc, "Doorbell(memory, offset, lanes, read_fd=-1, write_fd=-1)"},
    {Py_tp_init, Doorbell_init},
    {Py_tp_repr, Doorbell_repr},
    {Py_tp_dealloc, shared_dealloc},
    {Py_tp_methods, Doorbell_methods},
    {Py_tp_getset, Doorbell_getset},
    {0, NULL},
};
static PyType_Spec Doorbell_spec = {"ringbuf._core.Doorbell", sizeof(Doorbell), 0,
                                    Py_TPFLAGS_DEFAULT, Doorbell_slots};

/* ----------------------------------------------------------------- Ring */

typedef struct {
    Shared shared;
    ring_t ring;
    PyObject *reader, *writer; /* the doorbells that `ring` points into, kept alive */
} Ring;

static int Ring_bell(PyTypeObject *type, PyObject *candidate, size_t lane, PyObject **keep,
                     bell_t **bell)
{
    if (candidate == Py_None)
        return 0;
    if (!PyObject_TypeCheck(candidate, type)) {
        PyErr_SetString(PyExc_TypeError, "reader and writer are doorbells or None");
        return -1;
    }
    bell_t *found = Doorbell_open((Doorbell *)candidate, 0);
    if (!found)
        return -1;
    if (lane >= found->lanes) {
        PyErr_Format(PyExc_IndexError, "lane %zu of %zu", lane, found->lanes);
        return -1;
    }
    Py_INCREF(candidate);
    *keep = candidate;
    *bell = found;
    return 0;
}

static int Ring_init(Ring *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "offset", "capacity", "lane", "reader", "writer", NULL};
    PyObject *source, *reader = Py_None, *writer = Py_None;
    Py_ssize_t offset, capacity, lane;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onnn|OO", names, &source, &offset, &capacity,
                                     &lane, &reader, &writer))
        return -1;
    if (capacity < 1 || (capacity & (capacity - 1))) {
        PyErr_Format(PyExc_ValueError, "a capacity is a power of two, not %zd", capacity);
        return -1;
    }
    if (lane < 0) {
        PyErr_Format(PyExc_IndexError, "lane %zd", lane);
        return -1;
    }
    if (shared_open(&self->shared, source, offset, sizeof(struct ring)) < 0)
        return -1;
    PyTypeObject *type = state_of(self)->doorbell;
    self->ring = (ring_t){.capacity = (uint64_t)capacity, .lane = (size_t)lane};
    if (Ring_bell(type, reader, self->ring.lane, &self->reader, &self->ring.reader) < 0 ||
        Ring_bell(type, writer, self->ring.lane, &self->writer, &self->ring.writer) < 0) {
        self->shared.at = NULL;
        return -1;
    }
    self->ring.shared = self->shared.at;
    return 0;
}

static void Ring_dealloc(PyObject *self)
{
    Py_XDECREF(((Ring *)self)->reader);
    Py_XDECREF(((Ring *)self)->writer);
    shared_dealloc(self);
}

/* The ring, or NULL with an exception. Its bells are of the same arena and close after it. */
static ring_t *Ring_open(Ring *self, int writing)
{
    return shared_check(self, writing) < 0 ? NULL : &self->ring;
}

static PyObject *Ring_free(Ring *self, PyObject *Py_UNUSED(ignored))
{
    ring_t *ring = Ring_open(self, 0);
    return ring ? number(ring_free(ring)) : NULL;
}

static PyObject *Ring_filled(Ring *self, PyObject *Py_UNUSED(ignored))
{
    ring_t *ring = Ring_open(self, 0);
    return ring ? number(ring_filled(ring)) : NULL;
}

static PyObject *Ring_want(Ring *self, PyObject *Py_UNUSED(ignored))
{
    ring_t *ring = Ring_open(self, 1);
    return ring ? number(ring_want(ring)) : NULL;
}

static PyObject *Ring_publish(Ring *self, PyObject *argument)
{
    uint64_t count;
    ring_t *ring = Ring_open(self, 1);
    if (!ring || to_number(argument, ring_free(ring), &count) < 0)
        return NULL;
    ring->held += count;
    if (!ring->holding && ring->held)
        ring_publish(ring);
    Py_RETURN_NONE;
}

static PyObject *Ring_hold(Ring *self, PyObject *Py_UNUSED(ignored))
{
    ring_t *ring = Ring_open(self, 1);
    if (!ring)
        return NULL;
    ring->holding = true;
    Py_RETURN_NONE;
}

static PyObject *Ring_let_go(Ring *self, PyObject *Py_UNUSED(ignored))
{
    ring_t *ring = Ring_open(self, 1);
    if (!ring)
        return NULL;
    ring->holding = false;
    if (ring->held)
        ring_publish(ring);
    Py_RETURN_NONE;
}

static PyObject *Ring_release(Ring *self, PyObject *argument)
{
    uint64_t count;
    ring_t *ring = Ring_open(self, 1);
    if (!ring || to_number(argument, ring_filled(ring), &count) < 0)
        return NULL;
    ring_release(ring, count);
    Py_RETURN_NONE;
}

static PyObject *Ring_skip(Ring *self, PyObject *Py_UNUSED(ignored))
{
    ring_t *ring = Ring_open(self, 1);
    if (!ring)
        return NULL;
    ring_skip(ring);
    Py_RETURN_NONE;
}

static PyObject *Ring_drop(Ring *self, PyObject *argument)
{
    uint64_t count;
    ring_t *ring = Ring_open(self, 1);
    if (!ring || to_number(argument, UINT64_MAX, &count) < 0)
        return NULL;
    ring_drop(ring, count);
    Py_RETURN_NONE;
}

/* For tests of the wrap-around and for nobody else: both peers must be absent. */
static PyObject *Ring_seed(Ring *self, PyObject *argument)
{
    uint64_t count;
    ring_t *ring = Ring_open(self, 1);
    if (!ring || to_number(argument, UINT64_MAX, &count) < 0)
        return NULL;
    atomic_store(&ring->shared->head, count);
    atomic_store(&ring->shared->tail, count);
    Py_RETURN_NONE;
}

static PyObject *Ring_close(Ring *self, PyObject *Py_UNUSED(ignored))
{
    self->shared.at = NULL;
    Py_RETURN_NONE;
}

static PyObject *Ring_get(Ring *self, void *closure)
{
    ring_t *ring = Ring_open(self, 0);
    if (!ring)
        return NULL;
    switch (*(const char *)closure) {
    case 'h':
        return number(atomic_load(&ring->shared->head));
    case 't':
        return number(atomic_load(&ring->shared->tail));
    case 'd':
        return number(atomic_load_explicit(&ring->shared->dropped, memory_order_relaxed));
    case 'w':
        return number(ring_end(ring) & (ring->capacity - 1));
    case 'r':
        return number(atomic_load_explicit(&ring->shared->tail, memory_order_relaxed) &
                      (ring->capacity - 1));
    default:
        return number(ring->capacity);
    }
}

static PyMethodDef Ring_methods[] = {
    {"free", (PyCFunction)Ring_free, METH_NOARGS, "Slots the writer may fill."},
    {"filled", (PyCFunction)Ring_filled, METH_NOARGS, "Slots the reader may read."},
    {"want", (PyCFunction)Ring_want, METH_NOARGS, "Ask to be woken for room; the room by now."},
    {"publish", (PyCFunction)Ring_publish, METH_O, "Hand n filled slots to the reader."},
    {"hold", (PyCFunction)Ring_hold, METH_NOARGS, "Publish nothing until let_go()."},
    {"let_go", (PyCFunction)Ring_let_go, METH_NOARGS, "Publish what was held back, at once."},
    {"release", (PyCFunction)Ring_release, METH_O, "Hand n read slots back to the writer."},
    {"skip", (PyCFunction)Ring_skip, METH_NOARGS, "Hand back all; wake the writer anyhow."},
    {"drop", (PyCFunction)Ring_drop, METH_O, "Count n slots that were not written."},
    {"seed", (PyCFunction)Ring_seed, METH_O, "Start both counters at n (tests only)."},
    {"close", (PyCFunction)Ring_close, METH_NOARGS, "Any later use raises Closed."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef Ring_getset[] = {
    {"head", (getter)Ring_get, NULL, "Slots ever written.", "h"},
    {"tail", (getter)Ring_get, NULL, "Slots ever read.", "t"},
    {"dropped", (getter)Ring_get, NULL, "Slots that found no room.", "d"},
    {"write_slot", (getter)Ring_get, NULL, "Index of the next slot to write.", "w"},
    {"read_slot", (getter)Ring_get, NULL, "Index of the next slot to read.", "r"},
    {"capacity", (getter)Ring_get, NULL, "Slots in the ring.", "c"},
    {"is_closed", shared_is_closed, NULL, "Whether close() was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot Ring_slots[] = {
    {Py_tp_doc, "Ring(memory, offset, capacity, lane, reader=None, writer=None)"},
    {Py_tp_init, Ring_init},
    {Py_tp_dealloc, Ring_dealloc},
    {Py_tp_methods, Ring_methods},
    {Py_tp_getset, Ring_getset},
    {0, NULL},
};
static PyType_Spec Ring_spec = {"ringbuf._core.Ring", sizeof(Ring), 0, Py_TPFLAGS_DEFAULT,
                                Ring_slots};

/* ------------------------------------------------------------- lifeline */

/* The parent holds the only write end and writes nothing: the read returns when it is gone.
 * A group leader takes its descendants along (a download, say). */
static void *lifeline_wait(void *argument)
{
    int fd = (int)(intptr_t)argument;
    char byte;
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        ;
    if (getpgrp() == getpid())
        kill(0, SIGKILL);
    _exit(1);
}

static PyObject *core_lifeline(PyObject *Py_UNUSED(module), PyObject *argument)
{
    int fd = (int)PyLong_AsLong(argument);
    if (fd == -1 && PyErr_Occurred())
        return NULL;
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    /* Signals are for the main thread, which knows what to do with them. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, lifeline_wait, (void *)(intptr_t)fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    pthread_detach(thread);
    Py_RETURN_NONE;
}

/* The kernel's own lifeline: it also ends a process that is stopped, but not its children. */
static PyObject *core_die_with_parent(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
#ifdef __linux__
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
#endif
    Py_RETURN_NONE;
}

/* --------------------------------------------------------------- memory */

static PyObject *core_anonymous(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
#ifdef __linux__
    int fd = memfd_create("voxring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
#else
    char name[32];
    snprintf(name, sizeof name, "/voxring-%d-%d", (int)getpid(), rand());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0) {
        shm_unlink(name);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
#endif
    return fd < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromLong(fd);
}

/* --------------------------------------------------------------- module */

static PyMethodDef core_methods[] = {
    {"lifeline", core_lifeline, METH_O, "End this process at the end of file on fd."},
    {"die_with_parent", core_die_with_parent, METH_NOARGS, "Be killed with the parent (Linux)."},
    {"anonymous", core_anonymous, METH_NOARGS, "A descriptor of shared memory without a name."},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **keep)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (!type || PyModule_AddObjectRef(module, name, type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    if (keep)
        *keep = (PyTypeObject *)type;
    else
        Py_DECREF(type);
    return 0;
}

/* The numbers of the shared structures, by the names that they have in _ring.h. */
static int add_layout(PyObject *module)
{
    PyObject *layout = Py_BuildValue(
        "{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:n}", "line", (Py_ssize_t)LINE,
        "bell", sizeof(struct bell), "bell.asleep", offsetof(struct bell, asleep),
        "bell.beat", offsetof(struct bell, beat), "bell.recoveries",
        offsetof(struct bell, recoveries), "bell.life", offsetof(struct bell, life),
        "bell.work", offsetof(struct bell, work), "ring", sizeof(struct ring), "ring.head",
        offsetof(struct ring, head), "ring.dropped", offsetof(struct ring, dropped), "ring.tail",
        offsetof(struct ring, tail), "ring.want", offsetof(struct ring, want));
    if (!layout || PyModule_AddObjectRef(module, "LAYOUT", layout) < 0) {
        Py_XDECREF(layout);
        return -1;
    }
    Py_DECREF(layout);
    return 0;
}

static int core_exec(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyObject *errors = PyImport_ImportModule("ringbuf.errors");
    if (!errors)
        return -1;
    state->closed = PyObject_GetAttrString(errors, "Closed");
    Py_DECREF(errors);
    if (!state->closed || add_type(module, "Words", &Words_spec, NULL) < 0 ||
        add_type(module, "Doorbell", &Doorbell_spec, &state->doorbell) < 0 ||
        add_type(module, "Ring", &Ring_spec, NULL) < 0 ||
        add_type(module, "Columns", &Columns_spec, NULL) < 0)
        return -1;
    return add_layout(module);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->doorbell);
    Py_VISIT(state->closed);
    return 0;
}

static int core_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->doorbell);
    Py_CLEAR(state->closed);
    return 0;
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};
static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT, "_core",    "Shared-memory words, doorbells and ring counters.",
    sizeof(State),         core_methods, core_slots,
    core_traverse,         core_clear,   NULL,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_module); }

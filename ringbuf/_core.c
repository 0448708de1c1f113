/* The part of ringbuf that Python cannot promise: the order in which two processes see memory.
 *
 * Everything here works on words inside one shared mapping. Five things live in this file:
 *
 *   Words     64-bit control words, one writer each
 *   Columns   one slot of a structure of arrays as plain ints
 *   Doorbell  "this lane has something for you", and the handshake that lets a process sleep
 *   Ring      head and tail of a single-producer single-consumer ring; the slots are NumPy's
 *   lifeline  ends this process when its parent is gone, even while Python holds the GIL
 *
 * Orders used, and what breaks without each:
 *
 *   head: store-release by the writer, load-acquire by the reader.
 *         Without it the reader may see the new head before the slots behind it (seen on ARM).
 *   tail: store by the reader, load-acquire by the writer.
 *         Without it the writer may fill a slot that the reader has not finished reading.
 *   work, asleep, want, and the tail store in front of `want`: sequentially consistent accesses.
 *         Both sides store one word and then load the other's ("I have work" / "I sleep").
 *         With anything weaker, x86 included, each load may overtake the store before it; both
 *         then read the old value, and the sleeper is never woken.
 *         They are accesses, not fences, because ThreadSanitizer does not understand fences.
 */
#define PY_SSIZE_T_CLEAN
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <Python.h>
#include <structmember.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define LINE 128 /* two 64-byte lines: x86 prefetches them in pairs, Apple's lines are this long */

typedef _Atomic(uint64_t) word_t;
_Static_assert(sizeof(word_t) == 8, "control words are 64 bits in every process");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock inside one process protects nobody else");

/* A checked pointer to `count` words, `stride` bytes apart, inside an exported buffer. */
static word_t *words_at(const Py_buffer *memory, Py_ssize_t offset, Py_ssize_t count,
                        Py_ssize_t stride)
{
    if (offset < 0 || offset % 8 || count < 0 || stride < 8 || stride % 8 ||
        count > (memory->len - offset) / stride) {
        PyErr_Format(PyExc_ValueError, "%zd words at offset %zd do not fit in %zd bytes", count,
                     offset, memory->len);
        return NULL;
    }
    return (word_t *)((char *)memory->buf + offset);
}

static int take_buffer(PyObject *source, Py_buffer *memory)
{
    if (memory->obj) {
        PyErr_SetString(PyExc_TypeError, "__init__ was called twice");
        return -1;
    }
    return PyObject_GetBuffer(source, memory, PyBUF_WRITABLE);
}

static void free_object(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---------------------------------------------------------------- Words */

typedef struct {
    PyObject_HEAD
    Py_buffer memory;
    word_t *first;
    Py_ssize_t count, stride;
} Words;

static int Words_init(Words *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "offset", "count", "stride", NULL};
    PyObject *source;
    Py_ssize_t offset;
    self->stride = LINE;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn|n", names, &source, &offset, &self->count,
                                     &self->stride))
        return -1;
    if (take_buffer(source, &self->memory) < 0)
        return -1;
    self->first = words_at(&self->memory, offset, self->count, self->stride);
    return self->first ? 0 : -1;
}

static void Words_dealloc(Words *self)
{
    PyBuffer_Release(&self->memory);
    free_object((PyObject *)self);
}

static word_t *Words_get(Words *self, Py_ssize_t index)
{
    if (!self->first || index < 0 || index >= self->count) {
        PyErr_Format(PyExc_IndexError, "word %zd of %zd", index, self->count);
        return NULL;
    }
    return (word_t *)((char *)self->first + index * self->stride);
}

static PyObject *Words_item(PyObject *self, Py_ssize_t index)
{
    word_t *word = Words_get((Words *)self, index);
    return word ? PyLong_FromUnsignedLongLong(atomic_load(word)) : NULL;
}

static int Words_assign(PyObject *self, Py_ssize_t index, PyObject *value)
{
    word_t *word = Words_get((Words *)self, index);
    if (!word || !value)
        return -1;
    uint64_t number = PyLong_AsUnsignedLongLong(value);
    if (number == (uint64_t)-1 && PyErr_Occurred())
        return -1;
    atomic_store(word, number);
    return 0;
}

static Py_ssize_t Words_length(PyObject *self) { return ((Words *)self)->count; }

static PyType_Slot Words_slots[] = {
    {Py_tp_doc, "Words(memory, offset, count, stride=128): atomic 64-bit words of a mapping."},
    {Py_tp_init, Words_init},
    {Py_tp_dealloc, Words_dealloc},
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
 * object and a lookup for each value, and that on the way of every token.
 */
#define MAX_COLUMNS 16

typedef struct {
    PyObject_HEAD
    Py_buffer memory;
    Py_ssize_t capacity, count;
    struct {
        char *first;
        char type; /* as in the struct module: B I i q */
    } columns[MAX_COLUMNS];
} Columns;

static Py_ssize_t type_size(char type)
{
    return type == 'B' ? 1 : type == 'I' || type == 'i' ? 4 : type == 'q' ? 8 : 0;
}

static int Columns_init(Columns *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "capacity", "types", "offsets", NULL};
    PyObject *source, *offsets;
    const char *types;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OnsO!", names, &source, &self->capacity, &types,
                                     &PyTuple_Type, &offsets))
        return -1;
    if (take_buffer(source, &self->memory) < 0)
        return -1;
    Py_ssize_t count = (Py_ssize_t)strlen(types);
    if (count > MAX_COLUMNS || PyTuple_Size(offsets) != count || self->capacity < 1) {
        PyErr_SetString(PyExc_ValueError, "one offset for each type, and a capacity above 0");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t offset = PyLong_AsSsize_t(PyTuple_GetItem(offsets, i));
        Py_ssize_t size = type_size(types[i]);
        if (offset == -1 && PyErr_Occurred())
            return -1;
        if (!size || offset < 0 || offset % size ||
            self->capacity > (self->memory.len - offset) / size) {
            PyErr_Format(PyExc_ValueError, "a column of type %c at offset %zd", types[i], offset);
            return -1;
        }
        self->columns[i].first = (char *)self->memory.buf + offset;
        self->columns[i].type = types[i];
    }
    self->count = count;
    return 0;
}

static void Columns_dealloc(Columns *self)
{
    PyBuffer_Release(&self->memory);
    free_object((PyObject *)self);
}

static PyObject *Columns_get(Columns *self, PyObject *argument)
{
    Py_ssize_t slot = PyLong_AsSsize_t(argument);
    if (slot == -1 && PyErr_Occurred())
        return NULL;
    if (slot < 0 || slot >= self->capacity)
        return PyErr_Format(PyExc_IndexError, "slot %zd of %zd", slot, self->capacity);
    PyObject *values = PyTuple_New(self->count);
    for (Py_ssize_t i = 0; values && i < self->count; i++) {
        const char *first = self->columns[i].first;
        long long number = 0;
        switch (self->columns[i].type) {
        case 'B':
            number = ((const uint8_t *)first)[slot];
            break;
        case 'I':
            number = ((const uint32_t *)first)[slot];
            break;
        case 'i':
            number = ((const int32_t *)first)[slot];
            break;
        default:
            number = ((const int64_t *)first)[slot];
        }
        PyObject *value = PyLong_FromLongLong(number);
        if (!value || PyTuple_SetItem(values, i, value) < 0)
            Py_CLEAR(values);
    }
    return values;
}

static PyObject *Columns_set(Columns *self, PyObject *args)
{
    if (PyTuple_Size(args) != self->count + 1)
        return PyErr_Format(PyExc_TypeError, "a slot and %zd values", self->count);
    Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GetItem(args, 0));
    if (slot == -1 && PyErr_Occurred())
        return NULL;
    if (slot < 0 || slot >= self->capacity)
        return PyErr_Format(PyExc_IndexError, "slot %zd of %zd", slot, self->capacity);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        long long number = PyLong_AsLongLong(PyTuple_GetItem(args, i + 1));
        char *first = self->columns[i].first;
        int fits = 1;
        if (number == -1 && PyErr_Occurred())
            return NULL;
        switch (self->columns[i].type) {
        case 'B':
            fits = number >= 0 && number <= UINT8_MAX;
            ((uint8_t *)first)[slot] = (uint8_t)number;
            break;
        case 'I':
            fits = number >= 0 && number <= UINT32_MAX;
            ((uint32_t *)first)[slot] = (uint32_t)number;
            break;
        case 'i':
            fits = number >= INT32_MIN && number <= INT32_MAX;
            ((int32_t *)first)[slot] = (int32_t)number;
            break;
        default:
            ((int64_t *)first)[slot] = number;
        }
        if (!fits)
            return PyErr_Format(PyExc_OverflowError, "%lld in column %zd", number, i);
    }
    Py_RETURN_NONE;
}

static PyMethodDef Columns_methods[] = {
    {"get", (PyCFunction)Columns_get, METH_O, "The values of one slot."},
    {"set", (PyCFunction)Columns_set, METH_VARARGS, "Store the values of one slot."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot Columns_slots[] = {
    {Py_tp_doc, "Columns(memory, capacity, types, offsets): slots of a structure of arrays."},
    {Py_tp_init, Columns_init},
    {Py_tp_dealloc, Columns_dealloc},
    {Py_tp_methods, Columns_methods},
    {0, NULL},
};
static PyType_Spec Columns_spec = {"ringbuf._core.Columns", sizeof(Columns), 0, Py_TPFLAGS_DEFAULT,
                                   Columns_slots};

/* ------------------------------------------------------------- Doorbell
 *
 * In memory:   line 0  asleep      1 while the owner sleeps; the ringer that takes it to 0 writes
 *              line 1  beat        when the owner was last seen awake, ns
 *                      recoveries  wake-ups that only the safety timer noticed
 *              line 2  work        one bit per lane
 */
typedef struct {
    PyObject_HEAD
    Py_buffer memory;
    word_t *asleep, *beat, *recoveries, *work;
    Py_ssize_t lanes, words;
    int read_fd, write_fd;
    int rung; /* there may be a byte in the pipe */
} Doorbell;

static int Doorbell_init(Doorbell *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "offset", "lanes", "read_fd", "write_fd", NULL};
    PyObject *source;
    Py_ssize_t offset;
    self->read_fd = self->write_fd = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onn|ii", names, &source, &offset, &self->lanes,
                                     &self->read_fd, &self->write_fd))
        return -1;
    if (take_buffer(source, &self->memory) < 0)
        return -1;
    self->words = (self->lanes + 63) / 64;
    word_t *first = words_at(&self->memory, offset, 2 * LINE / 8 + self->words, 8);
    if (!first)
        return -1;
    self->beat = first + LINE / 8;
    self->recoveries = self->beat + 1;
    self->work = first + 2 * LINE / 8;
    self->asleep = first;
    return 0;
}

static void Doorbell_dealloc(Doorbell *self)
{
    PyBuffer_Release(&self->memory);
    free_object((PyObject *)self);
}

/* Ringer's half of the handshake: store work, then load asleep. */
static void doorbell_ring(Doorbell *self, Py_ssize_t lane)
{
    atomic_fetch_or(&self->work[lane / 64], UINT64_C(1) << (lane % 64));
    if (atomic_load(self->asleep) && atomic_exchange(self->asleep, 0)) {
        /* EAGAIN: the pipe is full, so the owner is awake or about to be.
         * EPIPE: the owner is dead; who is dead is for the supervisor to say. */
        ssize_t ignored = write(self->write_fd, "", 1);
        (void)ignored;
    }
}

static PyObject *Doorbell_ring(Doorbell *self, PyObject *argument)
{
    Py_ssize_t lane = PyLong_AsSsize_t(argument);
    if (lane == -1 && PyErr_Occurred())
        return NULL;
    if (!self->asleep || lane < 0 || lane >= self->lanes)
        return PyErr_Format(PyExc_IndexError, "lane %zd of %zd", lane, self->lanes);
    doorbell_ring(self, lane);
    Py_RETURN_NONE;
}

static PyObject *Doorbell_take(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *lanes = PyList_New(0);
    for (Py_ssize_t i = 0; lanes && i < self->words; i++) {
        if (!atomic_load(&self->work[i]))
            continue;
        uint64_t bits = atomic_exchange(&self->work[i], 0);
        for (; bits; bits &= bits - 1) {
            PyObject *lane = PyLong_FromSsize_t(i * 64 + __builtin_ctzll(bits));
            if (!lane || PyList_Append(lanes, lane) < 0)
                Py_CLEAR(lanes);
            Py_XDECREF(lane);
            if (!lanes)
                break;
        }
    }
    return lanes;
}

static int doorbell_has_work(Doorbell *self)
{
    for (Py_ssize_t i = 0; i < self->words; i++)
        if (atomic_load(&self->work[i]))
            return 1;
    return 0;
}

/* Sleeper's half: store asleep, then load work. True when it is safe to sleep. */
static int doorbell_arm(Doorbell *self)
{
    atomic_store(self->asleep, 1);
    if (!doorbell_has_work(self))
        return 1;
    atomic_store(self->asleep, 0);
    return 0;
}

static void doorbell_empty(Doorbell *self)
{
    char waste[64];
    while (read(self->read_fd, waste, sizeof waste) == sizeof waste)
        ;
    self->rung = 0;
}

static void doorbell_disarm(Doorbell *self)
{
    atomic_store(self->asleep, 0);
    doorbell_empty(self);
}

static PyObject *Doorbell_arm(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(doorbell_arm(self));
}

static PyObject *Doorbell_disarm(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    doorbell_disarm(self);
    Py_RETURN_NONE;
}

#define SAFETY_MS 1000

static PyObject *Doorbell_park(Doorbell *self, PyObject *argument)
{
    double seconds = PyFloat_AsDouble(argument);
    if (seconds == -1.0 && PyErr_Occurred())
        return NULL;
    if (self->read_fd < 0)
        return PyErr_Format(PyExc_ValueError, "only the owner of a doorbell may park on it");
    /* Rounded up: a timer that wakes early would only sleep again. */
    int timeout = seconds <= 0 ? 0 : seconds >= 1 ? SAFETY_MS : (int)(seconds * 1000) + 1;
    struct pollfd bell = {self->read_fd, POLLIN, 0};
    int events = 1;
    /* The byte of the last wake-up is taken out here and not there: nobody waits for it now. One
     * that comes between this and `arm` can only cost one wake-up for nothing. */
    if (self->rung)
        doorbell_empty(self);
    if (doorbell_arm(self)) {
        Py_BEGIN_ALLOW_THREADS
        events = poll(&bell, 1, timeout);
        Py_END_ALLOW_THREADS
        if (events == 0 && timeout == SAFETY_MS && doorbell_has_work(self) &&
            atomic_exchange(self->asleep, 0))
            atomic_fetch_add(self->recoveries, 1);
        atomic_store(self->asleep, 0);
        self->rung = events > 0;
    }
    if (events < 0 && PyErr_CheckSignals() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *Doorbell_get_beat(Doorbell *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(atomic_load(self->beat));
}

static int Doorbell_set_beat(Doorbell *self, PyObject *value, void *Py_UNUSED(closure))
{
    uint64_t number = value ? PyLong_AsUnsignedLongLong(value) : 0;
    if (PyErr_Occurred())
        return -1;
    atomic_store_explicit(self->beat, number, memory_order_relaxed);
    return 0;
}

static PyObject *Doorbell_get_recoveries(Doorbell *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(atomic_load(self->recoveries));
}

static PyObject *Doorbell_fileno(Doorbell *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(self->read_fd);
}

static PyMethodDef Doorbell_methods[] = {
    {"ring", (PyCFunction)Doorbell_ring, METH_O, "Mark a lane as having work; wake the owner."},
    {"take", (PyCFunction)Doorbell_take, METH_NOARGS, "The lanes that have work; clears them."},
    {"park", (PyCFunction)Doorbell_park, METH_O, "Sleep until rung, at most so many seconds."},
    {"arm", (PyCFunction)Doorbell_arm, METH_NOARGS, "Go to sleep; False if there is work."},
    {"disarm", (PyCFunction)Doorbell_disarm, METH_NOARGS, "Wake up and empty the pipe."},
    {"fileno", (PyCFunction)Doorbell_fileno, METH_NOARGS, "The descriptor to wait on."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef Doorbell_getset[] = {
    {"beat", (getter)Doorbell_get_beat, (setter)Doorbell_set_beat, "Last sign of life, ns.", NULL},
    {"recoveries", (getter)Doorbell_get_recoveries, NULL, "Wake-ups that were missed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot Doorbell_slots[] = {
    {Py_tp_doc, "Doorbell(memory, offset, lanes, read_fd=-1, write_fd=-1)"},
    {Py_tp_init, Doorbell_init},
    {Py_tp_dealloc, Doorbell_dealloc},
    {Py_tp_methods, Doorbell_methods},
    {Py_tp_getset, Doorbell_getset},
    {0, NULL},
};
static PyType_Spec Doorbell_spec = {"ringbuf._core.Doorbell", sizeof(Doorbell), 0,
                                    Py_TPFLAGS_DEFAULT, Doorbell_slots};

/* ----------------------------------------------------------------- Ring
 *
 * In memory:   line 0  head, dropped    written by the writer
 *              line 1  tail             written by the reader
 *              line 2  want             set by a writer that found the ring full
 *
 * Counters run freely through 2^64; an index is a counter masked by the power-of-two capacity.
 */
typedef struct {
    PyObject_HEAD
    Py_buffer memory;
    word_t *head, *dropped, *tail, *want;
    uint64_t capacity, held; /* held: filled by this writer, not published yet */
    int holding;
    Py_ssize_t lane;
    Doorbell *reader, *writer; /* whom to wake; NULL: nobody waits */
} Ring;

static PyTypeObject *doorbell_type;

static int Ring_bell(PyObject *candidate, Py_ssize_t lane, Doorbell **bell)
{
    *bell = NULL;
    if (candidate == Py_None)
        return 0;
    if (!PyObject_TypeCheck(candidate, doorbell_type)) {
        PyErr_SetString(PyExc_TypeError, "reader and writer are doorbells or None");
        return -1;
    }
    if (lane < 0 || lane >= ((Doorbell *)candidate)->lanes) {
        PyErr_Format(PyExc_IndexError, "lane %zd of %zd", lane, ((Doorbell *)candidate)->lanes);
        return -1;
    }
    Py_INCREF(candidate);
    *bell = (Doorbell *)candidate;
    return 0;
}

static int Ring_init(Ring *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "offset", "capacity", "lane", "reader", "writer", NULL};
    PyObject *source, *reader = Py_None, *writer = Py_None;
    Py_ssize_t offset, capacity;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Onnn|OO", names, &source, &offset, &capacity,
                                     &self->lane, &reader, &writer))
        return -1;
    if (capacity < 1 || (capacity & (capacity - 1))) {
        PyErr_Format(PyExc_ValueError, "a capacity is a power of two, not %zd", capacity);
        return -1;
    }
    if (take_buffer(source, &self->memory) < 0)
        return -1;
    word_t *first = words_at(&self->memory, offset, 3 * LINE / 8, 8);
    if (!first || Ring_bell(reader, self->lane, &self->reader) < 0 ||
        Ring_bell(writer, self->lane, &self->writer) < 0)
        return -1;
    self->capacity = (uint64_t)capacity;
    self->head = first;
    self->dropped = first + 1;
    self->tail = first + LINE / 8;
    self->want = first + 2 * LINE / 8;
    return 0;
}

static void Ring_dealloc(Ring *self)
{
    PyBuffer_Release(&self->memory);
    Py_XDECREF((PyObject *)self->reader);
    Py_XDECREF((PyObject *)self->writer);
    free_object((PyObject *)self);
}

/* Where the writer writes next: behind what it published and what it holds back. */
static uint64_t ring_end(Ring *self)
{
    return atomic_load_explicit(self->head, memory_order_relaxed) + self->held; /* our own */
}

static uint64_t ring_free(Ring *self)
{
    uint64_t head = ring_end(self);
    return self->capacity - (head - atomic_load_explicit(self->tail, memory_order_acquire));
}

static uint64_t ring_filled(Ring *self)
{
    uint64_t tail = atomic_load_explicit(self->tail, memory_order_relaxed); /* our own */
    return atomic_load_explicit(self->head, memory_order_acquire) - tail;
}

static PyObject *Ring_free(Ring *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(ring_free(self));
}

static PyObject *Ring_filled(Ring *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(ring_filled(self));
}

/* A writer that found too little room: store want, then look again (the reader stores tail, then
 * loads want), so one of the two always sees the other. */
static PyObject *Ring_want(Ring *self, PyObject *Py_UNUSED(ignored))
{
    atomic_store(self->want, 1);
    uint64_t head = ring_end(self);
    return PyLong_FromUnsignedLongLong(self->capacity - (head - atomic_load(self->tail)));
}

static int ring_count(PyObject *argument, uint64_t limit, uint64_t *count)
{
    *count = PyLong_AsUnsignedLongLong(argument);
    if (*count == (uint64_t)-1 && PyErr_Occurred())
        return -1;
    if (*count > limit) {
        PyErr_Format(PyExc_ValueError, "%llu slots, but only %llu are there", *count, limit);
        return -1;
    }
    return 0;
}

static void ring_publish(Ring *self)
{
    uint64_t end = ring_end(self);
    self->held = 0;
    atomic_store_explicit(self->head, end, memory_order_release);
    if (self->reader)
        doorbell_ring(self->reader, self->lane);
}

static PyObject *Ring_publish(Ring *self, PyObject *argument)
{
    uint64_t count;
    if (ring_count(argument, ring_free(self), &count) < 0)
        return NULL;
    self->held += count;
    if (!self->holding)
        ring_publish(self);
    Py_RETURN_NONE;
}

/* From here on publish() only counts, until let_go() hands all of it over at once. */
static PyObject *Ring_hold(Ring *self, PyObject *Py_UNUSED(ignored))
{
    self->holding = 1;
    Py_RETURN_NONE;
}

static PyObject *Ring_let_go(Ring *self, PyObject *Py_UNUSED(ignored))
{
    self->holding = 0;
    if (self->held)
        ring_publish(self);
    Py_RETURN_NONE;
}

static PyObject *Ring_release(Ring *self, PyObject *argument)
{
    uint64_t count;
    if (ring_count(argument, ring_filled(self), &count) < 0)
        return NULL;
    uint64_t tail = atomic_load_explicit(self->tail, memory_order_relaxed);
    atomic_store(self->tail, tail + count);
    if (self->writer && atomic_load(self->want) && atomic_exchange(self->want, 0))
        doorbell_ring(self->writer, self->lane);
    Py_RETURN_NONE;
}

static PyObject *Ring_drop(Ring *self, PyObject *argument)
{
    uint64_t count;
    if (ring_count(argument, UINT64_MAX, &count) < 0)
        return NULL;
    atomic_fetch_add_explicit(self->dropped, count, memory_order_relaxed);
    Py_RETURN_NONE;
}

/* For tests of the wrap-around and for nobody else: both peers must be absent. */
static PyObject *Ring_seed(Ring *self, PyObject *argument)
{
    uint64_t count;
    if (ring_count(argument, UINT64_MAX, &count) < 0)
        return NULL;
    atomic_store(self->head, count);
    atomic_store(self->tail, count);
    Py_RETURN_NONE;
}

static PyObject *Ring_get(Ring *self, void *closure)
{
    switch (*(const char *)closure) {
    case 'h':
        return PyLong_FromUnsignedLongLong(atomic_load(self->head));
    case 't':
        return PyLong_FromUnsignedLongLong(atomic_load(self->tail));
    case 'd':
        return PyLong_FromUnsignedLongLong(atomic_load(self->dropped));
    case 'w':
        return PyLong_FromUnsignedLongLong(ring_end(self) & (self->capacity - 1));
    case 'r':
        return PyLong_FromUnsignedLongLong(atomic_load(self->tail) & (self->capacity - 1));
    default:
        return PyLong_FromUnsignedLongLong(self->capacity);
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
    {"drop", (PyCFunction)Ring_drop, METH_O, "Count n slots that were not written."},
    {"seed", (PyCFunction)Ring_seed, METH_O, "Start both counters at n (tests only)."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef Ring_getset[] = {
    {"head", (getter)Ring_get, NULL, "Slots ever written.", "h"},
    {"tail", (getter)Ring_get, NULL, "Slots ever read.", "t"},
    {"dropped", (getter)Ring_get, NULL, "Slots that found no room.", "d"},
    {"write_slot", (getter)Ring_get, NULL, "Index of the next slot to write.", "w"},
    {"read_slot", (getter)Ring_get, NULL, "Index of the next slot to read.", "r"},
    {"capacity", (getter)Ring_get, NULL, "Slots in the ring.", "c"},
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
    int fd = memfd_create("voxring", MFD_CLOEXEC);
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

static PyMethodDef core_methods[] = {
    {"lifeline", core_lifeline, METH_O, "End this process at the end of file on fd."},
    {"die_with_parent", core_die_with_parent, METH_NOARGS, "Be killed with the parent (Linux)."},
    {"anonymous", core_anonymous, METH_NOARGS, "A descriptor of shared memory without a name."},
    {NULL, NULL, 0, NULL},
};

static int core_exec(PyObject *module)
{
    PyType_Spec *specs[] = {&Words_spec, &Doorbell_spec, &Ring_spec, &Columns_spec};
    const char *names[] = {"Words", "Doorbell", "Ring", "Columns"};
    for (int i = 0; i < 4; i++) {
        PyObject *type = PyType_FromSpec(specs[i]);
        if (!type || PyModule_AddObjectRef(module, names[i], type) < 0)
            return -1;
        if (i == 1)
            doorbell_type = (PyTypeObject *)type; /* kept: lives as long as the process */
        else
            Py_DECREF(type);
    }
    return PyModule_AddIntConstant(module, "LINE", LINE);
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};
static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT, "_core", "Shared-memory words, doorbells and ring counters.",
    0, core_methods, core_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_module); }

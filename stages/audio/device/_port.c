/* The callback that PortAudio calls from its own thread, and what it shares with Python.
 *
 * A callback written in Python takes the interpreter's lock, so it waits for whatever Python does.
 * This one takes no lock, allocates nothing and calls nothing that can block: it copies frames
 * between the device and two buffers that were made before the stream began, reads a clock and
 * leaves a stamp. Each buffer has one writer and one reader; each index has one writer.
 *
 *   input    written here, read by Python; frames that find no room are counted as lost
 *   output   written by Python, read here; where it is empty the device gets silence
 *   stamps   one for each call: which frames it moved, and when they were or will be sound
 *   flush    Python asks for what it wrote to be thrown away; the answer says where that began
 *
 * PortAudio is not linked: its callback has a fixed form, which is repeated here (portaudio.h,
 * PaStreamCallback and PaStreamCallbackTimeInfo of version 19).
 */
#define PY_SSIZE_T_CLEAN
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <Python.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE 128
#ifdef __APPLE__
#define CLOCK CLOCK_UPTIME_RAW /* what Python's time.monotonic reads there */
#else
#define CLOCK CLOCK_MONOTONIC
#endif
#define STAMPS 1024u /* a power of two: ten seconds of short blocks */
#define NO_INPUT 1u /* paInputUnderflow */
#define XRUN (NO_INPUT | 2u | 4u | 8u) /* paInputOverflow, paOutputUnderflow, paOutputOverflow */

typedef struct {
    double adc, now, dac; /* s, on the stream's own clock */
} time_info;

typedef struct {
    int64_t at;                /* monotonic ns of the call */
    int64_t adc, dac;          /* ns from the call to the first frame; 0: the host does not tell */
    uint64_t input, output;    /* index of the first frame */
    uint32_t frames;           /* that the device gave and asked for */
    uint32_t heard, played;    /* of these, kept and had */
    uint32_t flags;
} stamp;

typedef struct {
    char *slots;
    size_t frame; /* bytes; 0: there is no such side */
    uint64_t capacity; /* frames, a power of two */
    _Alignas(LINE) _Atomic uint64_t head;
    _Alignas(LINE) _Atomic uint64_t tail;
} fifo;

typedef struct {
    fifo input, output;
    _Alignas(LINE) _Atomic uint64_t flush; /* by Python: frames below are not to be played */
    _Alignas(LINE) _Atomic uint64_t cut;   /* here: the first frame that was thrown away */
    _Atomic uint64_t flushed;              /* the request that `cut` answers */
    _Atomic uint64_t xruns, lost, calls, stamps_lost;
    int has_input; /* only here: a stream that goes both ways first fills its output, without any */
    _Alignas(LINE) _Atomic uint64_t stamp_head;
    _Alignas(LINE) _Atomic uint64_t stamp_tail;
    stamp stamps[STAMPS];
} port;

static uint64_t get(_Atomic uint64_t *word) { return atomic_load_explicit(word, memory_order_acquire); }
static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}
static void count(_Atomic uint64_t *word, uint64_t more)
{
    atomic_fetch_add_explicit(word, more, memory_order_relaxed);
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Copy frames into the slots from an index on, or out of them; at most two runs. */
static void move(const fifo *queue, uint64_t index, char *data, uint64_t frames, int in)
{
    uint64_t at = index & (queue->capacity - 1);
    uint64_t first = least(frames, queue->capacity - at);
    char *one = queue->slots + at * queue->frame;
    size_t size = first * queue->frame, rest = (frames - first) * queue->frame;
    if (in) {
        memcpy(one, data, size);
        memcpy(queue->slots, data + size, rest);
    } else {
        memcpy(data, one, size);
        memcpy(data + size, queue->slots, rest);
    }
}

static int64_t until(double when, double now)
{
    double seconds = when - now;
    if (when == 0.0 || now == 0.0 || !(seconds > -2.0 && seconds < 2.0)) {
        return 0;
    }
    return (int64_t)(seconds * 1e9);
}

static void hear(port *self, const void *data, stamp *mine)
{
    fifo *queue = &self->input;
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    uint64_t kept = least(mine->frames, queue->capacity - (head - get(&queue->tail)));
    move(queue, head, (char *)data, kept, 1);
    set(&queue->head, head + kept);
    mine->input = head;
    mine->heard = (uint32_t)kept;
    if (kept < mine->frames) {
        count(&self->lost, mine->frames - kept);
    }
}

static void play(port *self, void *data, stamp *mine)
{
    fifo *queue = &self->output;
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    uint64_t flush = get(&self->flush);
    uint64_t had;
    if (flush != atomic_load_explicit(&self->flushed, memory_order_relaxed)) {
        atomic_store_explicit(&self->cut, least(tail, flush), memory_order_relaxed);
        tail = flush > tail ? flush : tail;
        set(&queue->tail, tail);
        set(&self->flushed, flush);
    }
    had = least(mine->frames, get(&queue->head) - tail);
    move(queue, tail, data, had, 0);
    memset((char *)data + had * queue->frame, 0, (mine->frames - had) * queue->frame);
    set(&queue->tail, tail + had);
    mine->output = tail;
    mine->played = (uint32_t)had;
}

static void leave(port *self, const stamp *mine)
{
    uint64_t head = atomic_load_explicit(&self->stamp_head, memory_order_relaxed);
    if (head - get(&self->stamp_tail) >= STAMPS) {
        count(&self->stamps_lost, 1);
        return;
    }
    self->stamps[head & (STAMPS - 1)] = *mine;
    set(&self->stamp_head, head + 1);
}

static void turn_over(port *self, int64_t at, const void *input, void *output,
                      unsigned long frames, const time_info *time, unsigned long flags)
{
    stamp mine = {.at = at, .frames = (uint32_t)frames, .flags = (uint32_t)flags};
    if (time) {
        mine.adc = until(time->adc, time->now);
        mine.dac = until(time->dac, time->now);
    }
    self->has_input |= !(flags & NO_INPUT);
    if (self->has_input && (flags & XRUN)) {
        count(&self->xruns, 1);
    }
    if (input && self->input.frame) {
        hear(self, input, &mine);
    }
    if (output && self->output.frame) {
        play(self, output, &mine);
    }
    leave(self, &mine);
    count(&self->calls, 1);
}

static int callback(const void *input, void *output, unsigned long frames, const time_info *time,
                    unsigned long flags, void *user)
{
    struct timespec now;
    clock_gettime(CLOCK, &now);
    turn_over(user, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, input, output, frames, time,
              flags);
    return 0; /* paContinue */
}

/* ---------------------------------------------------------------- Port */

typedef struct {
    PyObject_HEAD
    port *port;
} Port;

static int make_fifo(fifo *queue, Py_ssize_t frame, uint64_t capacity)
{
    queue->frame = (size_t)frame;
    queue->capacity = capacity;
    size_t width = frame ? (size_t)frame : 1;
    queue->slots = calloc(capacity, width); /* refuses a product that does not fit */
    size_t size = capacity * width;
    /* The system gives a page when it is first touched: here, so that it is not in the callback. */
    for (size_t at = 0; queue->slots && at < size; at += 4096) {
        ((volatile char *)queue->slots)[at] = 0;
    }
    return queue->slots ? 0 : -1;
}

static void release(port *port)
{
    if (port) {
        free(port->input.slots);
        free(port->output.slots);
        free(port);
    }
}

static int port_init(Port *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"input", "output", "capacity", NULL};
    Py_ssize_t input, output, capacity;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nnn", names, &input, &output, &capacity)) {
        return -1;
    }
    if (self->port) {
        PyErr_SetString(PyExc_TypeError, "__init__ was called twice");
        return -1;
    }
    if (input < 0 || output < 0 || input > 4096 || output > 4096 || capacity < 1 ||
        capacity > (1 << 28) || (capacity & (capacity - 1))) {
        PyErr_SetString(PyExc_ValueError,
                        "expected frames of 0 to 4096 bytes and a capacity that is a power of two");
        return -1;
    }
    port *made = aligned_alloc(LINE, (sizeof(port) + LINE - 1) / LINE * LINE);
    if (!made) {
        PyErr_NoMemory();
        return -1;
    }
    memset(made, 0, sizeof(port));
    if (make_fifo(&made->input, input, (uint64_t)capacity) ||
        make_fifo(&made->output, output, (uint64_t)capacity)) {
        release(made);
        PyErr_NoMemory();
        return -1;
    }
    self->port = made;
    return 0;
}

static void port_dealloc(Port *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self->port);
    give_back(self);
    Py_DECREF(type);
}

static port *opened(Port *self)
{
    if (!self->port) {
        PyErr_SetString(PyExc_RuntimeError, "this port was never made");
    }
    return self->port;
}

static PyObject *port_take(Port *self, PyObject *Py_UNUSED(ignored))
{
    port *port = opened(self);
    if (!port) {
        return NULL;
    }
    fifo *queue = &port->input;
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    uint64_t frames = get(&queue->head) - tail;
    PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(frames * queue->frame));
    if (data) {
        move(queue, tail, PyBytes_AsString(data), frames, 0);
        set(&queue->tail, tail + frames);
    }
    return data;
}

static PyObject *port_put(Port *self, PyObject *arg)
{
    port *port = opened(self);
    Py_buffer data;
    if (!port || PyObject_GetBuffer(arg, &data, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    fifo *queue = &port->output;
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    uint64_t room = queue->capacity - (head - get(&queue->tail));
    uint64_t frames = queue->frame ? (uint64_t)data.len / queue->frame : 0;
    PyObject *result = NULL;
    if (!queue->frame || (uint64_t)data.len % queue->frame || frames > room) {
        PyErr_Format(PyExc_ValueError, "expected whole frames of %zu bytes, at most %llu, not %zd bytes",
                     queue->frame, (unsigned long long)room, data.len);
    } else {
        move(queue, head, data.buf, frames, 1);
        set(&queue->head, head + frames);
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&data);
    return result;
}

static PyObject *port_flush(Port *self, PyObject *Py_UNUSED(ignored))
{
    port *port = opened(self);
    if (!port) {
        return NULL;
    }
    set(&port->flush, atomic_load_explicit(&port->output.head, memory_order_relaxed));
    Py_RETURN_NONE;
}

static PyObject *port_stamps(Port *self, PyObject *Py_UNUSED(ignored))
{
    port *port = opened(self);
    PyObject *list = port ? PyList_New(0) : NULL;
    if (!list) {
        return NULL;
    }
    uint64_t head = get(&port->stamp_head);
    uint64_t tail = atomic_load_explicit(&port->stamp_tail, memory_order_relaxed);
    for (; tail < head; tail++) {
        stamp one = port->stamps[tail & (STAMPS - 1)];
        PyObject *item = Py_BuildValue(
            "LLLKKIIII", (long long)one.at, (long long)one.adc, (long long)one.dac,
            (unsigned long long)one.input, (unsigned long long)one.output, one.frames, one.heard,
            one.played, one.flags);
        int failed = !item || PyList_Append(list, item) < 0;
        Py_XDECREF(item);
        if (failed) {
            Py_DECREF(list);
            return NULL;
        }
    }
    set(&port->stamp_tail, tail);
    return list;
}

static PyObject *number(Port *self, size_t offset)
{
    port *port = opened(self);
    if (!port) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(get((_Atomic uint64_t *)((char *)port + offset)));
}

static PyObject *port_number(Port *self, void *closure) { return number(self, (size_t)closure); }

static PyObject *port_cut(Port *self, void *Py_UNUSED(closure))
{
    port *port = opened(self);
    if (!port) {
        return NULL;
    }
    if (get(&port->flushed) != get(&port->flush)) {
        Py_RETURN_NONE;
    }
    return PyLong_FromUnsignedLongLong(get(&port->cut));
}

static PyObject *port_address(Port *self, void *Py_UNUSED(closure))
{
    return opened(self) ? PyLong_FromVoidPtr(self->port) : NULL;
}

/* What PortAudio does, for a device that is a program: one call at an instant of its own. */
static PyObject *port_call(Port *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"data", "frames", "at", "flags", "adc", "now", "dac", NULL};
    Py_buffer data;
    long long at;
    unsigned long frames, flags = 0;
    time_info time = {0.0, 0.0, 0.0};
    port *port = opened(self);
    if (!port || !PyArg_ParseTupleAndKeywords(args, kwargs, "y*kL|kddd", names, &data, &frames,
                                              &at, &flags, &time.adc, &time.now, &time.dac)) {
        return NULL;
    }
    PyObject *output = NULL;
    if ((uint64_t)data.len != frames * port->input.frame) {
        PyErr_SetString(PyExc_ValueError, "the input must have as many frames");
    } else {
        output = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(frames * port->output.frame));
    }
    if (output) {
        turn_over(port, at, data.buf, PyBytes_AsString(output), frames, &time, flags);
    }
    PyBuffer_Release(&data);
    return output;
}

static PyMethodDef port_methods[] = {
    {"take", (PyCFunction)port_take, METH_NOARGS, "All frames that were heard, as bytes."},
    {"put", (PyCFunction)port_put, METH_O, "Frames to be played, whole."},
    {"flush", (PyCFunction)port_flush, METH_NOARGS, "Throw away what was not played yet."},
    {"stamps", (PyCFunction)port_stamps, METH_NOARGS, "What each call since the last time did."},
    {"call", (PyCFunction)(void (*)(void))port_call, METH_VARARGS | METH_KEYWORDS,
     "What PortAudio does: one call of the callback."},
    {NULL, NULL, 0, NULL},
};

#define NUMBER(name, field, about) \
    {name, (getter)port_number, NULL, about, (void *)offsetof(port, field)}

static PyGetSetDef port_getters[] = {
    NUMBER("written", output.head, "Frames that were put."),
    NUMBER("played", output.tail, "Frames of these that were taken by the device or flushed."),
    NUMBER("xruns", xruns, "Calls that were told of an over- or underflow."),
    NUMBER("lost", lost, "Frames of the input that found no room."),
    NUMBER("calls", calls, "Calls so far."),
    NUMBER("stamps_lost", stamps_lost, "Calls whose stamp found no room."),
    {"cut", (getter)port_cut, NULL, "The first frame that the last flush threw away; None: soon.",
     NULL},
    {"address", (getter)port_address, NULL, "For PortAudio, as its user data.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot port_slots[] = {
    {Py_tp_doc, "What one stream shares with its callback.\n\nArgs:\n    input, output: bytes of a "
                "frame; 0: there is no such side.\n    capacity: frames of each buffer."},
    {Py_tp_init, port_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, port_dealloc},
    {Py_tp_methods, port_methods},
    {Py_tp_getset, port_getters},
    {0, NULL},
};

static PyType_Spec port_spec = {
    .name = "stages.audio.device._port.Port",
    .basicsize = sizeof(Port),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = port_slots,
};

static int run(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &port_spec, NULL);
    PyObject *address = PyLong_FromVoidPtr((void *)(uintptr_t)callback);
    int failed = !type || !address || PyModule_AddObjectRef(module, "Port", type) < 0 ||
                 PyModule_AddObjectRef(module, "CALLBACK", address) < 0;
    Py_XDECREF(type);
    Py_XDECREF(address);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, run}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_port",
    .m_doc = "The callback of a sound device, and what it shares with Python.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__port(void) { return PyModuleDef_Init(&definition); }

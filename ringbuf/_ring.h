/* The shared words of ringbuf and the order in which two processes see them. No Python in here:
 * the extension (_core.c) and the checks under ThreadSanitizer (tests/ringbuf/native) compile the
 * same lines.
 *
 *   struct bell   one per process: "this lane has something for you", and may I sleep?
 *   struct ring   head and tail of a single-producer single-consumer ring; the slots are NumPy's
 *
 * One thread per side: a ring has one writing and one reading thread, a bell one that sleeps on
 * it. (Any number may ring.) Two threads of one process that put into the same ring are two
 * writers, and nothing here notices. The extension's calls hold the GIL, so such a mistake garbles
 * slots but never a counter. (A free-threaded Python does not load a stable-ABI extension.)
 *
 * Every order that something depends on has a name, ORDER_*. The checks weaken one name at a time
 * and expect a failure: tests/ringbuf/native/mutants.py. A plain memory_order_relaxed stands where
 * no other word or slot is read on the strength of what was loaded.
 */
#ifndef RINGBUF_RING_H
#define RINGBUF_RING_H

#include <errno.h>
#include <poll.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define LINE 128 /* two 64-byte lines: x86 fetches them in pairs, Apple's lines are this long */

/* acquire and release */
#ifndef ORDER_HEAD_STORE
#define ORDER_HEAD_STORE memory_order_release
#endif
#ifndef ORDER_HEAD_LOAD
#define ORDER_HEAD_LOAD memory_order_acquire
#endif
#ifndef ORDER_TAIL_LOAD
#define ORDER_TAIL_LOAD memory_order_acquire
#endif
#ifndef ORDER_WORD_STORE
#define ORDER_WORD_STORE memory_order_release
#endif
#ifndef ORDER_WORD_LOAD
#define ORDER_WORD_LOAD memory_order_acquire
#endif
#ifndef ORDER_LIFE_STORE
#define ORDER_LIFE_STORE memory_order_release
#endif
#ifndef ORDER_LIFE_LOAD
#define ORDER_LIFE_LOAD memory_order_acquire
#endif
#ifndef ORDER_WORK_TAKE
#define ORDER_WORK_TAKE memory_order_acquire
#endif
/* "I have work" against "I sleep" */
#ifndef ORDER_WORK_SET
#define ORDER_WORK_SET memory_order_seq_cst
#endif
#ifndef ORDER_ASLEEP_LOAD
#define ORDER_ASLEEP_LOAD memory_order_seq_cst
#endif
#ifndef ORDER_ASLEEP_STORE
#define ORDER_ASLEEP_STORE memory_order_seq_cst
#endif
#ifndef ORDER_WORK_LOAD
#define ORDER_WORK_LOAD memory_order_seq_cst
#endif
/* "here is room" against "I want room" */
#ifndef ORDER_TAIL_STORE
#define ORDER_TAIL_STORE memory_order_seq_cst
#endif
#ifndef ORDER_WANT_LOAD
#define ORDER_WANT_LOAD memory_order_seq_cst
#endif
#ifndef ORDER_WANT_STORE
#define ORDER_WANT_STORE memory_order_seq_cst
#endif
#ifndef ORDER_WANT_TAIL
#define ORDER_WANT_TAIL memory_order_seq_cst
#endif

typedef _Atomic(uint64_t) word_t;

/* What lies in shared memory. ringbuf/layout.py takes its numbers from these structures. */

struct bell {
    alignas(LINE) word_t asleep;     /* 1: the owner sleeps; who takes it to 0 writes the byte */
    alignas(LINE) word_t beat;       /* owner: when it was last seen awake, ns */
    word_t recoveries;               /* owner: wake-ups that only the safety timer noticed */
    word_t life;                     /* supervisor: odd while the owner is dead */
    alignas(LINE) word_t work[];     /* one bit per lane that has something for the owner */
};

struct ring {
    alignas(LINE) word_t head;       /* writer: slots ever written */
    word_t dropped;                  /* writer: slots that found no room */
    alignas(LINE) word_t tail;       /* reader: slots ever read */
    alignas(LINE) word_t want;       /* writer 1: wake me when there is room; reader 0: done */
};

_Static_assert(sizeof(word_t) == 8 && alignof(word_t) == 8, "words are 64 bits everywhere");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && sizeof(long long) == 8,
               "a lock inside one process protects nobody else");
_Static_assert(offsetof(struct bell, asleep) == 0, "the ringers' line");
_Static_assert(offsetof(struct bell, beat) == LINE, "the owner's line");
_Static_assert(offsetof(struct bell, recoveries) == LINE + 8, "beside the beat");
_Static_assert(offsetof(struct bell, life) == LINE + 16, "rarely written: shares a line");
_Static_assert(offsetof(struct bell, work) == 2 * LINE && sizeof(struct bell) == 2 * LINE,
               "the bitmap follows");
_Static_assert(offsetof(struct ring, head) == 0, "the writer's line");
_Static_assert(offsetof(struct ring, dropped) == 8, "beside the head");
_Static_assert(offsetof(struct ring, tail) == LINE, "the reader's line");
_Static_assert(offsetof(struct ring, want) == 2 * LINE, "a line that is quiet until it is full");
_Static_assert(sizeof(struct ring) == 3 * LINE, "rings lie one after the other");

/* What each process keeps about them. */

typedef struct {
    struct bell *shared; /* NULL: not open */
    size_t lanes, words;
    int read_fd, write_fd; /* the bell's pipe; the read end is the owner's */
    bool rung;             /* owner: there may be a byte in the pipe */
} bell_t;

typedef struct {
    struct ring *shared; /* NULL: not open */
    uint64_t capacity;   /* a power of two */
    uint64_t held;       /* filled by this writer, not published yet */
    bool holding;
    size_t lane;
    bell_t *reader, *writer; /* whom to wake; NULL: nobody waits */
} ring_t;

/* ---------------------------------------------------------------- words */

/* Store-release, load-acquire: who sees a control word sees all that its writer did before it.
 * Without either, an ack could overtake the reads that it says are done, and the lane's memory
 * would be given back under them. Two words never decide something together without a bell
 * between them, so nothing stronger is needed. */
static inline void word_store(word_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, ORDER_WORD_STORE);
}

static inline uint64_t word_load(const word_t *word)
{
    return atomic_load_explicit((word_t *)word, ORDER_WORD_LOAD);
}

/* ----------------------------------------------------------------- bell */

/* Wakes the owner, asleep or not. EAGAIN: the pipe is full, so it will look anyway. EPIPE: it is
 * dead; who is dead is for the supervisor to say. */
static inline void bell_nudge(const bell_t *bell)
{
    ssize_t ignored = write(bell->write_fd, "", 1);
    (void)ignored;
}

/* Ringer's half of the handshake: store work, then load asleep. */
static inline void bell_ring(const bell_t *bell, size_t lane)
{
    /* Sequentially consistent with the load below, because the sleeper stores asleep and then
     * loads work: if either side's load overtook its store, both would read the old value, and
     * the owner would sleep on work (x86 does that to a plain store and load). Its release half
     * pairs with ORDER_WORK_TAKE: what was published before the ring is seen after the take. */
    atomic_fetch_or_explicit(&bell->shared->work[lane / 64], UINT64_C(1) << (lane % 64),
                             ORDER_WORK_SET);
    /* The exchange picks one of several ringers. Its own order carries nothing: the byte, which
     * goes through the kernel, is what the sleeper waits for. A ringer that is killed between the
     * exchange and the byte leaves a sleeper that nobody else will wake; therefore a supervisor
     * that tells of a death nudges. */
    if (atomic_load_explicit(&bell->shared->asleep, ORDER_ASLEEP_LOAD) &&
        atomic_exchange_explicit(&bell->shared->asleep, 0, memory_order_relaxed))
        bell_nudge(bell);
}

/* The lanes of one word of the bitmap that have work; they are the caller's now. */
static inline uint64_t bell_take(const bell_t *bell, size_t word)
{
    word_t *work = &bell->shared->work[word];
    /* A look before the exchange: most words are empty, and reading leaves the line shared. */
    if (!atomic_load_explicit(work, memory_order_relaxed))
        return 0;
    /* Acquire pairs with the ringer's ORDER_WORK_SET. Without it the owner could clear the bit
     * and still read the old head: it would find nothing, and nobody would ring again. */
    return atomic_exchange_explicit(work, 0, ORDER_WORK_TAKE);
}

static inline bool bell_has_work(const bell_t *bell)
{
    for (size_t i = 0; i < bell->words; i++)
        /* The sleeper's load: see bell_ring. */
        if (atomic_load_explicit(&bell->shared->work[i], ORDER_WORK_LOAD))
            return true;
    return false;
}

/* Sleeper's half: store asleep, then load work. True when it is safe to sleep. */
static inline bool bell_arm(const bell_t *bell)
{
    atomic_store_explicit(&bell->shared->asleep, 1, ORDER_ASLEEP_STORE);
    if (!bell_has_work(bell))
        return true;
    /* Relaxed: a ringer that still sees 1 writes a byte that nobody needs. */
    atomic_store_explicit(&bell->shared->asleep, 0, memory_order_relaxed);
    return false;
}

static inline void bell_drain(bell_t *bell)
{
    char waste[64];
    while (read(bell->read_fd, waste, sizeof waste) == sizeof waste)
        ;
    bell->rung = false;
}

/* Awake again: bytes from now on are not needed (relaxed, as above), and old ones are thrown out.
 *
 * Who looks at anything but the bitmap (at a peer's life) must drain first and look then: the byte
 * of a nudge that comes after the look is then still there, and ends the next sleep at once. */
static inline void bell_disarm(bell_t *bell)
{
    atomic_store_explicit(&bell->shared->asleep, 0, memory_order_relaxed);
    bell_drain(bell);
}

static inline int bell_poll(const bell_t *bell, int64_t ns)
{
    struct pollfd pipe = {bell->read_fd, POLLIN, 0};
#ifdef __linux__
    struct timespec wait = {ns / 1000000000, ns % 1000000000};
    return ppoll(&pipe, 1, &wait, NULL);
#else
    /* Rounded up: a timer that wakes early would only sleep again. */
    return poll(&pipe, 1, (int)((ns + 999999) / 1000000));
#endif
}

#define SAFETY_NS INT64_C(1000000000) /* the longest sleep */
#define GRACE_NS INT64_C(20000000)    /* for a ringer that was interrupted between work and byte */

/* Sleep until the byte comes, at most `ns`; the bell is armed. Work that is there after a full
 * safety time, with no byte even then, is a wake-up that was missed: it is counted, and must not
 * happen. */
static inline int bell_sleep(const bell_t *bell, int64_t ns)
{
    int events = bell_poll(bell, ns < SAFETY_NS ? ns : SAFETY_NS);
    if (events == 0 && ns >= SAFETY_NS && bell_has_work(bell) && bell_poll(bell, GRACE_NS) == 0)
        atomic_fetch_add_explicit(&bell->shared->recoveries, 1, memory_order_relaxed);
    return events;
}

/* Before a sleep: the byte of the last wake-up is taken out here and not there, because nobody
 * waits for it now. One that comes after this and before arm costs one wake-up for nothing. */
static inline bool bell_before_sleep(bell_t *bell)
{
    if (bell->rung)
        bell_drain(bell);
    return bell_arm(bell);
}

static inline void bell_after_sleep(bell_t *bell, int events)
{
    atomic_store_explicit(&bell->shared->asleep, 0, memory_order_relaxed);
    bell->rung = events > 0;
}

/* The supervisor's word that a process is dead (odd) or alive (even); it has been reaped, or is
 * not started, so nothing is written on its behalf any more. Release, and acquire below: who reads
 * that its peer is dead must then see the last head that the peer stored (which the supervisor saw
 * through the kernel), or it would give up a part of what was written. */
static inline void bell_store_life(const bell_t *bell, uint64_t life)
{
    atomic_store_explicit(&bell->shared->life, life, ORDER_LIFE_STORE);
}

static inline uint64_t bell_load_life(const bell_t *bell)
{
    return atomic_load_explicit(&bell->shared->life, ORDER_LIFE_LOAD);
}

/* ----------------------------------------------------------------- ring
 *
 * Counters run freely through 2^64; an index is a counter masked by the capacity, and head - tail
 * is the fill, whatever wrapped. One side's own counter is loaded relaxed: it wrote it itself.
 * The peer's counter is not cached in the handle: measured, it saves nothing here
 * (docs/ringbuf.md).
 */

/* Where the writer writes next: behind what it published and what it holds back. */
static inline uint64_t ring_end(const ring_t *ring)
{
    return atomic_load_explicit(&ring->shared->head, memory_order_relaxed) + ring->held;
}

static inline uint64_t ring_free(const ring_t *ring)
{
    /* Acquire pairs with ORDER_TAIL_STORE. Without it the writer's stores into a slot could be
     * seen by a reader that has not finished reading the old content. */
    uint64_t tail = atomic_load_explicit(&ring->shared->tail, ORDER_TAIL_LOAD);
    return ring->capacity - (ring_end(ring) - tail);
}

static inline uint64_t ring_filled(const ring_t *ring)
{
    /* Acquire pairs with ORDER_HEAD_STORE. Without it the reader could read slots from before
     * they were written (torn ids, seen by others on ARM). */
    uint64_t head = atomic_load_explicit(&ring->shared->head, ORDER_HEAD_LOAD);
    return head - atomic_load_explicit(&ring->shared->tail, memory_order_relaxed);
}

/* A writer that found too little room asks to be woken: store want, then look again. Returns the
 * room by now; if that is still too little, the writer may go to sleep. */
static inline uint64_t ring_want(const ring_t *ring)
{
    /* Sequentially consistent with the load below, because the reader stores tail and then loads
     * want: with anything weaker both could read the old value, and the writer would wait for a
     * reader that has already been here. */
    atomic_store_explicit(&ring->shared->want, 1, ORDER_WANT_STORE);
    /* Its acquire half is that of ring_free: the writer fills slots on the strength of it. */
    uint64_t tail = atomic_load_explicit(&ring->shared->tail, ORDER_WANT_TAIL);
    return ring->capacity - (ring_end(ring) - tail);
}

/* Show everything that was filled to the reader, and ring it. */
static inline void ring_publish(ring_t *ring)
{
    uint64_t end = ring_end(ring);
    ring->held = 0;
    /* Release pairs with ORDER_HEAD_LOAD: slots first, then the head that covers them. */
    atomic_store_explicit(&ring->shared->head, end, ORDER_HEAD_STORE);
    if (ring->reader)
        bell_ring(ring->reader, ring->lane);
}

static inline void ring_move_tail(const ring_t *ring, uint64_t count)
{
    uint64_t tail = atomic_load_explicit(&ring->shared->tail, memory_order_relaxed);
    /* Its release half pairs with ORDER_TAIL_LOAD: reads of the slots first, then the tail that
     * gives them away. Sequentially consistent for the sake of `want`: see ring_want. */
    atomic_store_explicit(&ring->shared->tail, tail + count, ORDER_TAIL_STORE);
}

/* Give slots back to the writer, and wake it if it asked for that. */
static inline void ring_release(const ring_t *ring, uint64_t count)
{
    if (!count)
        return; /* nothing that a writer waits for */
    ring_move_tail(ring, count);
    /* The exchange only spares a second ring: which of two wishes it answers does not matter,
     * both are older than the ring that follows. */
    if (atomic_load_explicit(&ring->shared->want, ORDER_WANT_LOAD) &&
        atomic_exchange_explicit(&ring->shared->want, 0, memory_order_relaxed) && ring->writer)
        bell_ring(ring->writer, ring->lane);
}

/* Forget what was not read, and wake the writer in any case: a reader before us may have been
 * killed between its tail and its ring. */
static inline void ring_skip(const ring_t *ring)
{
    ring_move_tail(ring, ring_filled(ring));
    atomic_store_explicit(&ring->shared->want, 0, memory_order_relaxed);
    if (ring->writer)
        bell_ring(ring->writer, ring->lane);
}

/* Relaxed and no read-modify-write: one writer, and a count for people. (It is stored before the
 * head of whatever is published next, so who reads that also sees what was lost before it.) */
static inline void ring_drop(const ring_t *ring, uint64_t count)
{
    word_t *dropped = &ring->shared->dropped;
    uint64_t before = atomic_load_explicit(dropped, memory_order_relaxed);
    atomic_store_explicit(dropped, before + count, memory_order_relaxed);
}

#endif

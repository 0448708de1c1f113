/* The lines that ship, ringbuf/_ring.h, between two threads under ThreadSanitizer.
 *
 *   cc -std=c11 -O1 -g -fsanitize=thread race.c -lpthread && ./a.out
 *
 * Each scene hands plain memory over by one means only, so that an order which is too weak is a
 * data race and nothing else makes up for it:
 *
 *   ring   slots, by head and tail               word   a value, by a control word
 *   want   slots, by head and what `want` saw    life   a value, by the word of a death
 *   bell   a value, by the work bitmap           park   all of it, with threads that sleep
 *
 * Everything is counted and compared; a lost wake-up shows in `recoveries`. Exit codes: 0 good,
 * 1 wrong content or a lost wake-up, 66 a data race (TSAN_OPTIONS=exitcode=66).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ringbuf/_ring.h"

enum { ROUNDS = 20000, MOST = 64, LANES = 130, LANE = 129 };

static struct ring shared_ring;
static alignas(LINE) unsigned char shared_bells[2][sizeof(struct bell) + LINE];
static bell_t reader_bell, writer_bell;
static uint64_t slots[MOST];                   /* plain */
static struct { uint64_t plain; } value;       /* plain */
static word_t word;
static atomic_uint_fast64_t turn;              /* the harness's own hand-over back */
static atomic_bool failed;

static void fail(const char *what, uint64_t seen, uint64_t expected)
{
    fprintf(stderr, "%s: %llu, expected %llu\n", what, (unsigned long long)seen,
            (unsigned long long)expected);
    atomic_store(&failed, true);
}

static void open_bell(bell_t *bell, int index)
{
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_NONBLOCK))
        abort();
    memset(&shared_bells[index], 0, sizeof shared_bells[index]);
    *bell = (bell_t){(struct bell *)shared_bells[index], LANES, (LANES + 63) / 64, pipe_fds[0],
                     pipe_fds[1], true};
}

static void close_bell(bell_t *bell)
{
    close(bell->read_fd);
    close(bell->write_fd);
}

/* ------------------------------------------------------ ring, want, park */

typedef struct {
    uint64_t capacity, first;
    bool by_want, parks;
} scene_t;

static ring_t side_of(const scene_t *scene)
{
    return (ring_t){&shared_ring, scene->capacity, 0, false, LANE,
                    scene->parks ? &reader_bell : NULL, scene->parks ? &writer_bell : NULL};
}

static void rest(const scene_t *scene, bell_t *bell)
{
    if (!scene->parks) {
        sched_yield();
        return;
    }
    if (bell_before_sleep(bell))
        bell_after_sleep(bell, bell_sleep(bell, SAFETY_NS));
    for (size_t i = 0; i < bell->words; i++)
        bell_take(bell, i);
}

static void *write_ring(void *argument)
{
    const scene_t *scene = argument;
    ring_t ring = side_of(scene);
    for (uint64_t i = 0; i < ROUNDS;) {
        uint64_t room = scene->by_want ? ring_want(&ring) : ring_free(&ring);
        if (!room && scene->parks)
            room = ring_want(&ring);
        if (!room) {
            rest(scene, &writer_bell);
            continue;
        }
        uint64_t batch = 1 + i % 3 < room ? 1 + i % 3 : room;
        for (uint64_t n = 0; n < batch; n++, ring.held++)
            slots[ring_end(&ring) & (scene->capacity - 1)] = i++;
        ring_publish(&ring);
    }
    return NULL;
}

static void *read_ring(void *argument)
{
    const scene_t *scene = argument;
    ring_t ring = side_of(scene);
    for (uint64_t i = 0; i < ROUNDS;) {
        uint64_t filled = ring_filled(&ring);
        uint64_t at = atomic_load_explicit(&shared_ring.tail, memory_order_relaxed);
        for (uint64_t n = 0; n < filled; n++, i++)
            if (slots[(at + n) & (scene->capacity - 1)] != i)
                fail("slot", slots[(at + n) & (scene->capacity - 1)], i);
        ring_release(&ring, filled);
        if (!filled)
            rest(scene, &reader_bell);
    }
    return NULL;
}

/* --------------------------------------------------- bell, word and life */

static void give_bell(uint64_t i) { (void)i; bell_ring(&reader_bell, LANE); }
static bool got_bell(uint64_t i) { (void)i; return bell_take(&reader_bell, LANE / 64) != 0; }
static void give_word(uint64_t i) { word_store(&word, i); }
static bool got_word(uint64_t i) { return word_load(&word) == i; }
static void give_life(uint64_t i) { bell_store_life(&reader_bell, i); }
static bool got_life(uint64_t i) { return bell_load_life(&reader_bell) == i; }

typedef struct {
    void (*give)(uint64_t);
    bool (*got)(uint64_t);
} hand_over_t;

static void *give_values(void *argument)
{
    const hand_over_t *by = argument;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        value.plain = i;
        by->give(i);
        while (atomic_load(&turn) != i)
            sched_yield();
    }
    return NULL;
}

static void *take_values(void *argument)
{
    const hand_over_t *by = argument;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        while (!by->got(i))
            sched_yield();
        if (value.plain != i)
            fail("value", value.plain, i);
        atomic_store(&turn, i);
    }
    return NULL;
}

/* ----------------------------------------------------------------- main */

static void both(void *(*one)(void *), void *(*other)(void *), void *argument)
{
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, one, argument) ||
        pthread_create(&threads[1], NULL, other, argument))
        abort();
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void run_ring(scene_t scene)
{
    memset(&shared_ring, 0, sizeof shared_ring);
    shared_ring.head = shared_ring.tail = scene.first;
    both(write_ring, read_ring, &scene);
    if (shared_ring.head != shared_ring.tail)
        fail("tail", shared_ring.tail, shared_ring.head);
}

static void run_hand_over(hand_over_t by)
{
    atomic_store(&turn, 0);
    both(give_values, take_values, &by);
}

static void run(const char *scene)
{
    const uint64_t capacities[] = {1, 2, 8, MOST}, near_wrap = UINT64_MAX - ROUNDS / 2;
    if (!strcmp(scene, "bell"))
        run_hand_over((hand_over_t){give_bell, got_bell});
    else if (!strcmp(scene, "word"))
        run_hand_over((hand_over_t){give_word, got_word});
    else if (!strcmp(scene, "life"))
        run_hand_over((hand_over_t){give_life, got_life});
    else
        for (int i = 0; i < 4; i++)
            run_ring((scene_t){capacities[i], near_wrap, !strcmp(scene, "want"),
                               !strcmp(scene, "park")});
}

int main(int count, char **scenes)
{
    open_bell(&reader_bell, 0);
    open_bell(&writer_bell, 1);
    for (int i = 1; i < count; i++)
        run(scenes[i]);
    uint64_t missed = reader_bell.shared->recoveries + writer_bell.shared->recoveries;
    if (missed)
        fail("recoveries", missed, 0);
    close_bell(&reader_bell);
    close_bell(&writer_bell);
    return atomic_load(&failed);
}

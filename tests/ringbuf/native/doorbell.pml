/* How two programs sleep and wake each other, with store buffers: every interleaving, by Spin.
 *
 *   spin -a doorbell.pml && cc -O2 -DSAFETY -DNOREDUCE pan.c -o pan && ./pan
 *
 * A writer puts ITEMS through a ring of CAP slots to a reader; both sleep on their doorbells, and a
 * third program rings the reader for another lane. There is no safety timer: a lost wake-up is a
 * state that nobody can leave, which Spin reports as an invalid end state. Writer or reader may be
 * killed between any two steps; a supervisor then tells so, and the survivor must end.
 *
 * The steps are those of ringbuf/_ring.h and of Ends.wait in ringbuf/ends.py. Slots are not
 * modelled: that they are there before the head is for ThreadSanitizer (race.c).
 *
 * A sequentially consistent store is one step. Each WEAK_* makes one access weaker, as the mutant
 * of the same name in mutants.py: a store waits in a buffer, from which `memory` takes it at any
 * later time, or a load is done before the store in front of it. NO_* and LATE_* break the protocol.
 */
#ifndef CAP
#define CAP 1
#endif
#ifndef ITEMS
#define ITEMS 3
#endif

byte head, tail;
bool want;
bool work_r, work_o, work_w;     /* the reader's bitmap (this lane, the other), the writer's */
bool asleep_r, asleep_w;
byte pipe_r, pipe_w;
bool killed_w, killed_r;         /* what the kernel knows */
bool life_w, life_r;             /* what the supervisor says */
bool has_killed;                 /* one death is enough */

bool buffered_work_r, buffered_work_w, buffered_asleep_r, buffered_asleep_w;
bool buffered_want, buffered_tail;
byte later_tail;

active proctype memory()
{
end: do
    :: atomic { buffered_work_r -> buffered_work_r = false; work_r = true }
    :: atomic { buffered_work_w -> buffered_work_w = false; work_w = true }
    :: atomic { buffered_asleep_r -> buffered_asleep_r = false; asleep_r = true }
    :: atomic { buffered_asleep_w -> buffered_asleep_w = false; asleep_w = true }
    :: atomic { buffered_want -> buffered_want = false; want = true }
    :: atomic { buffered_tail -> buffered_tail = false; tail = later_tail }
    od
}

/* Anything may be the last step of a program. */
#ifdef NO_KILL
#define MAY_DIE(killed)
#else
#define MAY_DIE(killed) \
    if \
    :: atomic { !has_killed -> has_killed = true; killed = true; goto dead } \
    :: true \
    fi;
#endif

/* ------------------------------------------------------------- bell_ring */

#ifdef WEAK_WORK_SET
#define SET_WORK(work, buffered) buffered = true
#else
#define SET_WORK(work, buffered) work = true
#endif

#ifdef WEAK_ASLEEP_LOAD /* may be done before the store in front of it */
#define SET_WORK_LOAD_ASLEEP(work, buffered, asleep) \
    if \
    :: SET_WORK(work, buffered); seen = asleep \
    :: seen = asleep; SET_WORK(work, buffered) \
    fi
#else
#define SET_WORK_LOAD_ASLEEP(work, buffered, asleep) SET_WORK(work, buffered); seen = asleep
#endif

#ifdef LATE_EXCHANGE /* the byte first, then asleep = 0 */
#define RING(work, buffered, asleep, bytes, killed) \
    SET_WORK_LOAD_ASLEEP(work, buffered, asleep); \
    if \
    :: seen -> bytes++; MAY_DIE(killed) asleep = false \
    :: else \
    fi
#else
#define RING(work, buffered, asleep, bytes, killed) \
    SET_WORK_LOAD_ASLEEP(work, buffered, asleep); \
    MAY_DIE(killed) \
    if \
    :: seen -> \
        atomic { seen = asleep; asleep = false }; \
        MAY_DIE(killed) \
        if \
        :: seen -> bytes++ \
        :: else \
        fi \
    :: else \
    fi
#endif

/* ------------------------------------------ bell_before_sleep .. after it */

#ifdef WEAK_ASLEEP_STORE
#define STORE_ASLEEP(asleep, buffered) buffered = true
#else
#define STORE_ASLEEP(asleep, buffered) asleep = true
#endif
/* Stores to one word stay in order: this one takes the waiting one's place. */
#define CLEAR_ASLEEP(asleep, buffered) atomic { buffered = false; asleep = false }

#ifdef NO_RECHECK
#define ARM(asleep, buffered, has_work) STORE_ASLEEP(asleep, buffered); seen = false
#else
#ifdef WEAK_WORK_LOAD
#define ARM(asleep, buffered, has_work) \
    if \
    :: STORE_ASLEEP(asleep, buffered); seen = (has_work) \
    :: seen = (has_work); STORE_ASLEEP(asleep, buffered) \
    fi
#else
#define ARM(asleep, buffered, has_work) STORE_ASLEEP(asleep, buffered); seen = (has_work)
#endif
#endif

#ifdef LATE_DRAIN /* after the look at the peer's life, just before the sleep */
#define DRAIN_EARLY(bytes)
#define DRAIN_LATE(bytes) bytes = 0
#else
#define DRAIN_EARLY(bytes) bytes = 0
#define DRAIN_LATE(bytes) skip
#endif

#define SLEEP(asleep, buffered, has_work, bytes) \
    DRAIN_LATE(bytes); \
    ARM(asleep, buffered, has_work); \
    if \
    :: seen \
    :: else -> bytes > 0 \
    fi; \
    CLEAR_ASLEEP(asleep, buffered)

/* ---------------------------------------------------------------- writer */

#ifdef WEAK_WANT_STORE
#define STORE_WANT buffered_want = true
#else
#define STORE_WANT want = true
#endif

#define ROOM (CAP - (head - tail))

#ifdef WEAK_WANT_TAIL
#define ASK \
    if \
    :: STORE_WANT; room = ROOM \
    :: room = ROOM; STORE_WANT \
    fi
#else
#define ASK STORE_WANT; room = ROOM
#endif

active proctype writer()
{
    byte room;
    bool seen;
    do
    :: head == ITEMS -> goto done
    :: else ->
        MAY_DIE(killed_w)
        DRAIN_EARLY(pipe_w);
        work_w = false;
        room = ROOM;
        if
        :: room == 0 -> ASK
        :: else
        fi;
        if
        :: room > 0 ->
            head++;
            MAY_DIE(killed_w)
            RING(work_r, buffered_work_r, asleep_r, pipe_r, killed_w)
        :: else ->
            if
            :: life_r -> goto done
            :: else
            fi;
            SLEEP(asleep_w, buffered_asleep_w, work_w, pipe_w)
        fi
    od;
dead:
done:
    skip
}

/* ---------------------------------------------------------------- reader */

#ifdef WEAK_TAIL_STORE
#define STORE_TAIL atomic { later_tail = at; buffered_tail = true }
#else
#define STORE_TAIL tail = at
#endif

#ifdef WEAK_WANT_LOAD
#define STORE_TAIL_LOAD_WANT \
    if \
    :: STORE_TAIL; seen = want \
    :: seen = want; STORE_TAIL \
    fi
#else
#define STORE_TAIL_LOAD_WANT STORE_TAIL; seen = want
#endif

active proctype reader()
{
    bool seen;
    byte at; /* our own tail, whatever others see of it yet */
    do
    :: at == ITEMS -> goto done
    :: else ->
        MAY_DIE(killed_r)
        DRAIN_EARLY(pipe_r);
        atomic { work_r = false; work_o = false };
        if
        :: head > at ->
            at++;
            STORE_TAIL_LOAD_WANT;
            MAY_DIE(killed_r)
            if
            :: seen ->
                atomic { seen = want; want = false };
                MAY_DIE(killed_r)
                if
                :: seen -> RING(work_w, buffered_work_w, asleep_w, pipe_w, killed_r)
                :: else
                fi
            :: else
            fi
        :: else ->
            if
            :: life_w ->
                if
                :: head > at -> goto again /* its last words */
                :: else -> goto done
                fi
            :: else
            fi;
            SLEEP(asleep_r, buffered_asleep_r, work_r || work_o, pipe_r)
        fi;
again:
        skip
    od;
done:
    assert(killed_w || at == ITEMS);
dead:
    skip
}

/* --------------------------------------------- another ringer, supervisor */

active proctype other()
{
    bool seen;
    work_o = true;
    seen = asleep_r;
    if
    :: seen ->
        atomic { seen = asleep_r; asleep_r = false };
        if
        :: seen -> pipe_r++
        :: else
        fi
    :: else
    fi
}

#ifdef NO_NUDGE /* rings like anyone else: only who is asleep gets a byte */
#define NUDGE(asleep, bytes) \
    atomic { seen = asleep; asleep = false }; \
    if \
    :: seen -> bytes++ \
    :: else \
    fi
#else
#define NUDGE(asleep, bytes) bytes++
#endif

#ifdef LATE_LIFE
#define TELL(life, asleep, bytes) NUDGE(asleep, bytes); life = true
#else
#define TELL(life, asleep, bytes) life = true; NUDGE(asleep, bytes)
#endif

active proctype supervisor()
{
    bool seen;
end: if
    :: killed_w -> TELL(life_w, asleep_r, pipe_r)
    :: killed_r -> TELL(life_r, asleep_w, pipe_w)
    fi
}

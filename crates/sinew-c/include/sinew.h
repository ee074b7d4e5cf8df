/* Sinew: nested tasks, and loops that change while they run.
 *
 * Every function returns a status, may be called from any thread at any time, also inside of
 * callbacks, and needs no set-up. Programs link with -lsinew; docs/c.md is a guide.
 *
 * Pools. A pool is a set of workers: threads of the library, and one calling thread. If several
 * threads call at the same time, workers of the library run the calls of the others. A null pointer
 * stands for the pool of the process, which is made at its first use from the environment
 * (SINEW_THREADS and others). All code of the process that uses this library shares it.
 *
 * Callbacks. A callback gets its context first. It may run on any thread of the pool, and several
 * callbacks run at once. What it uses must live until the call returns. It must not throw an
 * exception (sinew.hpp carries them over), jump out, or end its thread.
 *
 * Waiting. A thread that waits in a join, a loop or a scope runs other callbacks of the pool
 * meanwhile: deeper ones, which may belong to calls of other threads. A program that holds a lock
 * during such a call needs a pool with SINEW_WAIT_PARTS, or SINEW_WAIT=descendants.
 *
 * fork. A child process gets a new pool of the process at its first call. Pools and scopes that
 * the parent has created return SINEW_EFORK there, and may be destroyed. A process must not fork
 * while another of its threads changes a control that the child uses.
 *
 * Structures. The first field of each is its size, so that later versions can add fields at the
 * end: initialize them with the macros below.
 */
#ifndef SINEW_H
#define SINEW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the interface that this header describes. */
#define SINEW_ABI 1

/* As many workers as there are. */
#define SINEW_ALL 0xffffffffu

/* The results of all functions. A call that fails changes nothing, if its text says nothing else. */
typedef enum sinew_status {
    SINEW_OK = 0,
    SINEW_EINVAL = 1,     /* a null pointer, a number of 0, an unknown schedule or size */
    SINEW_EHANDLE = 2,    /* the pool, control or scope does not exist, or exists no more */
    SINEW_ECANCELLED = 3, /* the control was cancelled; not every index was visited */
    SINEW_ESTOPPED = 4,   /* a callback stopped the loop; not every index was visited */
    SINEW_EBUSY = 5,      /* the pool, control or scope is in use */
    SINEW_EFORK = 6,      /* the parent process made the pool or scope */
    SINEW_ETHREAD = 7,    /* another thread must make this call */
    SINEW_ESYSTEM = 8,    /* the system refused a thread, or too many handles exist */
    SINEW_EPANIC = 9      /* the library met an error of its own, which it printed */
} sinew_status;

/* How a loop is cut into ranges. A chunk is a number of indices, at least 1. */
typedef enum sinew_schedule {
    SINEW_SCHEDULE_DEFAULT = 0,   /* that of the pool, or stealing */
    SINEW_SCHEDULE_STATIC = 1,    /* an equal share for each worker */
    SINEW_SCHEDULE_DYNAMIC = 2,   /* chunks, first come, first served */
    SINEW_SCHEDULE_GUIDED = 3,    /* chunks that shrink with the remainder, down to `chunk` */
    SINEW_SCHEDULE_FACTORING = 4, /* batches of equal chunks, down to `chunk` */
    SINEW_SCHEDULE_STEALING = 5,  /* idle workers take half of another's range */
    SINEW_SCHEDULE_AFFINITY = 6,  /* what each worker ran last time; idle ones take from others */
    SINEW_SCHEDULE_WEIGHTED = 7,  /* shares by the workers' speeds; idle ones take from others */
    SINEW_SCHEDULE_SIMPLE = 8,    /* halves of halves, down to at most `chunk` indices */
    SINEW_SCHEDULE_ADAPTIVE = 9,  /* the same, further where ranges are taken, to `chunk` */
    SINEW_SCHEDULE_AUTO = 10,     /* tries several in the first long runs of a function */
    SINEW_SCHEDULE_TAPERED = 11   /* chunks that begin with `chunk` and shrink to 1 */
} sinew_schedule;

/* Which callbacks a thread runs while it waits. */
typedef enum sinew_wait {
    SINEW_WAIT_DEEPER = 0, /* deeper ones, of any call of the pool */
    SINEW_WAIT_PARTS = 1,  /* only parts of what it waits for: locks may be held */
    SINEW_WAIT_NOTHING = 2 /* only tasks of the scope that it waits for: locks may be held */
} sinew_wait;

/* Handles, valid until they are destroyed. Later uses return SINEW_EHANDLE. */
typedef struct sinew_pool sinew_pool;
typedef struct sinew_control sinew_control;
typedef struct sinew_memory sinew_memory;
typedef struct sinew_scope sinew_scope;

/* Called with the indices from `begin` to before `end`. `worker` is the number of the participant:
 * less than sinew_max_workers, less than the `threads` of a loop without a control, and no two
 * callbacks of a loop have the same number at the same time. Returns 0; another value stops the
 * loop. */
typedef int (*sinew_range_fn)(void *context, size_t begin, size_t end, unsigned worker);
typedef void (*sinew_task_fn)(void *context);

/* ---- The library ---- */

/* The SINEW_ABI of the library that was loaded. */
unsigned sinew_abi_version(void);
/* The version of the library, such as "0.1.0". */
const char *sinew_version(void);
/* One line about a status, for messages. Never null. */
const char *sinew_status_string(int status);

/* ---- Pools ---- */

typedef struct sinew_pool_options {
    size_t struct_size;
    unsigned threads;  /* workers, the caller included; SINEW_ALL: the CPUs of this process */
    unsigned spare;    /* more workers, each of which works while another one is blocked */
    unsigned wait;     /* a sinew_wait */
    unsigned reserved; /* 0 */
} sinew_pool_options;
#define SINEW_POOL_OPTIONS_INIT {sizeof(sinew_pool_options), SINEW_ALL, 0, SINEW_WAIT_DEEPER, 0}

/* Creates a pool. `options` may be null. Errors: EINVAL, ESYSTEM. */
sinew_status sinew_pool_create(const sinew_pool_options *options, sinew_pool **pool);
/* Ends a pool when its detached tasks have run. Errors: EHANDLE; EBUSY while calls use it. */
sinew_status sinew_pool_destroy(sinew_pool *pool);

/* A number that no worker number of the pool reaches. It never changes. */
sinew_status sinew_max_workers(sinew_pool *pool, unsigned *workers);
/* How many workers may work now: the least of what was set, of the CPUs that affinity and quota
 * allow, and of the granted share of the machine. */
sinew_status sinew_active_workers(sinew_pool *pool, unsigned *workers);
/* The number of the calling thread among the workers of the pool. Errors: ETHREAD for a thread
 * that runs no callback of the pool. */
sinew_status sinew_this_worker(sinew_pool *pool, unsigned *worker);

/* Lets at most `threads` workers work, from their next task or range on. SINEW_ALL takes the
 * request back. Errors: EINVAL for 0. */
sinew_status sinew_set_threads(sinew_pool *pool, unsigned threads);
/* The schedule of loops that have the default one. `chunk` counts where the schedule has one. */
sinew_status sinew_set_schedule(sinew_pool *pool, unsigned schedule, size_t chunk);

/* Binds the pool's threads to processors: "compact", "scatter", a list such as "0,2,4-7", or
 * "none", as null is. Errors: EINVAL for another text, and for a processor that this process may
 * not use. */
sinew_status sinew_set_mapping(sinew_pool *pool, const char *mapping);
/* Ends all loops that run under controls, with SINEW_ECANCELLED. Later ones are not affected. */
sinew_status sinew_cancel(sinew_pool *pool);

/* Tells a pool with spare workers that the calling callback is about to block, and that it goes
 * on: another worker takes its place meanwhile. Without spare workers they do nothing. Errors:
 * ETHREAD outside of callbacks, EINVAL for an end without a beginning. */
sinew_status sinew_blocking_begin(sinew_pool *pool);
sinew_status sinew_blocking_end(sinew_pool *pool);

/* What the workers have done since the pool began. */
typedef struct sinew_counters {
    size_t struct_size;
    uint64_t stolen;        /* tasks that idle workers took from others */
    uint64_t failed_steals; /* attempts that found nothing */
    uint64_t blocked_joins; /* joins that waited for a stolen task */
    uint64_t queued_tasks;  /* tasks of scopes, and detached ones */
    uint64_t visits;        /* calls by threads from outside that became a worker */
    uint64_t injected;      /* tasks and calls that came from outside by a queue */
    uint64_t chunks;        /* ranges of loops */
    uint64_t parks;         /* times a worker went to sleep */
    uint64_t searching_ns;  /* nanoseconds spent searching for work */
    uint64_t parked_ns;     /* nanoseconds spent asleep */
} sinew_counters;
#define SINEW_COUNTERS_INIT {sizeof(sinew_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

sinew_status sinew_get_counters(sinew_pool *pool, sinew_counters *counters);

/* ---- Controls ---- */

/* A control changes the loops that run under it, from any thread. Each participant follows a
 * change between two ranges, of about 50 microseconds. Several loops may have one control. */
sinew_status sinew_control_create(sinew_control **control);
/* Errors: EBUSY while a loop has it. */
sinew_status sinew_control_destroy(sinew_control *control);
/* The most participants, in place of a loop's own number. SINEW_ALL takes the request back. */
sinew_status sinew_control_set_threads(sinew_control *control, unsigned threads);
/* The schedule of what is left, in place of a loop's own; the default takes the request back. */
sinew_status sinew_control_set_schedule(sinew_control *control, unsigned schedule, size_t chunk);
/* Ends the loops, also those that begin later, with SINEW_ECANCELLED. It is final. */
sinew_status sinew_control_cancel(sinew_control *control);
/* The same after a time from now on. The earliest of several times counts. */
sinew_status sinew_control_cancel_after(sinew_control *control, uint64_t nanoseconds);
/* Stores 1 if the control is cancelled, or its time is over, and otherwise 0. */
sinew_status sinew_control_is_cancelled(sinew_control *control, int *cancelled);
/* Binds the participants, as sinew_set_mapping does for a pool; null takes the request back. */
sinew_status sinew_control_set_mapping(sinew_control *control, const char *mapping);
/* The indices of all loops that have begun under the control, and how many are done. */
sinew_status sinew_control_progress(sinew_control *control, uint64_t *done, uint64_t *total);

/* ---- Loops ---- */

/* A memory keeps what the schedules affinity and weighted learn in a run of a loop, for its next
 * run. Without one, and in the first run, each worker begins with an equal share. */
sinew_status sinew_memory_create(sinew_memory **memory);
/* Forgets everything. */
sinew_status sinew_memory_clear(sinew_memory *memory);
/* Errors: EBUSY while a loop has it. */
sinew_status sinew_memory_destroy(sinew_memory *memory);

/* The schedule and the chunk of a text such as "static" or "dynamic:64". Errors: EINVAL. */
sinew_status sinew_schedule_from_name(const char *name, unsigned *schedule, size_t *chunk);

typedef struct sinew_loop_options {
    size_t struct_size;
    unsigned schedule;      /* a sinew_schedule */
    unsigned threads;       /* the most participants, or SINEW_ALL */
    size_t chunk;           /* for schedules that have one */
    sinew_control *control; /* or null */
    sinew_memory *memory;   /* or null */
} sinew_loop_options;
#define SINEW_LOOP_OPTIONS_INIT \
    {sizeof(sinew_loop_options), SINEW_SCHEDULE_DEFAULT, SINEW_ALL, 0, NULL, NULL}

/* Calls `function` with disjoint ranges that cover the indices below `n`. `options` may be null.
 * Errors: EINVAL, EHANDLE, EFORK; ESTOPPED if a callback returned another value than 0, ECANCELLED
 * by the control. The call returns when no callback runs any more. */
sinew_status sinew_for(sinew_pool *pool, size_t n, const sinew_loop_options *options,
                       void *context, sinew_range_fn function);

/* Adds the indices from `begin` to before `end` to `value`. Returns 0, or stops as in a loop. */
typedef int (*sinew_reduce_fn)(void *context, void *value, size_t begin, size_t end);

typedef struct sinew_reduction {
    size_t struct_size;
    size_t value_size; /* bytes of a value, which may be moved; aligned to 16 */
    void (*identity)(void *context, void *value);             /* makes a value of no indices */
    sinew_reduce_fn range;                                    /* adds indices to a value */
    void (*combine)(void *context, void *value, void *after); /* adds `after`, which ends */
    void (*drop)(void *context, void *value);                 /* ends a value, or null */
} sinew_reduction;

/* Combines values of blocks of the indices below `n` in their order, and stores the result. The
 * blocks follow from `n` alone: the result has the same bits for each number of workers.
 * Errors: as sinew_for; `result` is not written then. */
sinew_status sinew_reduce(sinew_pool *pool, size_t n, const sinew_loop_options *options,
                          const sinew_reduction *reduction, void *context, void *result);

/* ---- Tasks ---- */

/* Runs both functions, possibly in parallel, and returns when both have ended. */
sinew_status sinew_join(sinew_pool *pool, void *first_context, sinew_task_fn first,
                        void *second_context, sinew_task_fn second);

/* Runs `function` some time later, on any worker. Nothing but sinew_pool_destroy waits for it. */
sinew_status sinew_spawn(sinew_pool *pool, void *context, sinew_task_fn function);

/* Begins a scope: tasks that sinew_scope_end waits for. The same thread must end it, after the
 * scopes that it has begun later, and in the callback in which it was begun. */
sinew_status sinew_scope_begin(sinew_pool *pool, sinew_scope **scope);
/* Spawns a task, from any thread, also from a task of the scope. It may run at once, and it does
 * not run after sinew_scope_end has returned. */
sinew_status sinew_scope_spawn(sinew_scope *scope, void *context, sinew_task_fn function);
/* Waits for all tasks, also for those that they spawn, and destroys the scope. Errors: ETHREAD for
 * another thread than that which began it. */
sinew_status sinew_scope_end(sinew_scope *scope);

#ifdef __cplusplus
}
#endif

#endif

/* Calls from many threads and from inside of callbacks; numbers of workers; blocked callbacks. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <sinew.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { OUTER = 200, INNER = 300, THREADS = 4 };

typedef struct region {
    sinew_pool *pool;
    unsigned limit;
    int busy[64];
    size_t visits;
    const sinew_loop_options *options;
    struct region *inside;
} region;

/* Holds its number while it runs other loops. */
static int visit(void *context, size_t begin, size_t end, unsigned worker) {
    region *here = context;
    CHECK(worker < here->limit);
    CHECK(__atomic_fetch_add(&here->busy[worker], 1, __ATOMIC_RELAXED) == 0);
    __atomic_fetch_add(&here->visits, end - begin, __ATOMIC_RELAXED);
    if (here->inside) {
        for (; begin < end; begin++) {
            region inner = *here->inside;
            CHECK(sinew_for(inner.pool, INNER, inner.options, &inner, visit) == SINEW_OK);
            CHECK(inner.visits == INNER);
        }
    }
    CHECK(__atomic_fetch_sub(&here->busy[worker], 1, __ATOMIC_RELAXED) == 1);
    return 0;
}

static void *nested(void *context) {
    sinew_pool *pool = context;
    sinew_loop_options of_two = SINEW_LOOP_OPTIONS_INIT, of_all = SINEW_LOOP_OPTIONS_INIT;
    region inner = {NULL, 2, {0}, 0, NULL, NULL}, outer = {NULL, 0, {0}, 0, NULL, NULL};
    unsigned code;
    of_two.threads = 2;
    of_two.chunk = 1;
    of_all.chunk = 1;
    for (code = 0; code <= SINEW_SCHEDULE_TAPERED; code++) {
        of_two.schedule = of_all.schedule = code;
        inner.pool = outer.pool = pool;
        inner.options = &of_two;
        outer.inside = &inner;
        outer.visits = 0;
        outer.options = &of_all;
        CHECK(sinew_max_workers(pool, &outer.limit) == SINEW_OK && outer.limit <= 64);
        CHECK(sinew_for(pool, OUTER, outer.options, &outer, visit) == SINEW_OK);
        CHECK(outer.visits == OUTER);
    }
    return NULL;
}

static void from_many_threads(sinew_pool *pool) {
    pthread_t threads[THREADS];
    int i;
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, nested, pool) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

typedef struct meeting {
    sinew_pool *pool;
    int arrived;
} meeting;

/* Goes on when three have come: more than the pool's two usual workers. */
static void meet(void *context) {
    meeting *here = context;
    CHECK(sinew_blocking_begin(here->pool) == SINEW_OK);
    __atomic_fetch_add(&here->arrived, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&here->arrived, __ATOMIC_RELAXED) < 3) sched_yield();
    CHECK(sinew_blocking_end(here->pool) == SINEW_OK);
    CHECK(sinew_blocking_begin(NULL) == SINEW_ETHREAD);
}

/* On a worker, so that no thread from outside helps. */
static void three_meet(void *context) {
    meeting *here = context;
    sinew_scope *scope;
    int i;
    CHECK(sinew_scope_begin(here->pool, &scope) == SINEW_OK);
    for (i = 0; i < 3; i++) CHECK(sinew_scope_spawn(scope, here, meet) == SINEW_OK);
    CHECK(sinew_scope_end(scope) == SINEW_OK);
}

static void nothing(void *context) { (void)context; }

static void blocked_workers_are_replaced(void) {
    sinew_pool_options options = SINEW_POOL_OPTIONS_INIT;
    meeting three = {NULL, 0};
    unsigned workers = 0;
    options.threads = 2;
    options.spare = 1;
    CHECK(sinew_pool_create(&options, &three.pool) == SINEW_OK);
    CHECK(sinew_max_workers(three.pool, &workers) == SINEW_OK && workers == 3);
    CHECK(sinew_active_workers(three.pool, &workers) == SINEW_OK && workers == 2);
    CHECK(sinew_join(three.pool, &three, three_meet, NULL, nothing) == SINEW_OK);
    CHECK(three.arrived == 3);
    CHECK(sinew_active_workers(three.pool, &workers) == SINEW_OK && workers == 2);
    CHECK(sinew_pool_destroy(three.pool) == SINEW_OK);
}

static void count_one(void *context) { __atomic_fetch_add((int *)context, 1, __ATOMIC_RELEASE); }

typedef struct detached {
    sinew_pool *pool;
    int ran;
} detached;

static void spawn_one(void *context) {
    detached *here = context;
    sched_yield();
    CHECK(sinew_spawn(here->pool, &here->ran, count_one) == SINEW_OK);
}

/* The pool that is destroyed serves the tasks that it waits for. */
static void detached_tasks_run(void) {
    detached here = {NULL, 0};
    int i;
    CHECK(sinew_pool_create(NULL, &here.pool) == SINEW_OK);
    for (i = 0; i < 10; i++) CHECK(sinew_spawn(here.pool, &here, spawn_one) == SINEW_OK);
    CHECK(sinew_pool_destroy(here.pool) == SINEW_OK);
    CHECK(__atomic_load_n(&here.ran, __ATOMIC_ACQUIRE) == 10);
}

static sinew_scope *foreign;

static void *end_foreign(void *context) {
    CHECK(sinew_scope_end(foreign) == SINEW_ETHREAD);
    CHECK(sinew_scope_spawn(foreign, context, count_one) == SINEW_OK);
    return NULL;
}

static void another_thread_cannot_end_a_scope(void) {
    pthread_t other;
    int ran = 0;
    CHECK(sinew_scope_begin(NULL, &foreign) == SINEW_OK);
    CHECK(pthread_create(&other, NULL, end_foreign, &ran) == 0);
    CHECK(pthread_join(other, NULL) == 0);
    CHECK(sinew_scope_end(foreign) == SINEW_OK);
    CHECK(ran == 1);
}

int main(void) {
    sinew_pool_options options = SINEW_POOL_OPTIONS_INIT;
    sinew_pool *pool;
    unsigned wait;
    /* Ends a test that waits in vain. */
    alarm(200);
    from_many_threads(NULL);
    for (wait = 0; wait <= 2; wait++) {
        options.threads = 4;
        options.wait = wait;
        CHECK(sinew_pool_create(&options, &pool) == SINEW_OK);
        from_many_threads(pool);
        CHECK(sinew_pool_destroy(pool) == SINEW_OK);
    }
    detached_tasks_run();
    another_thread_cannot_end_a_scope();
    blocked_workers_are_replaced();
    return failures != 0;
}

/* Bad input gets an error, and loses nothing: the pool works afterwards. */
#include "check.h"

#include <sinew.h>

#include <stdio.h>
#include <string.h>

typedef struct bigger {
    sinew_loop_options known;
    size_t later;
} bigger;

static int mark(void *context, size_t begin, size_t end, unsigned worker) {
    unsigned char *marks = context;
    (void)worker;
    for (; begin < end; begin++) marks[begin]++;
    return 0;
}

static void nothing(void *context) { (void)context; }

static int stop_at_500(void *context, size_t begin, size_t end, unsigned worker) {
    (void)context;
    (void)worker;
    return begin <= 500 && 500 < end ? 7 : 0;
}

static int destroy(void *context, size_t begin, size_t end, unsigned worker) {
    (void)begin;
    (void)end;
    (void)worker;
    return sinew_pool_destroy(context) == SINEW_EBUSY ? 0 : 1;
}

static void zero(void *context, void *value) {
    (void)context;
    *(size_t *)value = 0;
}

static int add(void *context, void *value, size_t begin, size_t end) {
    (void)context;
    *(size_t *)value += end - begin;
    return 0;
}

static void combine(void *context, void *value, void *after) {
    (void)context;
    *(size_t *)value += *(size_t *)after;
}

static int works(sinew_pool *pool) {
    unsigned char marks[1000] = {0};
    size_t i;
    if (sinew_for(pool, 1000, NULL, marks, mark) != SINEW_OK) return 0;
    for (i = 0; i < 1000; i++) {
        if (marks[i] != 1) return 0;
    }
    return 1;
}

static void pools(void) {
    sinew_pool_options options = SINEW_POOL_OPTIONS_INIT;
    sinew_pool *pool = NULL, *again = NULL;
    unsigned number = 0;
    int local = 0;
    CHECK(sinew_pool_create(NULL, NULL) == SINEW_EINVAL);
    options.threads = 0;
    CHECK(sinew_pool_create(&options, &pool) == SINEW_EINVAL);
    options.threads = 1u << 20;
    CHECK(sinew_pool_create(&options, &pool) == SINEW_EINVAL);
    options.threads = 2;
    options.wait = 3;
    CHECK(sinew_pool_create(&options, &pool) == SINEW_EINVAL);
    options.wait = SINEW_WAIT_PARTS;
    options.struct_size = 0;
    CHECK(sinew_pool_create(&options, &pool) == SINEW_EINVAL);
    options.struct_size = sizeof(size_t) + sizeof(unsigned);
    CHECK(sinew_pool_create(&options, &pool) == SINEW_OK);
    CHECK(sinew_max_workers(pool, &number) == SINEW_OK && number == 2);
    CHECK(sinew_max_workers(pool, NULL) == SINEW_EINVAL);
    CHECK(sinew_this_worker(pool, &number) == SINEW_ETHREAD);
    CHECK(sinew_set_threads(pool, 0) == SINEW_EINVAL);
    CHECK(sinew_set_mapping(pool, "nowhere") == SINEW_EINVAL);
    CHECK(sinew_set_mapping(pool, "99999") == SINEW_EINVAL);
    CHECK(sinew_set_mapping(pool, "compact") == SINEW_OK && works(pool));
    CHECK(sinew_set_mapping(pool, NULL) == SINEW_OK && sinew_cancel(pool) == SINEW_OK);
    CHECK(sinew_set_schedule(pool, 12, 1) == SINEW_EINVAL);
    CHECK(sinew_set_schedule(pool, SINEW_SCHEDULE_SIMPLE, 0) == SINEW_EINVAL);
    CHECK(sinew_set_schedule(pool, SINEW_SCHEDULE_DYNAMIC, 0) == SINEW_EINVAL);
    CHECK(sinew_for(pool, 1, NULL, pool, destroy) == SINEW_OK);
    CHECK(works(pool));
    CHECK(sinew_pool_destroy(pool) == SINEW_OK);
    CHECK(sinew_pool_create(NULL, &again) == SINEW_OK);
    CHECK(sinew_pool_destroy(pool) == SINEW_EHANDLE);
    CHECK(sinew_for(pool, 1, NULL, NULL, mark) == SINEW_EHANDLE);
    CHECK(sinew_join(pool, NULL, nothing, NULL, nothing) == SINEW_EHANDLE);
    CHECK(sinew_set_threads(pool, 1) == SINEW_EHANDLE);
    CHECK(sinew_cancel(pool) == SINEW_EHANDLE);
    CHECK(sinew_set_mapping(pool, "none") == SINEW_EHANDLE);
    CHECK(sinew_for((sinew_pool *)(void *)&local, 1, NULL, NULL, mark) == SINEW_EHANDLE);
    CHECK(works(again) && sinew_pool_destroy(again) == SINEW_OK);
    CHECK(sinew_pool_destroy(NULL) == SINEW_EHANDLE);
}

static void loops(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    bigger more = {SINEW_LOOP_OPTIONS_INIT, 0};
    unsigned char marks[10] = {0};
    int code;
    CHECK(sinew_for(NULL, 10, NULL, marks, NULL) == SINEW_EINVAL);
    for (code = 0; code < 20; code++) {
        int known = code <= SINEW_SCHEDULE_TAPERED;
        options.schedule = (unsigned)code;
        options.chunk = 3;
        memset(marks, 0, sizeof marks);
        CHECK(sinew_for(NULL, 10, &options, marks, mark) == (known ? SINEW_OK : SINEW_EINVAL));
        CHECK(marks[0] == known && marks[9] == known);
    }
    options.schedule = 300;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EINVAL);
    options.schedule = SINEW_SCHEDULE_GUIDED;
    options.chunk = 0;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EINVAL);
    options.schedule = 0;
    options.threads = 0;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EINVAL);
    options.threads = SINEW_ALL;
    options.struct_size = 0;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EINVAL);
    more.known.struct_size = sizeof more;
    CHECK(sinew_for(NULL, 10, &more.known, marks, mark) == SINEW_OK);
    more.later = 1;
    CHECK(sinew_for(NULL, 10, &more.known, marks, mark) == SINEW_EINVAL);
    CHECK(sinew_for(NULL, 0, NULL, NULL, mark) == SINEW_OK);
    CHECK(sinew_for(NULL, 1000, NULL, NULL, stop_at_500) == SINEW_ESTOPPED);
    CHECK(works(NULL));
}

/* An older program does not know the last field. */
static void older(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    unsigned char marks[10] = {0};
    options.struct_size = offsetof(sinew_loop_options, memory);
    options.memory = (sinew_memory *)(void *)marks;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_OK && marks[9] == 1);
    options.struct_size = sizeof options;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EHANDLE);
}

static void memories(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    unsigned schedule, run;
    CHECK(sinew_memory_create(NULL) == SINEW_EINVAL);
    CHECK(sinew_memory_create(&options.memory) == SINEW_OK);
    for (schedule = 0; schedule <= SINEW_SCHEDULE_TAPERED; schedule++) {
        options.schedule = schedule;
        options.chunk = 3;
        for (run = 0; run < 3; run++) {
            unsigned char marks[1000] = {0};
            size_t i;
            CHECK(sinew_for(NULL, 1000, &options, marks, mark) == SINEW_OK);
            for (i = 0; i < 1000; i++) CHECK(marks[i] == 1);
        }
    }
    CHECK(sinew_memory_clear(options.memory) == SINEW_OK);
    CHECK(sinew_memory_destroy(options.memory) == SINEW_OK);
    CHECK(sinew_memory_clear(options.memory) == SINEW_EHANDLE);
    CHECK(sinew_memory_destroy(options.memory) == SINEW_EHANDLE);
    CHECK(sinew_memory_destroy(NULL) == SINEW_EHANDLE);
    CHECK(sinew_for(NULL, 1, &options, NULL, mark) == SINEW_EHANDLE);
}

static void names(void) {
    static const char *const names[] = {
        "static",  "dynamic:7",  "guided:7", "factoring:7", "stealing",   "affinity",
        "weighted", "simple:7", "adaptive:7", "auto",        "tapered:7"};
    unsigned code, schedule = 0;
    size_t chunk = 0;
    for (code = 1; code <= SINEW_SCHEDULE_TAPERED; code++) {
        const char *name = names[code - 1];
        CHECK(sinew_schedule_from_name(name, &schedule, &chunk) == SINEW_OK);
        CHECK(schedule == code && chunk == (strchr(name, ':') ? 7u : 0u));
    }
    CHECK(sinew_schedule_from_name("dynamic:0", &schedule, &chunk) == SINEW_EINVAL);
    CHECK(sinew_schedule_from_name("gided", &schedule, &chunk) == SINEW_EINVAL);
    CHECK(sinew_schedule_from_name("\xff", &schedule, &chunk) == SINEW_EINVAL);
    CHECK(sinew_schedule_from_name(NULL, &schedule, &chunk) == SINEW_EINVAL);
    CHECK(sinew_schedule_from_name("auto", NULL, &chunk) == SINEW_EINVAL);
    CHECK(sinew_schedule_from_name("auto", &schedule, NULL) == SINEW_EINVAL);
    CHECK(schedule == SINEW_SCHEDULE_TAPERED);
}

static void deadlines(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    unsigned char marks[10] = {0};
    int cancelled = 7;
    CHECK(sinew_control_create(&options.control) == SINEW_OK);
    CHECK(sinew_control_is_cancelled(options.control, NULL) == SINEW_EINVAL);
    CHECK(sinew_control_cancel_after(options.control, 1000000000000000u) == SINEW_OK);
    CHECK(sinew_control_is_cancelled(options.control, &cancelled) == SINEW_OK && cancelled == 0);
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_OK);
    CHECK(sinew_control_cancel_after(options.control, 0) == SINEW_OK);
    CHECK(sinew_control_is_cancelled(options.control, &cancelled) == SINEW_OK && cancelled == 1);
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_ECANCELLED);
    CHECK(sinew_control_destroy(options.control) == SINEW_OK);
    CHECK(sinew_control_cancel_after(options.control, 0) == SINEW_EHANDLE);
    CHECK(sinew_control_is_cancelled(options.control, &cancelled) == SINEW_EHANDLE);
}

/* Nearly endless: no thread ends the loop before it looks for the cancellation. */
static int cancel_pool(void *context, size_t begin, size_t end, unsigned worker) {
    volatile unsigned turns;
    int failed = sinew_cancel(NULL) != SINEW_OK;
    (void)context;
    (void)worker;
    for (; begin < end; begin++) {
        for (turns = 0; turns < 100; turns++) continue;
    }
    return failed;
}

static void cancelled_pools(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    CHECK(sinew_control_create(&options.control) == SINEW_OK);
    CHECK(sinew_for(NULL, (size_t)-1 / 4, &options, NULL, cancel_pool) == SINEW_ECANCELLED);
    CHECK(sinew_control_destroy(options.control) == SINEW_OK);
    CHECK(works(NULL));
}

static void controls(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    sinew_control *control = NULL;
    unsigned char marks[10] = {0};
    uint64_t done = 0, total = 0;
    CHECK(sinew_control_create(NULL) == SINEW_EINVAL);
    CHECK(sinew_control_create(&control) == SINEW_OK);
    CHECK(sinew_control_set_threads(control, 0) == SINEW_EINVAL);
    CHECK(sinew_control_set_schedule(control, 12, 1) == SINEW_EINVAL);
    CHECK(sinew_control_progress(control, NULL, &total) == SINEW_EINVAL);
    CHECK(sinew_control_set_mapping(control, "nowhere") == SINEW_EINVAL);
    CHECK(sinew_control_set_mapping(control, "compact") == SINEW_OK);
    CHECK(sinew_control_set_mapping(control, NULL) == SINEW_OK);
    options.control = control;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_OK);
    CHECK(sinew_control_progress(control, &done, &total) == SINEW_OK && done == 10 && total == 10);
    CHECK(sinew_control_cancel(control) == SINEW_OK);
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_ECANCELLED);
    CHECK(sinew_control_destroy(control) == SINEW_OK);
    CHECK(sinew_control_destroy(control) == SINEW_EHANDLE);
    CHECK(sinew_control_cancel(NULL) == SINEW_EHANDLE);
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EHANDLE);
    options.control = (sinew_control *)(void *)marks;
    CHECK(sinew_for(NULL, 10, &options, marks, mark) == SINEW_EHANDLE);
}

static void reductions(void) {
    sinew_reduction count = {sizeof count, sizeof(size_t), zero, add, combine, NULL};
    size_t result = 5;
    CHECK(sinew_reduce(NULL, 10, NULL, NULL, NULL, &result) == SINEW_EINVAL);
    CHECK(sinew_reduce(NULL, 10, NULL, &count, NULL, NULL) == SINEW_EINVAL);
    count.value_size = 0;
    CHECK(sinew_reduce(NULL, 10, NULL, &count, NULL, &result) == SINEW_EINVAL);
    count.value_size = sizeof(size_t);
    count.combine = NULL;
    CHECK(sinew_reduce(NULL, 10, NULL, &count, NULL, &result) == SINEW_EINVAL);
    CHECK(result == 5);
    count.combine = combine;
    CHECK(sinew_reduce(NULL, 0, NULL, &count, NULL, &result) == SINEW_OK && result == 0);
    CHECK(sinew_reduce(NULL, 12345, NULL, &count, NULL, &result) == SINEW_OK && result == 12345);
}

static void tasks(void) {
    sinew_scope *scope = NULL;
    sinew_counters counters = SINEW_COUNTERS_INIT;
    CHECK(sinew_join(NULL, NULL, NULL, NULL, nothing) == SINEW_EINVAL);
    CHECK(sinew_join(NULL, NULL, nothing, NULL, NULL) == SINEW_EINVAL);
    CHECK(sinew_spawn(NULL, NULL, NULL) == SINEW_EINVAL);
    CHECK(sinew_scope_begin(NULL, NULL) == SINEW_EINVAL);
    CHECK(sinew_scope_begin(NULL, &scope) == SINEW_OK);
    CHECK(sinew_scope_spawn(scope, NULL, NULL) == SINEW_EINVAL);
    CHECK(sinew_scope_spawn(scope, NULL, nothing) == SINEW_OK);
    CHECK(sinew_scope_end(scope) == SINEW_OK);
    CHECK(sinew_scope_end(scope) == SINEW_EHANDLE);
    CHECK(sinew_scope_spawn(scope, NULL, nothing) == SINEW_EHANDLE);
    CHECK(sinew_scope_end(NULL) == SINEW_EHANDLE);
    CHECK(sinew_blocking_begin(NULL) == SINEW_ETHREAD);
    CHECK(sinew_blocking_end(NULL) == SINEW_ETHREAD);
    CHECK(sinew_get_counters(NULL, NULL) == SINEW_EINVAL);
    counters.struct_size = 0;
    CHECK(sinew_get_counters(NULL, &counters) == SINEW_EINVAL);
    counters.struct_size = sizeof counters;
    CHECK(sinew_get_counters(NULL, &counters) == SINEW_OK && counters.queued_tasks > 0);
}

static void texts(void) {
    int status, other;
    for (status = -1; status <= SINEW_EPANIC + 1; status++) {
        CHECK(strlen(sinew_status_string(status)) > 3);
        for (other = 0; other < status && status <= SINEW_EPANIC; other++)
            CHECK(strcmp(sinew_status_string(status), sinew_status_string(other)) != 0);
    }
    CHECK(strchr(sinew_version(), '.') != NULL);
}

int main(void) {
    texts();
    pools();
    loops();
    older();
    memories();
    names();
    controls();
    deadlines();
    cancelled_pools();
    reductions();
    tasks();
    return failures != 0;
}

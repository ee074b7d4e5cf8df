/* The workload of the plastic skeletons in C, serially and with OpenMP.
 *
 * A process that answers each line on its standard input with a line of nanoseconds and the sum of all answers:
 *
 *   kind tasks heavy light parts entries schedule chunk threads
 *
 * kind: 0 compute, 1 stream, 2 irregular; schedule: 0 none, 1 static, 2 dynamic. The tasks and their table are those of the library's collatz workload.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COMPUTE, STREAM, IRREGULAR };
enum { SERIAL, STATIC, DYNAMIC };

typedef struct {
    uint32_t start, repeats;
} Task;

static uint64_t steps(uint32_t number) {
    uint64_t count = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        count++;
    }
    return count;
}

static uint64_t compute(const Task *task, const uint32_t *table) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < task->repeats; i++) {
        uint32_t number = table[task->start];
        /* A compiler that knew the number would take the steps once. */
        __asm__ volatile("" : "+m"(number));
        sum += steps(number);
    }
    return sum;
}

static uint64_t stream(const Task *task, const uint32_t *table, uint32_t entries) {
    uint64_t sum = 0;
    uint32_t at = task->start, left = task->repeats;
    while (left > 0) {
        uint32_t part = left < entries - at ? left : entries - at;
        for (uint32_t i = 0; i < part; i++) {
            sum += table[at + i];
        }
        left -= part;
        at = 0;
    }
    return sum;
}

static uint64_t irregular(const Task *task, const uint32_t *table) {
    uint32_t at = task->start;
    for (uint32_t i = 0; i < task->repeats; i++) {
        at = table[at];
    }
    return at;
}

static uint64_t apply(int kind, const Task *task, const uint32_t *table, uint32_t entries) {
    switch (kind) {
    case COMPUTE: return compute(task, table);
    case STREAM: return stream(task, table, entries);
    default: return irregular(task, table);
    }
}

static void run(int kind, const Task *tasks, long count, const uint32_t *table, uint32_t entries, uint64_t *answers,
                int schedule, int chunk, int threads) {
    if (schedule == SERIAL) {
        for (long i = 0; i < count; i++) {
            answers[i] = apply(kind, &tasks[i], table, entries);
        }
        return;
    }
    omp_set_schedule(schedule == STATIC ? omp_sched_static : omp_sched_dynamic, schedule == STATIC ? 0 : chunk);
#pragma omp parallel for schedule(runtime) num_threads(threads)
    for (long i = 0; i < count; i++) {
        answers[i] = apply(kind, &tasks[i], table, entries);
    }
}

static uint32_t entry(int kind, uint32_t at, uint32_t entries) {
    switch (kind) {
    case COMPUTE: return 6;
    case STREAM: return at;
    default: return (at * 1664525u + 1013904223u) & (entries - 1);
    }
}

static void *room(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "no room for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(void) {
    int kind, schedule, chunk, threads;
    long count, parts;
    uint32_t heavy, light, entries, filled = 0, *table = NULL;
    int filled_for = -1;
    while (scanf("%d %ld %u %u %ld %u %d %d %d", &kind, &count, &heavy, &light, &parts, &entries, &schedule, &chunk,
                 &threads) == 9) {
        if (kind != filled_for || entries != filled) {
            free(table);
            table = room(entries * sizeof *table);
            for (uint32_t i = 0; i < entries; i++) {
                table[i] = entry(kind, i, entries);
            }
            filled = entries;
            filled_for = kind;
        }
        Task *tasks = room(count * sizeof *tasks);
        uint64_t *answers = room(count * sizeof *answers), begin = 0, sum = 0;
        for (long i = 0; i < count; i++) {
            uint32_t repeats = i < count / parts ? heavy : light;
            tasks[i] = (Task){(kind == STREAM ? begin : (uint64_t)i) % entries, repeats};
            begin += repeats;
        }
        /* The team is there before the clock starts. */
        if (schedule != SERIAL) {
#pragma omp parallel num_threads(threads)
            { }
        }
        int64_t began = now_ns();
        run(kind, tasks, count, table, entries, answers, schedule, chunk, threads);
        int64_t ns = now_ns() - began;
        for (long i = 0; i < count; i++) {
            sum += answers[i];
        }
        printf("%lld %llu\n", (long long)ns, (unsigned long long)sum);
        fflush(stdout);
        free(tasks);
        free(answers);
    }
    free(table);
    return 0;
}

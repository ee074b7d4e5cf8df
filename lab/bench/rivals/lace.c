// fib on Lace, with its programming interface. The protocol is that of rival.hpp; see src/runtimes/process.rs.
#include <lace.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

TASK_1(uint64_t, fib, uint64_t, n) {
    if (n < 2) return n;
    SPAWN(fib, n - 1);
    uint64_t b = CALL(fib, n - 2);
    uint64_t a = SYNC(fib);
    return a + b;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(void) {
    char problem[16];
    unsigned threads;
    uint64_t size, kind, repeats;
    while (scanf("%15s %u %" SCNu64 " %" SCNu64 " %" SCNu64, problem, &threads, &size, &kind, &repeats) == 5) {
        if (strcmp(problem, "fib") != 0) return 2;
        lace_start(threads, 0);
        // Works until the threads have found cores of their own, as the other contenders do.
        for (int64_t end = now_ns() + 10000000; now_ns() < end;) RUN(fib, 18);
        int64_t begin = now_ns();
        uint64_t answer = RUN(fib, size);
        int64_t took = now_ns() - begin;
        lace_stop();
        printf("%" PRId64 " %" PRIu64 "\n", took, answer);
        fflush(stdout);
    }
    return 0;
}

/* A loop that runs repeatedly over the same data, by the schedule that the user names: each worker
 * begins with what it ran last time. */
#include <sinew.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 100000, RUNS = 5 };

static double cells[N];

static int step(void *context, size_t begin, size_t end, unsigned worker) {
    (void)context;
    (void)worker;
    for (; begin < end; begin++) cells[begin] = cells[begin] / 2 + 1;
    return 0;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "affinity";
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    int run;
    if (sinew_schedule_from_name(name, &options.schedule, &options.chunk) != SINEW_OK) {
        fprintf(stderr, "%s is not a schedule\n", name);
        return 2;
    }
    if (sinew_memory_create(&options.memory) != SINEW_OK) return 1;
    for (run = 0; run < RUNS; run++) {
        if (sinew_for(NULL, N, &options, NULL, step) != SINEW_OK) return 1;
    }
    if (sinew_memory_destroy(options.memory) != SINEW_OK) return 1;
    printf("%g\n", cells[N - 1]);
    return cells[0] == 1.9375 && cells[N - 1] == 1.9375 ? 0 : 1;
}

/* Another thread changes a loop while it runs, and cancels it at last. */
#define _POSIX_C_SOURCE 200809L
#include <sinew.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int spin(void *context, size_t begin, size_t end, unsigned worker) {
    volatile unsigned turns;
    (void)context;
    (void)worker;
    for (; begin < end; begin++) {
        for (turns = 0; turns < 100; turns++) continue;
    }
    return 0;
}

/* Each change waits until the loop has gone on since the one before. */
static int goes_on(sinew_control *control, uint64_t *done) {
    uint64_t before = *done, total;
    struct timespec pause = {0, 100000};
    while (*done == before) {
        if (sinew_control_progress(control, done, &total) != SINEW_OK) return 0;
        nanosleep(&pause, NULL);
    }
    return 1;
}

static void *change(void *context) {
    sinew_control *control = context;
    uint64_t done = 0;
    if (!goes_on(control, &done)) return control;
    if (sinew_control_set_threads(control, 1) != SINEW_OK) return control;
    if (!goes_on(control, &done)) return control;
    if (sinew_control_set_schedule(control, SINEW_SCHEDULE_DYNAMIC, 64) != SINEW_OK)
        return control;
    if (sinew_control_set_threads(control, SINEW_ALL) != SINEW_OK) return control;
    if (!goes_on(control, &done)) return control;
    return sinew_control_cancel(control) == SINEW_OK ? NULL : control;
}

int main(void) {
    sinew_loop_options options = SINEW_LOOP_OPTIONS_INIT;
    pthread_t other;
    void *failed;
    if (sinew_control_create(&options.control) != SINEW_OK) return 1;
    if (pthread_create(&other, NULL, change, options.control) != 0) return 1;
    /* Nearly endless, so only the cancellation ends it. */
    if (sinew_for(NULL, (size_t)-1 / 4, &options, NULL, spin) != SINEW_ECANCELLED) return 1;
    pthread_join(other, &failed);
    if (failed != NULL || sinew_control_destroy(options.control) != SINEW_OK) return 1;
    printf("cancelled\n");
    return 0;
}

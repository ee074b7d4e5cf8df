// Counts looks at which its mask is not the processor that its user has bound it to:
// `bound HOW CPU`. HOW: `given` (it was bound before it began), `self` (it binds itself), `thread`
// (a thread that begins when a line is read binds itself). It looks until its input ends.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cpu_set_t wished;
static const char *how;
static volatile int is_over;

static void *look(void *nothing) {
    if (strcmp(how, "given"))
        pthread_setaffinity_np(pthread_self(), sizeof wished, &wished);
    puts("bound");
    fflush(stdout);
    long off = 0;
    while (!is_over) {
        cpu_set_t now;
        CPU_ZERO(&now);
        pthread_getaffinity_np(pthread_self(), sizeof now, &now);
        off += !CPU_EQUAL(&now, &wished);
        sched_yield();
    }
    printf("%ld\n", off);
    return nothing;
}

static void *wait_for_end(void *nothing) {
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    is_over = 1;
    return nothing;
}

int main(int count, char **words) {
    char byte = 0;
    pthread_t thread;
    if (count != 3)
        return 2;
    how = words[1];
    CPU_SET(atoi(words[2]), &wished);
    if (!strcmp(how, "thread")) {
        while (byte != '\n' && read(0, &byte, 1) > 0)
            ;
        pthread_create(&thread, 0, look, 0);
        wait_for_end(0);
        pthread_join(thread, 0);
        return 0;
    }
    pthread_create(&thread, 0, wait_for_end, 0);
    look(0);
    return 0;
}

/* Two processes with SINEW_COORDINATE=1 share the machine: each sees fewer active workers than it
 * has, while both work. The alarm ends a test that waits in vain. */
#define _DEFAULT_SOURCE
#include <sinew.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int spin(void *context, size_t begin, size_t end, unsigned worker) {
    volatile unsigned turns;
    (void)context;
    (void)worker;
    for (; begin < end; begin++) {
        for (turns = 0; turns < 1000; turns++) continue;
    }
    return 0;
}

/* Works until both have seen a share of the machine. */
static int share(int *seen, int me) {
    for (;;) {
        unsigned most, active;
        if (sinew_for(NULL, 1000, NULL, NULL, spin) != SINEW_OK) return 1;
        if (sinew_max_workers(NULL, &most) != SINEW_OK) return 1;
        if (sinew_active_workers(NULL, &active) != SINEW_OK) return 1;
        if (most < 2 || active < most) __atomic_store_n(&seen[me], 1, __ATOMIC_RELAXED);
        if (__atomic_load_n(&seen[1 - me], __ATOMIC_RELAXED) && seen[me]) return 0;
    }
}

int main(void) {
    int ended, *seen = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    if (seen == MAP_FAILED || setenv("SINEW_COORDINATE", "1", 1) != 0) return 1;
    alarm(100);
    child = fork();
    if (child == 0) {
        alarm(100);
        _exit(share(seen, 1));
    }
    if (child < 0 || share(seen, 0) != 0 || waitpid(child, &ended, 0) != child) return 1;
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 0 ? 0 : 1;
}

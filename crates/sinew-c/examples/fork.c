/* A child process after fork has workers of its own. */
#define _POSIX_C_SOURCE 200809L
#include <sinew.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000 };

static int mark(void *context, size_t begin, size_t end, unsigned worker) {
    unsigned char *marks = context;
    (void)worker;
    for (; begin < end; begin++) marks[begin]++;
    return 0;
}

static int is_right(sinew_pool *pool) {
    unsigned char marks[N] = {0};
    size_t i;
    if (sinew_for(pool, N, NULL, marks, mark) != SINEW_OK) return 0;
    for (i = 0; i < N; i++) {
        if (marks[i] != 1) return 0;
    }
    return 1;
}

int main(void) {
    sinew_pool *pool;
    pid_t child;
    int ended;
    if (!is_right(NULL) || sinew_pool_create(NULL, &pool) != SINEW_OK || !is_right(pool)) return 1;
    child = fork();
    if (child == 0) {
        unsigned char marks[N] = {0};
        int ok = is_right(NULL);
        /* The threads of this pool are the parent's. */
        ok = ok && sinew_for(pool, N, NULL, marks, mark) == SINEW_EFORK;
        ok = ok && sinew_pool_destroy(pool) == SINEW_OK;
        ok = ok && sinew_pool_create(NULL, &pool) == SINEW_OK && is_right(pool);
        ok = ok && sinew_pool_destroy(pool) == SINEW_OK;
        _exit(ok ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &ended, 0) != child) return 1;
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) return 1;
    if (!is_right(pool) || sinew_pool_destroy(pool) != SINEW_OK || !is_right(NULL)) return 1;
    printf("parent and child\n");
    return 0;
}

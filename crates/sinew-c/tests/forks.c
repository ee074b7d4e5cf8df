/* A child works, whatever the threads of its parent do at the time of the fork. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <sinew.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 300 };

static int count(void *context, size_t begin, size_t end, unsigned worker) {
    (void)worker;
    __atomic_fetch_add((size_t *)context, end - begin, __ATOMIC_RELAXED);
    return 0;
}

static int works(void) {
    size_t visits = 0;
    return sinew_for(NULL, N, NULL, &visits, count) == SINEW_OK && visits == N;
}

static int is_well(pid_t child) {
    int ended = 1;
    return child > 0 && waitpid(child, &ended, 0) == child && WIFEXITED(ended) &&
           WEXITSTATUS(ended) == 0;
}

/* The child goes on in the callback of its parent. */
static int fork_inside(void *context, size_t begin, size_t end, unsigned worker) {
    (void)context;
    (void)worker;
    for (; begin < end; begin++) {
        if (begin == 3) {
            pid_t child = fork();
            if (child == 0) _exit(works() && failures == 0 ? 0 : 1);
            CHECK(is_well(child));
        }
    }
    return 0;
}

static void *fork_often(void *context) {
    int i;
    for (i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) _exit(works() ? 0 : 1);
        CHECK(is_well(child));
    }
    return context;
}

/* A child of a child, and scopes and pools of the parent. */
static void what_the_parent_made(void) {
    sinew_pool *pool;
    sinew_scope *scope;
    pid_t child;
    size_t visits = 0;
    CHECK(sinew_pool_create(NULL, &pool) == SINEW_OK);
    CHECK(sinew_scope_begin(pool, &scope) == SINEW_OK);
    child = fork();
    if (child == 0) {
        pid_t grandchild;
        CHECK(sinew_for(pool, N, NULL, &visits, count) == SINEW_EFORK);
        CHECK(sinew_scope_end(scope) == SINEW_EFORK);
        CHECK(sinew_pool_destroy(pool) == SINEW_OK);
        CHECK(works());
        grandchild = fork();
        if (grandchild == 0) _exit(works() ? 0 : 1);
        CHECK(is_well(grandchild) && works());
        _exit(failures != 0);
    }
    CHECK(is_well(child));
    CHECK(sinew_scope_end(scope) == SINEW_OK && sinew_pool_destroy(pool) == SINEW_OK);
}

int main(void) {
    pthread_t forker;
    int i;
    CHECK(pthread_create(&forker, NULL, fork_often, NULL) == 0);
    for (i = 0; i < 200; i++) CHECK(works());
    CHECK(pthread_join(forker, NULL) == 0);
    CHECK(sinew_for(NULL, 8, NULL, NULL, fork_inside) == SINEW_OK);
    what_the_parent_made();
    return failures != 0;
}

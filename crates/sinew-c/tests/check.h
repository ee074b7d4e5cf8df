/* Counts the conditions that do not hold, on any thread. A test returns `failures != 0`. In C and
 * C++. */
#ifndef SINEW_TESTS_CHECK_H
#define SINEW_TESTS_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) {                                           \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);   \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);       \
        }                                                             \
    } while (0)

#endif

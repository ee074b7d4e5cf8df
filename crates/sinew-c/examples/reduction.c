/* A sum of fractions: the same bits with one worker and with all. */
#include <sinew.h>

#include <stdio.h>

enum { N = 1000000 };

static void zero(void *context, void *value) {
    (void)context;
    *(double *)value = 0.0;
}

static int add(void *context, void *value, size_t begin, size_t end) {
    double sum = *(double *)value;
    size_t i;
    (void)context;
    for (i = begin; i < end; i++) sum += 1.0 / (double)(i + 1);
    *(double *)value = sum;
    return 0;
}

static void combine(void *context, void *value, void *after) {
    (void)context;
    *(double *)value += *(double *)after;
}

int main(void) {
    sinew_reduction sum = {sizeof sum, sizeof(double), zero, add, combine, NULL};
    sinew_loop_options alone = SINEW_LOOP_OPTIONS_INIT;
    double with_all = 0.0, with_one = 0.0;
    alone.threads = 1;
    if (sinew_reduce(NULL, N, NULL, &sum, NULL, &with_all) != SINEW_OK) return 1;
    if (sinew_reduce(NULL, N, &alone, &sum, NULL, &with_one) != SINEW_OK) return 1;
    if (with_all < with_one || with_all > with_one) return 1;
    printf("%.6f\n", with_all);
    return 0;
}

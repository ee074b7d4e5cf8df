/* Squares, by several threads. */
#include <sinew.h>

#include <stdio.h>

enum { N = 100000 };

static int square(void *context, size_t begin, size_t end, unsigned worker) {
    double *values = context;
    size_t i;
    (void)worker;
    for (i = begin; i < end; i++) values[i] = (double)i * (double)i;
    return 0;
}

int main(void) {
    static double values[N];
    sinew_status status = sinew_for(NULL, N, NULL, values, square);
    size_t i;
    if (status != SINEW_OK) {
        fprintf(stderr, "sinew_for: %s\n", sinew_status_string(status));
        return 1;
    }
    for (i = 0; i < N; i++) {
        if (values[i] != (double)i * (double)i) return 1;
    }
    printf("%.0f\n", values[N - 1]);
    return 0;
}

/* A library with one parallel function, to be loaded while a program runs. */
#include <omp.h>

long NAME(void);

long NAME(void) {
    long sum = 0;
    for (int r = 0; r < 300; r++) {
#pragma omp parallel reduction(+ : sum)
        {
            int t = omp_get_thread_num(), n = omp_get_num_threads();
            for (int i = t * 1000 / n; i < (t + 1) * 1000 / n; i++) sum += i;
        }
    }
    return sum;
}

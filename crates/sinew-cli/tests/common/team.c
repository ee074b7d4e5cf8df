/* Prints how many threads its regions have, whenever that changes; for ever. It never asks the runtime, which would fix the number. */
#include <stdio.h>

int main(void) {
    int last = 0;
    for (;;) {
        int team = 0;
#pragma omp parallel reduction(+ : team)
        {
            for (volatile int i = 0; i < 20000; i++) {}
            team += 1;
        }
        if (team != last) {
            printf("%d\n", last = team);
            fflush(stdout);
        }
    }
}

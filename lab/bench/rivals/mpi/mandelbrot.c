// A picture of the Mandelbrot set: plain MPI, as many rows for each rank. The example `mandelbrot`
// of sinew-dist paints the same frames.
//
//     mpicc -O3 -o mandelbrot mandelbrot.c && mpirun -n 2 ./mandelbrot 300
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { FRAMES = 6, LIMIT = 1000 };

// Writes the iterations after which the points of a row leave the disc. Returns their sum.
static unsigned long long paint(unsigned short *image, int row, int side, int frame) {
    double size = 3.0;
    for (int at = 0; at < frame; at++) size *= 0.9;
    double y = 0.2 + size * ((row + 0.5) / side - 0.5);
    unsigned long long all = 0;
    for (int column = 0; column < side; column++) {
        double x = -0.6 + size * ((column + 0.5) / side - 0.5), a = 0.0, b = 0.0;
        int count = 0;
        while (a * a + b * b <= 4.0 && count < LIMIT) {
            double next = a * a - b * b + x;
            b = 2.0 * a * b + y;
            a = next;
            count++;
        }
        image[column] = (unsigned short)count;
        all += (unsigned)count;
    }
    return all;
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int side = count > 1 ? atoi(words[1]) : 300, size, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int start = first_of(rank, size, side), end = first_of(rank + 1, size, side);
    unsigned short *part = calloc((size_t)(end - start) * side + 1, sizeof *part), *image = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), longest;
    unsigned long long load = 0, most, sum;
    for (int frame = 0; frame < FRAMES; frame++) {
        load = 0;
        for (int row = start; row < end; row++) load += paint(part + (size_t)(row - start) * side, row, side, frame);
        // The frames follow each other, as those of a film.
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double took = MPI_Wtime() - begin;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&load, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&load, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    int *counts = malloc(sizeof *counts * size), *places = malloc(sizeof *places * size);
    for (int from = 0; from < size; from++) {
        places[from] = first_of(from, size, side) * side;
        counts[from] = first_of(from + 1, size, side) * side - places[from];
    }
    if (rank == 0) image = malloc(sizeof *image * (size_t)side * side);
    MPI_Gatherv(part, (end - start) * side, MPI_UNSIGNED_SHORT, image, counts, places, MPI_UNSIGNED_SHORT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        uint64_t number = EMPTY;
        for (size_t at = 0; at < (size_t)side * side; at++) number = mixed(number, image[at]);
        printf("%d x %d: result %016llx; %d ranks\n", side, side, (unsigned long long)number, size);
        printf("%.1f ms a frame; the largest load of a rank by the mean: %.2f\n", 1e3 * longest / FRAMES, (double)most * size / (double)sum);
    }
    MPI_Finalize();
    return 0;
}

// Jacobi's method on a plate with a hot edge: plain MPI, cut along both dimensions, with halos that
// travel while the interior is swept. The example `jacobi` of sinew-dist solves the same problem.
//
//     mpicc -O3 -o jacobi jacobi.c && mpirun -n 2 ./jacobi 500
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { SWEEPS = 50 };

static int columns;  // Of a part with its halo.

// Writes the elements of some rows and columns.
static void sweep(const double *restrict now, double *restrict next, int top, int bottom, int left, int right) {
    for (int row = top; row < bottom; row++) {
        const double *restrict at = now + (size_t)row * columns;
        double *restrict to = next + (size_t)row * columns;
        for (int column = left; column < right; column++)
            to[column] = 0.25 * (at[column - columns] + at[column + columns] + at[column - 1] + at[column + 1]);
    }
}

static int max(int a, int b) { return a > b ? a : b; }
static int min(int a, int b) { return a < b ? a : b; }

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int side = count > 1 ? atoi(words[1]) : 500, size, rank, parts[2] = {0, 0}, place[2], ring[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, parts);
    MPI_Comm ranks;
    MPI_Cart_create(MPI_COMM_WORLD, 2, parts, ring, 0, &ranks);
    MPI_Comm_rank(ranks, &rank);
    MPI_Cart_coords(ranks, rank, 2, place);
    int start[2], own[2], near[4];
    for (int d = 0; d < 2; d++) {
        start[d] = first_of(place[d], parts[d], side);
        own[d] = first_of(place[d] + 1, parts[d], side) - start[d];
        MPI_Cart_shift(ranks, d, 1, &near[2 * d], &near[2 * d + 1]);
    }
    int rows = own[0] + 2;
    columns = own[1] + 2;
    double *now = calloc((size_t)rows * columns, sizeof *now), *next = calloc((size_t)rows * columns, sizeof *next);
    if (start[0] == 0)
        for (int column = 1; column <= own[1]; column++) now[columns + column] = next[columns + column] = 100.0;
    // What is swept: all but the edge of the plate.
    int top = max(1, 2 - start[0]), bottom = min(own[0] + 1, side - start[0]);
    int left = max(1, 2 - start[1]), right = min(own[1] + 1, side - start[1]);
    // What needs no halo.
    int inner_top = max(top, 2), inner_bottom = max(inner_top, min(bottom, own[0]));
    int inner_left = max(left, 2), inner_right = max(inner_left, min(right, own[1]));
    MPI_Datatype column;
    MPI_Type_vector(bottom - top, 1, columns, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    int width = right - left, height = bottom - top;
    unsigned long long counts[2] = {0, 0}, all[2];
    MPI_Barrier(ranks);
    double begin = MPI_Wtime();
    for (int sweeps = 0; sweeps < SWEEPS; sweeps++) {
        size_t sent[4] = {(size_t)columns + left, (size_t)own[0] * columns + left,
                          (size_t)top * columns + 1, (size_t)top * columns + own[1]};
        size_t halo[4] = {(size_t)left, (size_t)(own[0] + 1) * columns + left,
                          (size_t)top * columns, (size_t)top * columns + own[1] + 1};
        MPI_Request requests[8];
        for (int side = 0; side < 4; side++) {
            MPI_Datatype type = side < 2 ? MPI_DOUBLE : column;
            int elements = side < 2 ? width : 1;
            MPI_Irecv(now + halo[side], elements, type, near[side], side ^ 1, ranks, &requests[side]);
            MPI_Isend(now + sent[side], elements, type, near[side], side, ranks, &requests[4 + side]);
            if (near[side] != MPI_PROC_NULL) {
                counts[0]++;
                counts[1] += 8ull * (unsigned)(side < 2 ? width : height);
            }
        }
        sweep(now, next, inner_top, inner_bottom, inner_left, inner_right);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        sweep(now, next, top, min(inner_top, bottom), left, right);
        sweep(now, next, max(inner_bottom, top), bottom, left, right);
        sweep(now, next, inner_top, inner_bottom, left, min(inner_left, right));
        sweep(now, next, inner_top, inner_bottom, max(inner_right, left), right);
        double *other = now;
        now = next, next = other;
    }
    double took = MPI_Wtime() - begin, longest;
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, ranks);
    MPI_Reduce(counts, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, ranks);
    // Rank 0 puts the plate together.
    double *part = malloc(sizeof *part * (size_t)own[0] * own[1]);
    for (int row = 0; row < own[0]; row++)
        memcpy(part + (size_t)row * own[1], now + (size_t)(row + 1) * columns + 1, sizeof *part * own[1]);
    if (rank > 0) {
        MPI_Send(part, own[0] * own[1], MPI_DOUBLE, 0, 0, ranks);
        MPI_Finalize();
        return 0;
    }
    double *plate = malloc(sizeof *plate * (size_t)side * side);
    for (int from = 0; from < size; from++) {
        int at[2], first[2], sides[2];
        MPI_Cart_coords(ranks, from, 2, at);
        for (int d = 0; d < 2; d++) {
            first[d] = first_of(at[d], parts[d], side);
            sides[d] = first_of(at[d] + 1, parts[d], side) - first[d];
        }
        double *got = from == 0 ? part : malloc(sizeof *got * (size_t)sides[0] * sides[1]);
        if (from > 0) MPI_Recv(got, sides[0] * sides[1], MPI_DOUBLE, from, 0, ranks, MPI_STATUS_IGNORE);
        for (int row = 0; row < sides[0]; row++)
            memcpy(plate + (size_t)(first[0] + row) * side + first[1], got + (size_t)row * sides[1], sizeof *got * sides[1]);
        free(got);
    }
    uint64_t sum = EMPTY, word;
    for (size_t at = 0; at < (size_t)side * side; at++) {
        memcpy(&word, &plate[at], sizeof word);
        sum = mixed(sum, word);
    }
    printf("%d sweeps of %d x %d: result %016llx; %d ranks\n", SWEEPS, side, side, (unsigned long long)sum, size);
    printf("%.3f ms a sweep; %llu messages, %llu bytes\n", 1e3 * longest / SWEEPS, all[0], all[1]);
    MPI_Finalize();
    return 0;
}

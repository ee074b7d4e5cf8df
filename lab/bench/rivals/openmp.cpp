//! The problems in OpenMP: tasks where work is nested, `parallel for` where it is flat.
#include "rival.hpp"

#include <omp.h>

namespace rival {

void start(int threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
#pragma omp parallel
    keep(u64(omp_get_thread_num()));
}

void stop() {
    // A team that waits for its next region spins; ending it leaves the cores to the others.
    omp_pause_resource_all(omp_pause_hard);
}

template <class F>
u64 as_root_task(F f) {
    u64 answer = 0;
#pragma omp parallel
#pragma omp single
    answer = f();
    return answer;
}

static u64 fib_task(u64 n) {
    if (n < 2) return n;
    u64 a, b;
#pragma omp task shared(a) firstprivate(n)
    a = fib_task(n - 1);
    b = fib_task(n - 2);
#pragma omp taskwait
    return a + b;
}

u64 fib(u64 n) {
    return as_root_task([=] { return fib_task(n); });
}

static u64 place(u64 rows, u64 all, u64 columns, u64 left, u64 right, u64 free) {
    if (rows == 0) return place_serially(all, columns, left, right, free);
    if (free == 0) return 0;
    u64 bit = free & (0 - free), rest = free ^ bit, here, others;
    u64 c = columns | bit, l = (left | bit) << 1, r = (right | bit) >> 1;
#pragma omp task shared(others) firstprivate(rows, all, columns, left, right, rest)
    others = rest ? place(rows, all, columns, left, right, rest) : 0;
    here = place(rows - 1, all, c, l, r, all & ~(c | l | r));
#pragma omp taskwait
    return here + others;
}

u64 queens(u64 n, u64 rows) {
    u64 all = (1ull << n) - 1;
    return as_root_task([=] { return place(rows, all, 0, 0, 0, all); });
}

static u64 node(u64 first, u64 leaves) {
    if (leaves == 1) return first;
    u64 sums[10], sum = 0;
    for (u64 child = 0; child < 10; child++) {
#pragma omp task shared(sums) firstprivate(child, first, leaves)
        sums[child] = node(first + child * (leaves / 10), leaves / 10);
    }
#pragma omp taskwait
    for (u64 s : sums) sum += s;
    return sum;
}

u64 skynet(u64 depth) {
    u64 leaves = 1;
    for (u64 i = 0; i < depth; i++) leaves *= 10;
    return as_root_task([=] { return node(0, leaves); });
}

void multiply(const double* a, const double* b, double* c, u64 n) {
#pragma omp parallel for schedule(static)
    for (u64 i = 0; i < n; i++) multiply_row(a + i * n, b, c + i * n, n);
}

void touch_each(u64 length, std::atomic<unsigned char>* marks) {
#pragma omp parallel for schedule(static)
    for (u64 i = 0; i < length; i++) marks[i]++;
}

void empty_each(u64 length) {
#pragma omp parallel for schedule(static)
    for (u64 i = 0; i < length; i++) keep(i);
}

u64 region(u64 steps, u64 seed) {
    u64 sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (u64 half = 0; half < 2; half++) sum += spin(steps, 2 * seed + half);
    return sum;
}

u64 irregular(u64 kind, u64 length) {
    u64 sum = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : sum)
    for (u64 i = 0; i < length; i++) sum += spin(steps_of(kind, length, i), i);
    return sum;
}

void sweeps(u64 kind, std::vector<u64>& data, u64 repeats) {
    u64 rows = data.size() / WIDTH, *first = data.data();
    for (u64 r = 0; r < repeats; r++) {
#pragma omp parallel for schedule(static)
        for (u64 number = 0; number < rows; number++) sweep_row(kind, rows, number, first + number * WIDTH);
    }
}

}  // namespace rival

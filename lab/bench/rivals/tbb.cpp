//! The problems in oneTBB: `parallel_invoke` and task groups where work is nested, `parallel_for` where it is flat.
#include "rival.hpp"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace rival {

using Range = tbb::blocked_range<u64>;

static std::unique_ptr<tbb::global_control> limit;
static std::unique_ptr<tbb::task_scheduler_handle> handle;

void start(int threads) {
    limit.reset(new tbb::global_control(tbb::global_control::max_allowed_parallelism, threads));
    handle.reset(new tbb::task_scheduler_handle(tbb::attach{}));
    tbb::parallel_for(u64(0), u64(1000), [](u64 i) { keep(i); });
}

void stop() {
    // Waits until the workers have ended, so that none of them searches while others are measured.
    tbb::finalize(*handle, std::nothrow);
    handle.reset();
    limit.reset();
}

u64 fib(u64 n) {
    if (n < 2) return n;
    u64 a, b;
    tbb::parallel_invoke([&a, n] { a = fib(n - 1); }, [&b, n] { b = fib(n - 2); });
    return a + b;
}

static u64 place(u64 rows, u64 all, u64 columns, u64 left, u64 right, u64 free) {
    if (rows == 0) return place_serially(all, columns, left, right, free);
    if (free == 0) return 0;
    u64 bit = free & (0 - free), rest = free ^ bit, here, others = 0;
    u64 c = columns | bit, l = (left | bit) << 1, r = (right | bit) >> 1;
    tbb::parallel_invoke([&] { here = place(rows - 1, all, c, l, r, all & ~(c | l | r)); },
                         [&] { others = rest ? place(rows, all, columns, left, right, rest) : 0; });
    return here + others;
}

u64 queens(u64 n, u64 rows) {
    u64 all = (1ull << n) - 1;
    return place(rows, all, 0, 0, 0, all);
}

static u64 node(u64 first, u64 leaves) {
    if (leaves == 1) return first;
    u64 sums[10], sum = 0;
    tbb::task_group children;
    for (u64 child = 0; child < 10; child++)
        children.run([&sums, child, first, leaves] { sums[child] = node(first + child * (leaves / 10), leaves / 10); });
    children.wait();
    for (u64 s : sums) sum += s;
    return sum;
}

u64 skynet(u64 depth) {
    u64 leaves = 1;
    for (u64 i = 0; i < depth; i++) leaves *= 10;
    return node(0, leaves);
}

void multiply(const double* a, const double* b, double* c, u64 n) {
    tbb::parallel_for(u64(0), n, [=](u64 i) { multiply_row(a + i * n, b, c + i * n, n); });
}

void touch_each(u64 length, std::atomic<unsigned char>* marks) {
    tbb::parallel_for(u64(0), length, [=](u64 i) { marks[i]++; });
}

void empty_each(u64 length) {
    tbb::parallel_for(u64(0), length, [](u64 i) { keep(i); });
}

u64 region(u64 steps, u64 seed) {
    u64 a, b;
    tbb::parallel_invoke([&a, steps, seed] { a = spin(steps, 2 * seed); },
                         [&b, steps, seed] { b = spin(steps, 2 * seed + 1); });
    return a + b;
}

u64 irregular(u64 kind, u64 length) {
    auto part = [=](const Range& range, u64 sum) {
        for (u64 i = range.begin(); i != range.end(); i++) sum += spin(steps_of(kind, length, i), i);
        return sum;
    };
    return tbb::parallel_reduce(Range(0, length), u64(0), part, [](u64 a, u64 b) { return a + b; });
}

void sweeps(u64 kind, std::vector<u64>& data, u64 repeats) {
    u64 rows = data.size() / WIDTH, *first = data.data();
    tbb::affinity_partitioner memory;
    auto part = [=](const Range& range) {
        for (u64 number = range.begin(); number != range.end(); number++)
            sweep_row(kind, rows, number, first + number * WIDTH);
    };
    for (u64 r = 0; r < repeats; r++) tbb::parallel_for(Range(0, rows), part, memory);
}

}  // namespace rival

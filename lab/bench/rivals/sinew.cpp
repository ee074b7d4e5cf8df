//! The problems in C++ on libsinew, by `sinew.hpp`: what the door to C++ adds to the runtime in Rust.
#include "rival.hpp"

#include <sinew.hpp>

namespace rival {

static std::unique_ptr<sinew::pool> pool;
static sinew::options here;

void start(int threads) {
    pool.reset(new sinew::pool(unsigned(threads)));
    here = sinew::options().in(*pool);
}

void stop() {
    pool.reset();
}

u64 fib(u64 n) {
    if (n < 2) return n;
    u64 a, b;
    sinew::join([&a, n] { a = fib(n - 1); }, [&b, n] { b = fib(n - 2); }, here);
    return a + b;
}

static u64 place(u64 rows, u64 all, u64 columns, u64 left, u64 right, u64 free) {
    if (rows == 0) return place_serially(all, columns, left, right, free);
    if (free == 0) return 0;
    u64 bit = free & (0 - free), rest = free ^ bit, first, others = 0;
    u64 c = columns | bit, l = (left | bit) << 1, r = (right | bit) >> 1;
    sinew::join([&] { first = place(rows - 1, all, c, l, r, all & ~(c | l | r)); },
                [&] { others = rest ? place(rows, all, columns, left, right, rest) : 0; }, here);
    return first + others;
}

u64 queens(u64 n, u64 rows) {
    u64 all = (1ull << n) - 1;
    return place(rows, all, 0, 0, 0, all);
}

static u64 node(u64 first, u64 leaves) {
    if (leaves == 1) return first;
    u64 sums[10], sum = 0;
    sinew::scope(
        [&](sinew::task_scope& children) {
            for (u64 child = 0; child < 10; child++)
                children.spawn([&sums, child, first, leaves] {
                    sums[child] = node(first + child * (leaves / 10), leaves / 10);
                });
        },
        here);
    for (u64 s : sums) sum += s;
    return sum;
}

u64 skynet(u64 depth) {
    u64 leaves = 1;
    for (u64 i = 0; i < depth; i++) leaves *= 10;
    u64 sum = 0;
    // One worker begins, so that its tasks are not calls from outside.
    sinew::join([&] { sum = node(0, leaves); }, [] {}, here);
    return sum;
}

void multiply(const double* a, const double* b, double* c, u64 n) {
    sinew::parallel_for(n, [=](u64 i) { multiply_row(a + i * n, b, c + i * n, n); }, here);
}

void touch_each(u64 length, std::atomic<unsigned char>* marks) {
    sinew::parallel_for(length, [=](u64 i) { marks[i]++; }, here);
}

void empty_each(u64 length) {
    sinew::parallel_for(length, [](u64 i) { keep(i); }, here);
}

u64 region(u64 steps, u64 seed) {
    u64 a, b;
    sinew::join([&a, steps, seed] { a = spin(steps, 2 * seed); },
                [&b, steps, seed] { b = spin(steps, 2 * seed + 1); }, here);
    return a + b;
}

u64 irregular(u64 kind, u64 length) {
    auto part = [=](u64 sum, u64 begin, u64 end) {
        for (; begin != end; begin++) sum += spin(steps_of(kind, length, begin), begin);
        return sum;
    };
    return sinew::reduce(length, u64(0), part, [](u64 a, u64 b) { return a + b; }, here);
}

void sweeps(u64 kind, std::vector<u64>& data, u64 repeats) {
    u64 rows = data.size() / WIDTH, *first = data.data();
    auto part = [=](u64 begin, u64 end) {
        for (; begin != end; begin++) sweep_row(kind, rows, begin, first + begin * WIDTH);
    };
    for (u64 r = 0; r < repeats; r++) sinew::parallel_for(rows, part, here);
}

}  // namespace rival

//! What every rival in C++ shares: the line protocol, the work, and the shape of the problems.
//!
//! A rival defines the functions of `namespace rival`; `main` is here. See src/runtimes/process.rs for the protocol.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using u64 = std::uint64_t;

struct Case {
    int threads;
    u64 size, kind, repeats;
};

namespace rival {
void start(int threads);  // brings the threads up, outside the measured time
void stop();              // sends them away again
u64 fib(u64 n);
u64 queens(u64 n, u64 rows);
u64 skynet(u64 depth);
void multiply(const double* a, const double* b, double* c, u64 n);
void touch_each(u64 length, std::atomic<unsigned char>* marks);
void empty_each(u64 length);
u64 region(u64 steps, u64 seed);
u64 irregular(u64 kind, u64 length);
void sweeps(u64 kind, std::vector<u64>& data, u64 repeats);
}  // namespace rival

inline u64 spin(u64 steps, u64 seed) {
    u64 x = seed | 1;
    for (u64 i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

inline u64 hash(u64 x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

/// The time of the part of a problem that counts, as `measured` in src/problem.rs; negative without one.
inline std::int64_t measured_ns = -1;

inline std::int64_t ns_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
}

/// Keeps an empty loop from being removed, as `std::hint::black_box` does.
inline void keep(u64 value) { asm volatile("" : : "r"(value) : "memory"); }

/// Steps of iteration `i`, as in src/problems/irregular/mod.rs.
inline u64 steps_of(u64 kind, u64 length, u64 i) {
    if (kind == 0) return i < length / 4 && i % 24 == 5 ? 20000 : 100;
    if (kind == 1) return (length - i) * 1200 / length;
    return 64ull << (hash(i) % 8);
}

/// Elements of a row, and one sweep over row `number`, as in src/problems/sweeps/mod.rs.
constexpr u64 WIDTH = 64;

inline void sweep_row(u64 kind, u64 rows, u64 number, u64* row) {
    u64 rounds = kind == 1 && number < rows / 4 ? 6 : 1;
    for (u64 round = 0; round < rounds; round++)
        for (u64 at = 0; at < WIDTH; at++) row[at] = ((row[at] << 7) | (row[at] >> 57)) ^ (number + at);
}

/// The ways to fill the rows from this one on with queens, where `free` are the columns for the next one.
inline u64 place_serially(u64 all, u64 columns, u64 left, u64 right, u64 free) {
    if (columns == all) return 1;
    u64 ways = 0;
    while (free) {
        u64 bit = free & (0 - free), c = columns | bit, l = (left | bit) << 1, r = (right | bit) >> 1;
        free ^= bit;
        ways += place_serially(all, c, l, r, all & ~(c | l | r));
    }
    return ways;
}

/// One row of a matrix product.
inline void multiply_row(const double* a_row, const double* b, double* c_row, u64 n) {
    for (u64 k = 0; k < n; k++)
        for (u64 j = 0; j < n; j++) c_row[j] += a_row[k] * b[k * n + j];
}

inline u64 matmul(u64 n) {
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (u64 i = 0; i < n; i++)
        for (u64 j = 0; j < n; j++) {
            a[i * n + j] = double((i * 7 + j * 3) % 11);
            b[i * n + j] = double((i * 5 + j) % 13);
        }
    auto begin = std::chrono::steady_clock::now();
    rival::multiply(a.data(), b.data(), c.data(), n);
    measured_ns = ns_since(begin);
    u64 sum = 0;
    for (double x : c) sum += u64(x);
    return sum;
}

inline u64 loops(const Case& c) {
    if (c.kind == 1) {
        std::unique_ptr<std::atomic<unsigned char>[]> marks(new std::atomic<unsigned char>[c.size]());
        rival::touch_each(c.size, marks.get());
        u64 once = 0;
        for (u64 i = 0; i < c.size; i++) once += marks[i] == 1;
        return once;
    }
    for (u64 r = 0; r < c.repeats; r++) rival::empty_each(c.size);
    return c.repeats * c.size;
}

inline u64 regions(const Case& c) {
    u64 sum = 0;
    for (u64 r = 0; r < c.repeats; r++) sum += rival::region(c.size, r);
    return sum;
}

inline u64 sweeps(const Case& c) {
    std::vector<u64> data(c.size * WIDTH);
    rival::sweeps(c.kind, data, 1);
    auto begin = std::chrono::steady_clock::now();
    rival::sweeps(c.kind, data, c.repeats);
    measured_ns = ns_since(begin);
    u64 sum = 0;
    for (u64 x : data) sum += x;
    return sum;
}

inline u64 solve(const std::string& problem, const Case& c) {
    if (problem == "fib") return rival::fib(c.size);
    if (problem == "nqueens") return rival::queens(c.size, c.kind == 0 ? c.size : c.kind);
    if (problem == "skynet") return rival::skynet(c.size);
    if (problem == "matmul") return matmul(c.size);
    if (problem == "loops") return loops(c);
    if (problem == "regions") return regions(c);
    if (problem == "irregular") return rival::irregular(c.kind, c.size);
    if (problem == "sweeps") return sweeps(c);
    std::cerr << "unknown problem " << problem << '\n';
    std::exit(2);
}

/// Works until the threads that were just started have found cores of their own, as contenders in Rust do.
inline void warm_up() {
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (std::chrono::steady_clock::now() < end) rival::irregular(1, 256);
}

int main() {
    std::string problem;
    Case c;
    while (std::cin >> problem >> c.threads >> c.size >> c.kind >> c.repeats) {
        rival::start(c.threads);
        warm_up();
        measured_ns = -1;
        auto begin = std::chrono::steady_clock::now();
        u64 answer = solve(problem, c);
        auto all = ns_since(begin);
        rival::stop();
        std::cout << (measured_ns < 0 ? all : measured_ns) << ' ' << answer << std::endl;
    }
}

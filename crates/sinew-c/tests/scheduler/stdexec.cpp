// The backend under NVIDIA's stdexec, whose headers the caller of this test names.
#include "../check.h"

#include <stdexec/execution.hpp>

#include <sinew.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ex = stdexec;

static bool is_on_sinew() {
    unsigned worker = 0;
    return sinew_this_worker(nullptr, &worker) == SINEW_OK;
}

static std::uint64_t chunks() {
    sinew_counters counters = SINEW_COUNTERS_INIT;
    return sinew_get_counters(nullptr, &counters) == SINEW_OK ? counters.chunks : 0;
}

int main() {
    ex::parallel_scheduler scheduler = ex::get_parallel_scheduler();
    auto [on_sinew] =
        ex::sync_wait(ex::schedule(scheduler) | ex::then([] { return is_on_sinew(); })).value();
    CHECK(on_sinew);

    std::vector<std::atomic<int>> visits(50000);
    const std::uint64_t before = chunks();
    auto chunked = ex::schedule(scheduler) |
                   ex::bulk_chunked(ex::par, visits.size(), [&](std::size_t begin, std::size_t end) {
                       for (; begin < end; begin++) visits[begin]++;
                   });
    CHECK(ex::sync_wait(std::move(chunked)).has_value());
    CHECK(chunks() > before);
    auto single = ex::schedule(scheduler) |
                  ex::bulk_unchunked(ex::par, visits.size(), [&](std::size_t i) { visits[i]++; });
    CHECK(ex::sync_wait(std::move(single)).has_value());
    std::size_t twice = 0;
    for (auto& n : visits) twice += n == 2;
    CHECK(twice == visits.size());

    // Not in parallel: one call of the backend for all.
    std::vector<int> order;
    auto serial = ex::schedule(scheduler) |
                  ex::bulk(ex::seq, 100, [&](int i) { order.push_back(i); });
    CHECK(ex::sync_wait(std::move(serial)).has_value());
    CHECK(order.size() == 100 && std::is_sorted(order.begin(), order.end()));
    return failures != 0;
}

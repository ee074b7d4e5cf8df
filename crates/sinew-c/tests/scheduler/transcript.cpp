// The backend against the transcript: every index once, in chunks and one by one, one signal at the
// end, stop requests, and storage of any size.
#include "../check.h"

#include "interface.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

namespace {

template <class Base>
struct receiver : Base {
    enum signal { none, value, error, stopped };
    std::atomic<int> signalled{none};
    std::atomic<int> signals{0};
    const bool* stop = nullptr;

    void finish(signal which) noexcept {
        signals++;
        signalled = which;
        signalled.notify_all();
    }
    bool query_env(void* token) noexcept override {
        if (stop == nullptr) return false;
        static_cast<transcript::inplace_stop_token*>(token)->is_requested = stop;
        return true;
    }
    void set_value() noexcept override { finish(value); }
    void set_error(std::exception_ptr) noexcept override { finish(error); }
    void set_stopped() noexcept override { finish(stopped); }

    int wait() {
        signalled.wait(none);
        return signalled;
    }
};

struct once : receiver<transcript::receiver_proxy> {};

struct many : receiver<transcript::bulk_item_receiver_proxy> {
    explicit many(std::size_t count) : visits(count) {}
    std::vector<std::atomic<int>> visits;
    std::atomic<std::size_t> longest{0};

    void execute(std::size_t begin, std::size_t end) noexcept override {
        std::size_t before = longest;
        while (before < end - begin && !longest.compare_exchange_weak(before, end - begin)) continue;
        for (; begin < end; begin++) visits[begin]++;
    }
    bool is_once() const {
        return std::all_of(visits.begin(), visits.end(), [](auto& n) { return n == 1; });
    }
};

void bulk(std::size_t count, std::size_t bytes) {
    auto backend = transcript::query_parallel_scheduler_backend();
    std::vector<std::byte> storage(bytes);
    many chunked(count), single(count);
    backend->schedule_bulk_chunked(count, chunked, storage);
    CHECK(chunked.wait() == many::value && chunked.signals == 1 && chunked.is_once());
    CHECK(count < 10000 || chunked.longest > 1);
    backend->schedule_bulk_unchunked(count, single, storage);
    CHECK(single.wait() == many::value && single.signals == 1 && single.is_once());
    CHECK(single.longest <= 1);
}

}  // namespace

int main() {
    auto backend = transcript::query_parallel_scheduler_backend();
    CHECK(backend != nullptr && backend == transcript::query_parallel_scheduler_backend());
    once first, second;
    backend->schedule(first, {});
    CHECK(first.wait() == once::value && first.signals == 1);
    const bool stop = true;
    second.stop = &stop;
    backend->schedule(second, {});
    CHECK(second.wait() == once::stopped);
    for (std::size_t count : {0, 1, 7, 1000, 100000}) {
        bulk(count, 0);
        bulk(count, 1);
        bulk(count, 152);
    }
    many cancelled(1000);
    cancelled.stop = &stop;
    backend->schedule_bulk_chunked(1000, cancelled, {});
    CHECK(cancelled.wait() == many::stopped && cancelled.signals == 1 && cancelled.longest == 0);
    return failures != 0;
}

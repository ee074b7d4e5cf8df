// Callbacks that throw: the call throws the first exception, nothing runs afterwards, nothing is
// lost, and the pool goes on.
#include "check.h"

#include <sinew.hpp>

#include <atomic>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// The number that `f` throws, or -1.
template <class F>
int thrown_by(F&& f) {
    try {
        f();
        return -1;
    } catch (int number) {
        return number;
    }
}

template <class F>
int status_of(F&& f) {
    try {
        f();
        return SINEW_OK;
    } catch (const sinew::error& error) {
        return error.status();
    }
}

// Counts its objects.
struct counted {
    static inline std::atomic<int> alive{0};
    std::string text;

    explicit counted(std::string with = "") : text(std::move(with)) { alive++; }
    counted(const counted& other) : text(other.text) { alive++; }
    counted(counted&& other) noexcept : text(std::move(other.text)) { alive++; }
    counted& operator=(const counted&) = default;
    counted& operator=(counted&&) = default;
    ~counted() { alive--; }
};

bool works(const sinew::options& options) {
    std::vector<int> marks(1000);
    sinew::parallel_for(marks.size(), [&](std::size_t i) { marks[i]++; }, options);
    return std::accumulate(marks.begin(), marks.end(), 0) == 1000;
}

void loops(const sinew::options& options) {
    for (std::size_t at : {std::size_t(0), std::size_t(1), std::size_t(7777), std::size_t(99999)}) {
        std::atomic<std::size_t> running{0};
        const int number = thrown_by([&] {
            sinew::parallel_for(
                100000,
                [&](std::size_t i) {
                    running++;
                    if (i == at) {
                        running--;
                        throw 42;
                    }
                    running--;
                },
                options);
        });
        CHECK(number == 42 && running == 0);
    }
    // All throw: one exception arrives, and the rest is cancelled.
    std::atomic<int> calls{0};
    const int number = thrown_by([&] {
        sinew::parallel_for(
            1000000, [&](std::size_t, std::size_t) { throw int(calls++); }, options);
    });
    CHECK(number >= 0 && number < calls && calls < 1000);
    CHECK(works(options));
}

void joins(const sinew::options& options) {
    int ran = 0;
    CHECK(thrown_by([&] { sinew::join([] { throw 1; }, [&] { ran = 1; }, options); }) == 1);
    CHECK(ran == 1);
    CHECK(thrown_by([&] { sinew::join([&] { ran = 2; }, [] { throw 2; }, options); }) == 2);
    CHECK(ran == 2);
    const int either = thrown_by([&] { sinew::join([] { throw 3; }, [] { throw 4; }, options); });
    CHECK(either == 3 || either == 4);
    // Through a loop in a join in a loop.
    const int inner = thrown_by([&] {
        sinew::parallel_for(
            10,
            [&](std::size_t i) {
                sinew::join([&] { sinew::parallel_for(5, [&](std::size_t j) {
                                      if (i == 3 && j == 4) throw 34;
                                  }, options); },
                            [] {}, options);
            },
            options);
    });
    CHECK(inner == 34);
}

void scopes(const sinew::options& options) {
    std::atomic<int> ran{0};
    const int number = thrown_by([&] {
        sinew::scope(
            [&](sinew::task_scope& s) {
                for (int i = 0; i < 100; i++) {
                    s.spawn([&, i, object = counted("task")] {
                        ran++;
                        if (i == 50) throw 50;
                        if (i < 10) s.spawn([&] { ran++; });
                    });
                }
            },
            options);
    });
    CHECK(number == 50 && ran == 110 && counted::alive == 0);
    const int body = thrown_by([&] {
        sinew::scope(
            [&](sinew::task_scope& s) {
                s.spawn([&] { ran = 1; });
                throw 7;
            },
            options);
    });
    CHECK(body == 7 && ran == 1);
}

void reductions(const sinew::options& options) {
    const auto add = [](counted sum, std::size_t i) {
        sum.text += std::to_string(i % 10);
        return sum;
    };
    const auto append = [](counted left, const counted& right) {
        left.text += right.text;
        return left;
    };
    std::string expected;
    for (std::size_t i = 0; i < 5000; i++) expected += std::to_string(i % 10);
    CHECK(sinew::reduce(5000, counted(), add, append, options).text == expected);
    CHECK(sinew::reduce(0, counted("none"), add, append, options).text == "none");
    CHECK(counted::alive == 0);
    const auto throwing = [&](counted sum, std::size_t i) {
        if (i == 4321) throw 4321;
        return add(std::move(sum), i);
    };
    CHECK(thrown_by([&] { sinew::reduce(5000, counted(), throwing, append, options); }) == 4321);
    const auto bad = [](counted, const counted&) -> counted { throw 5; };
    CHECK(thrown_by([&] { sinew::reduce(5000, counted(), add, bad, options); }) == 5);
    CHECK(counted::alive == 0);
    const auto plus = [](double a, double b) { return a + b; };
    const auto part = [](double sum, std::size_t begin, std::size_t end) {
        for (; begin < end; begin++) sum += 1.0 / double(begin + 1);
        return sum;
    };
    sinew::options alone = options;
    const double one = sinew::reduce(100000, 0.0, part, plus, alone.threads(1));
    const double all = sinew::reduce(100000, 0.0, part, plus, options);
    CHECK(!(one < all) && !(all < one));
}

void controls(const sinew::options& options) {
    sinew::control control;
    sinew::options under = options;
    under.under(control);
    std::size_t visits = 0;
    bool ended = false;
    try {
        // Nearly endless, so that worker 0 has three ranges before others end the loop.
        const auto spin = [&](std::size_t begin, std::size_t end, unsigned worker) {
            if (worker == 0 && ++visits == 3) control.cancel();
            for (; begin < end; begin++) {
                for (volatile unsigned turns = 0; turns < 100; turns = turns + 1) continue;
            }
        };
        sinew::parallel_for(std::size_t(-1) / 4, spin, under);
    } catch (const sinew::cancelled& error) {
        ended = error.status() == SINEW_ECANCELLED && *error.what() != '\0';
    }
    CHECK(ended && visits >= 3 && control.progress().done < control.progress().total);
}

}  // namespace

// All that the header has beside sinew.h for controls, memories and schedules.
void settings(const sinew::options& options) {
    const sinew::memory memory;
    const char* names[] = {"static",   "dynamic:7", "guided:7",   "factoring:7", "stealing", "affinity",
                           "weighted", "simple:7",  "adaptive:7", "auto",        "tapered:7"};
    for (const char* name : names) {
        auto named = options;
        named.schedule(name).remember(memory);
        for (int run = 0; run < 3; run++) CHECK(works(named));
    }
    CHECK(status_of([&] { sinew::options().schedule("gided"); }) == SINEW_EINVAL);
    sinew::control control;
    CHECK(status_of([&] { control.set_mapping("nowhere"); }) == SINEW_EINVAL);
    control.set_mapping("compact");
    control.set_mapping(nullptr);
    CHECK(!control.is_cancelled());
    control.cancel_after(std::chrono::nanoseconds(-5));
    CHECK(control.is_cancelled());
    auto under = options;
    CHECK(status_of([&] { works(under.under(control)); }) == SINEW_ECANCELLED);
}

int main() {
    sinew::pool of_four(4), spare(1, 1);
    for (const auto& options : {sinew::options(), sinew::options().in(of_four)}) {
        loops(options);
        joins(options);
        scopes(options);
        reductions(options);
        controls(options);
        settings(options);
        CHECK(works(options));
    }
    CHECK(status_of([] { sinew::pool none(0); }) == SINEW_EINVAL);
    CHECK(status_of([] { sinew::parallel_for(9, [](std::size_t) {}, sinew::options().threads(0)); }) ==
           SINEW_EINVAL);
    CHECK(status_of([&] { sinew::blocking outside(spare); }) == SINEW_ETHREAD);
    sinew::parallel_for(1, [&](std::size_t) { sinew::blocking here(spare); },
                        sinew::options().in(spare));
    sinew::pool moved(std::move(of_four));
    CHECK(moved.max_workers() == 4 && works(sinew::options().in(moved)));
    std::atomic<bool> ran{false};
    {
        sinew::pool ends(1);
        sinew::spawn([&, object = counted("detached")] { ran = true; }, sinew::options().in(ends));
    }
    CHECK(ran && counted::alive == 0);
    return failures != 0;
}

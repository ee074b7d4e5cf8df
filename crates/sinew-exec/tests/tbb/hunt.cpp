// TBB programs whose output must not depend on the number of workers. The first argument names a
// case. "counts" prints how many threads it has seen at work at the same time, each number once it
// has seen the one that it waits for.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/concurrent_vector.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

using range = tbb::blocked_range<long>;

static long work(long n) {
    volatile long x = n;
    for (int i = 0; i < 200; i++) x = x * 6364136223846793005L + 1;
    return x;
}

static long sum(long from, long to) {
    return tbb::parallel_reduce(
        range(from, to), 0L,
        [](const range &r, long total) {
            for (long i = r.begin(); i != r.end(); i++) total += work(i);
            return total;
        },
        [](long a, long b) { return a + b; });
}

static void sums() {
    for (int round = 0; round < 600; round++) printf("%ld\n", sum(round, round + 2000));
}

static void sorts() {
    for (int round = 0; round < 10; round++) {
        std::vector<long> all(50000);
        for (size_t i = 0; i < all.size(); i++) all[i] = work(long(i) + round);
        tbb::parallel_sort(all.begin(), all.end());
        for (size_t i = 0; i < all.size(); i += 5000) printf("%ld\n", all[i]);
    }
}

// A task that no thread waits for: it needs a worker whatever the share is.
static void enqueued() {
    tbb::task_arena arena;
    for (int round = 0; round < 3000; round++) {
        std::promise<long> result;
        arena.enqueue([&] { result.set_value(work(round)); });
        printf("%ld\n", result.get_future().get());
    }
}

static void nested() {
    for (int round = 0; round < 20; round++) {
        std::vector<long> all(40);
        tbb::parallel_for(0L, 40L, [&](long i) { all[i] = sum(i, i + 300); });
        for (long one : all) printf("%ld\n", one);
    }
}

// Several threads, each with an arena, of several priorities.
static void arenas() {
    const tbb::task_arena::priority priorities[] = {tbb::task_arena::priority::low,
                                                    tbb::task_arena::priority::normal,
                                                    tbb::task_arena::priority::high};
    long totals[6] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; t++)
        threads.emplace_back([t, &totals, &priorities] {
            for (int round = 0; round < 200; round++) {
                tbb::task_arena arena(1 + t % 4, 1, priorities[t % 3]);
                arena.execute([&] { totals[t] += sum(round, round + 500); });
            }
        });
    for (auto &thread : threads) thread.join();
    for (long total : totals) printf("%ld\n", total);
}

static void limits() {
    for (int most = 1; most < 5; most++) {
        tbb::global_control limit(tbb::global_control::max_allowed_parallelism, most);
        std::atomic<int> now{0};
        std::atomic<bool> exceeded{false};
        tbb::parallel_for(0L, 50000L, [&](long i) {
            if (++now > most) exceeded = true;
            work(i);
            now--;
        });
        printf("%d %d %ld\n", most, int(exceeded), sum(0, 20000));
    }
}

static void graphs() {
    using namespace tbb::flow;
    graph g;
    std::atomic<long> total{0};
    function_node<long, long> first(g, unlimited, [](long i) { return work(i); });
    function_node<long, long> second(g, serial, [&](long x) { return total += x, x; });
    make_edge(first, second);
    for (long i = 0; i < 100000; i++) first.try_put(i);
    g.wait_for_all();
    printf("%ld\n", total.load());
}

static void pipelines() {
    long next = 0, total = 0;
    tbb::parallel_pipeline(
        8, tbb::make_filter<void, long>(tbb::filter_mode::serial_in_order,
                                        [&](tbb::flow_control &control) {
                                            if (next == 100000) control.stop();
                                            return next++;
                                        }) &
               tbb::make_filter<long, long>(tbb::filter_mode::parallel,
                                            [](long i) { return work(i); }) &
               tbb::make_filter<long, void>(tbb::filter_mode::serial_in_order,
                                            [&](long x) { total = total * 31 + x; }));
    printf("%ld\n", total);
}

static void exceptions() {
    for (int round = 0; round < 500; round++) try {
            tbb::parallel_for(0L, 1000L, [&](long i) {
                work(i);
                if (i == 500) throw std::runtime_error("500");
            });
        } catch (const std::runtime_error &error) {
            puts(error.what());
        }
}

// Parent and child begin TBB again after the fork. A fork beside workers is not safe in TBB: a child
// may find a lock taken by a worker that it does not have.
static void forks() {
    for (int round = 0; round < 100; round++) {
        tbb::task_scheduler_handle handle{tbb::attach{}};
        printf("%ld\n", sum(0, 2000));
        if (!tbb::finalize(handle, std::nothrow)) exit(2);
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            printf("%ld\n", sum(round, round + 500));
            fflush(stdout);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status) exit(1);
    }
}

// TBB ends and begins again, so that it disconnects and connects.
static void ends() {
    for (int round = 0; round < 200; round++) {
        tbb::task_scheduler_handle handle{tbb::attach{}};
        printf("%ld\n", sum(round, round + 1000));
        printf("%d\n", int(tbb::finalize(handle, std::nothrow)));
    }
}

static void concurrency() {
    sum(0, 1000);
    printf("%d %d\n", tbb::info::default_concurrency(), tbb::this_task_arena::max_concurrency());
}

// Threads at the same time in a loop of some milliseconds.
static int at_once() {
    std::atomic<int> now{0}, most{0};
    tbb::parallel_for(range(0, 200, 1), [&](const range &r) {
        int mine = ++now, before = most;
        while (before < mine && !most.compare_exchange_weak(before, mine)) {}
        for (int i = 0; i < 100; i++) work(r.begin());
        now--;
    });
    return most;
}

static void counts(char **words) {
    for (; *words; words++) {
        // A lone thread may be one whose worker has not woken yet: then some loops in a row.
        int wanted = atoi(*words), rows = wanted == 1 ? 3 : 1;
        for (int same = 0; same < rows;) same = at_once() == wanted ? same + 1 : 0;
        printf("%s at once\n", *words);
        fflush(stdout);
    }
}

int main(int, char **words) {
    const struct {
        const char *name;
        void (*run)();
    } cases[] = {{"sums", sums},           {"sorts", sorts},     {"enqueued", enqueued},
                 {"nested", nested},       {"arenas", arenas},   {"limits", limits},
                 {"graphs", graphs},       {"pipelines", pipelines}, {"exceptions", exceptions},
                 {"forks", forks},         {"ends", ends},       {"concurrency", concurrency}};
    if (!strcmp(words[1], "counts")) return counts(words + 2), 0;
    for (const auto &one : cases)
        if (!strcmp(words[1], one.name)) return one.run(), 0;
    return 1;
}

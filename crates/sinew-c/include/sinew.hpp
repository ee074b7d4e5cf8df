// Sinew for C++17: sinew.h with functions of any kind, exceptions and owners. docs/cpp.md is a guide.
//
// An exception of a callback ends the call that it belongs to: the rest of a loop is cancelled, what
// has begun ends, and the call throws the exception. If several are thrown, the first one counts.
// Errors of the library are exceptions of type `sinew::error`.
#ifndef SINEW_HPP
#define SINEW_HPP

#include <sinew.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace sinew {

// An error of the library, with its status.
class error : public std::runtime_error {
public:
    explicit error(sinew_status status)
        : std::runtime_error(sinew_status_string(status)), status_(status) {}

    sinew_status status() const noexcept { return status_; }

private:
    sinew_status status_;
};

// A loop was cancelled by its control.
class cancelled : public error {
public:
    cancelled() : error(SINEW_ECANCELLED) {}
};

// Throws what a status stands for.
inline void check(sinew_status status) {
    if (status == SINEW_ECANCELLED) throw cancelled();
    if (status != SINEW_OK) throw error(status);
}

// A pool of its own. Without one, calls use the pool of the process.
class pool {
public:
    explicit pool(unsigned threads = SINEW_ALL, unsigned spare = 0,
                  sinew_wait wait = SINEW_WAIT_DEEPER) {
        sinew_pool_options options = SINEW_POOL_OPTIONS_INIT;
        options.threads = threads;
        options.spare = spare;
        options.wait = wait;
        check(sinew_pool_create(&options, &handle_));
    }

    // The pool of the process, which is not owned.
    static pool of_process() noexcept { return pool(borrowed{}); }

    pool(pool&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    // All calls into the pool must have ended.
    ~pool() {
        if (handle_ != nullptr && sinew_pool_destroy(handle_) == SINEW_EBUSY) std::terminate();
    }

    sinew_pool* get() const noexcept { return handle_; }

    // A number that no worker number of the pool reaches.
    unsigned max_workers() const { return number(sinew_max_workers); }
    // How many workers may work now.
    unsigned active_workers() const { return number(sinew_active_workers); }
    // The number of the calling thread, which must run a callback of the pool.
    unsigned this_worker() const { return number(sinew_this_worker); }

    void set_threads(unsigned threads) { check(sinew_set_threads(handle_, threads)); }
    void set_schedule(sinew_schedule schedule, std::size_t chunk = 0) {
        check(sinew_set_schedule(handle_, schedule, chunk));
    }
    // Such as "compact", "0,2,4-7" or "none".
    void set_mapping(const char* mapping) { check(sinew_set_mapping(handle_, mapping)); }
    // Ends the loops that run under controls. Later ones are not affected.
    void cancel() { check(sinew_cancel(handle_)); }

    sinew_counters counters() const {
        sinew_counters counters = SINEW_COUNTERS_INIT;
        check(sinew_get_counters(handle_, &counters));
        return counters;
    }

private:
    struct borrowed {};
    explicit pool(borrowed) noexcept {}

    unsigned number(sinew_status (*get)(sinew_pool*, unsigned*)) const {
        unsigned value = 0;
        check(get(handle_, &value));
        return value;
    }

    sinew_pool* handle_ = nullptr;
};

// While it exists, the calling callback is about to block: a spare worker of the pool takes its
// place.
class blocking {
public:
    explicit blocking(const pool& in = pool::of_process()) : pool_(in.get()) {
        check(sinew_blocking_begin(pool_));
    }
    ~blocking() { sinew_blocking_end(pool_); }
    blocking(const blocking&) = delete;
    blocking& operator=(const blocking&) = delete;

private:
    sinew_pool* pool_;
};

// A handle that changes loops while they run, from any thread.
class control {
public:
    struct progress_counts {
        std::uint64_t done, total;
    };

    control() { check(sinew_control_create(&handle_)); }
    ~control() {
        if (sinew_control_destroy(handle_) == SINEW_EBUSY) std::terminate();
    }
    control(const control&) = delete;
    control& operator=(const control&) = delete;

    sinew_control* get() const noexcept { return handle_; }

    void set_threads(unsigned threads) { check(sinew_control_set_threads(handle_, threads)); }
    void set_schedule(sinew_schedule schedule, std::size_t chunk = 0) {
        check(sinew_control_set_schedule(handle_, schedule, chunk));
    }
    // As for a pool; null takes the request back.
    void set_mapping(const char* mapping) { check(sinew_control_set_mapping(handle_, mapping)); }
    // Loops under it throw `sinew::cancelled`, those that begin later included.
    void cancel() { check(sinew_control_cancel(handle_)); }
    // The same after a time from now on. The earliest of several times counts.
    void cancel_after(std::chrono::nanoseconds time) {
        const auto count = time.count() < 0 ? 0 : time.count();
        check(sinew_control_cancel_after(handle_, static_cast<std::uint64_t>(count)));
    }
    bool is_cancelled() const {
        int cancelled = 0;
        check(sinew_control_is_cancelled(handle_, &cancelled));
        return cancelled != 0;
    }

    progress_counts progress() const {
        progress_counts counts{0, 0};
        check(sinew_control_progress(handle_, &counts.done, &counts.total));
        return counts;
    }

private:
    sinew_control* handle_ = nullptr;
};

// What the schedules affinity and weighted learn in a run of a loop, for its next run.
class memory {
public:
    memory() { check(sinew_memory_create(&handle_)); }
    ~memory() {
        if (sinew_memory_destroy(handle_) == SINEW_EBUSY) std::terminate();
    }
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;

    sinew_memory* get() const noexcept { return handle_; }
    void clear() { check(sinew_memory_clear(handle_)); }

private:
    sinew_memory* handle_ = nullptr;
};

// The options of a call: `sinew::options().in(pool).threads(2)`.
class options {
public:
    options() = default;

    options& in(const pool& in) noexcept {
        pool_ = in.get();
        return *this;
    }
    options& threads(unsigned threads) noexcept {
        loop_.threads = threads;
        return *this;
    }
    options& schedule(sinew_schedule schedule, std::size_t chunk = 0) noexcept {
        loop_.schedule = static_cast<unsigned>(schedule);
        loop_.chunk = chunk;
        return *this;
    }
    // By its name, such as "guided:8".
    options& schedule(const char* name) {
        check(sinew_schedule_from_name(name, &loop_.schedule, &loop_.chunk));
        return *this;
    }
    options& under(const control& control) noexcept {
        loop_.control = control.get();
        return *this;
    }
    options& remember(const memory& memory) noexcept {
        loop_.memory = memory.get();
        return *this;
    }

    sinew_pool* where() const noexcept { return pool_; }
    const sinew_loop_options* loop() const noexcept { return &loop_; }

private:
    sinew_pool* pool_ = nullptr;
    sinew_loop_options loop_ = SINEW_LOOP_OPTIONS_INIT;
};

namespace detail {

// The first exception of the callbacks of a call.
class failure {
public:
    // In a handler. Any thread.
    void keep() noexcept {
        if (!is_kept_.exchange(true, std::memory_order_relaxed)) first_ = std::current_exception();
    }

    // When the call has ended, which orders it after all `keep`.
    void rethrow() {
        if (first_) std::rethrow_exception(std::move(first_));
    }

    // Whether there is one. Any thread.
    bool is_kept() const noexcept { return is_kept_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> is_kept_{false};
    std::exception_ptr first_;
};

template <class F>
struct loop_call {
    F& body;
    failure failed{};

    static int run(void* context, std::size_t begin, std::size_t end, unsigned worker) noexcept {
        auto& call = *static_cast<loop_call*>(context);
        try {
            if constexpr (std::is_invocable_v<F&, std::size_t, std::size_t, unsigned>) {
                call.body(begin, end, worker);
            } else if constexpr (std::is_invocable_v<F&, std::size_t, std::size_t>) {
                call.body(begin, end);
            } else {
                for (std::size_t i = begin; i < end; i++) call.body(i);
            }
            return 0;
        } catch (...) {
            call.failed.keep();
            return 1;
        }
    }
};

// A function that runs at most once, with the place for its exception. A temporary one is moved
// here, so that a thief reads it without following one more pointer.
template <class F>
struct task_call {
    std::conditional_t<std::is_move_constructible_v<F>, F, F&> body;
    failure& failed;

    static void run(void* context) noexcept {
        auto& call = *static_cast<task_call*>(context);
        try {
            call.body();
        } catch (...) {
            call.failed.keep();
        }
    }
};

// Values of a reduction. Those that cannot be moved as bytes lie elsewhere.
template <class T, class Fold, class Combine>
struct reduce_call {
    static constexpr bool lies_here =
        std::is_trivially_copyable_v<T> && alignof(T) <= 16 && sizeof(T) <= 256;
    using slot = std::conditional_t<lies_here, T, T*>;

    const T& identity;
    Fold& fold;
    Combine& combine;
    failure failed{};

    static T& value_of(void* value) noexcept {
        if constexpr (lies_here) {
            return *std::launder(static_cast<T*>(value));
        } else {
            return **static_cast<T**>(value);
        }
    }

    static void make(void* context, void* value) noexcept {
        auto& call = *static_cast<reduce_call*>(context);
        if constexpr (lies_here) {
            ::new (value) T(call.identity);
        } else {
            auto& pointer = *::new (value) T*(nullptr);
            try {
                pointer = new T(call.identity);
            } catch (...) {
                call.failed.keep();
            }
        }
    }

    static int add(void* context, void* value, std::size_t begin, std::size_t end) noexcept {
        auto& call = *static_cast<reduce_call*>(context);
        if (call.failed.is_kept()) return 1;
        try {
            T& sum = value_of(value);
            if constexpr (std::is_invocable_v<Fold&, T, std::size_t, std::size_t>) {
                sum = call.fold(std::move(sum), begin, end);
            } else {
                for (std::size_t i = begin; i < end; i++) sum = call.fold(std::move(sum), i);
            }
            return 0;
        } catch (...) {
            call.failed.keep();
            return 1;
        }
    }

    static void join(void* context, void* value, void* after) noexcept {
        auto& call = *static_cast<reduce_call*>(context);
        if (!call.failed.is_kept()) {
            try {
                T& sum = value_of(value);
                sum = call.combine(std::move(sum), std::move(value_of(after)));
            } catch (...) {
                call.failed.keep();
            }
        }
        end(context, after);
    }

    static void end(void*, void* value) noexcept {
        if constexpr (!lies_here) delete *static_cast<T**>(value);
    }
};

}  // namespace detail

// Calls `body` for the indices below `n`, on several threads at once: `body(i)`, `body(begin, end)`
// or `body(begin, end, worker)`.
template <class F>
void parallel_for(std::size_t n, F&& body, const options& options = {}) {
    detail::loop_call<std::remove_reference_t<F>> call{body};
    const sinew_status status =
        sinew_for(options.where(), n, options.loop(), &call, &decltype(call)::run);
    call.failed.rethrow();
    check(status);
}

// Combines the values of all indices below `n`, in their order: `fold(value, i)` or
// `fold(value, begin, end)` adds indices, `combine(value, after)` a later value. The result has the
// same bits for each number of workers.
template <class T, class Fold, class Combine>
T reduce(std::size_t n, const T& identity, Fold&& fold, Combine&& combine,
         const options& options = {}) {
    using call_type =
        detail::reduce_call<T, std::remove_reference_t<Fold>, std::remove_reference_t<Combine>>;
    call_type call{identity, fold, combine};
    const sinew_reduction functions = {sizeof(sinew_reduction), sizeof(typename call_type::slot),
                                       &call_type::make,        &call_type::add,
                                       &call_type::join,        &call_type::end};
    alignas(16) unsigned char result[sizeof(typename call_type::slot)];
    const sinew_status status =
        sinew_reduce(options.where(), n, options.loop(), &functions, &call, result);
    if (status != SINEW_OK) {
        call.failed.rethrow();
        check(status);
    }
    if constexpr (call_type::lies_here) {
        call.failed.rethrow();
        return call_type::value_of(result);
    } else {
        const std::unique_ptr<T> owner(*std::launder(reinterpret_cast<T**>(result)));
        call.failed.rethrow();
        return std::move(*owner);
    }
}

// Runs both functions, possibly in parallel. Both run, also if one of them throws. Temporary
// functions, such as closures written here, are moved before.
template <class F, class G>
void join(F&& first, G&& second, const options& options = {}) {
    detail::failure failed;
    detail::task_call<F> one{std::forward<F>(first), failed};
    detail::task_call<G> other{std::forward<G>(second), failed};
    const sinew_status status =
        sinew_join(options.where(), &one, &decltype(one)::run, &other, &decltype(other)::run);
    failed.rethrow();
    check(status);
}

class task_scope;

// Calls `body` with a scope, and returns when its tasks have ended. Throws the first exception of
// the body and the tasks.
template <class F>
void scope(F&& body, const options& options = {});

// A scope, as its body and its tasks see it.
class task_scope {
public:
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;

    // Spawns a task. Any thread, while the body or a task of the scope runs.
    template <class F>
    void spawn(F&& body) {
        using function = std::decay_t<F>;
        struct task {
            function body;
            task_scope& scope;

            static void run(void* context) noexcept {
                const std::unique_ptr<task> self(static_cast<task*>(context));
                try {
                    self->body();
                } catch (...) {
                    self->scope.failed_.keep();
                }
            }
        };
        auto owner = std::unique_ptr<task>(new task{std::forward<F>(body), *this});
        check(sinew_scope_spawn(handle_, owner.get(), &task::run));
        owner.release();
    }

    // Whether a task has thrown, for tasks that need not go on then.
    bool has_failed() const noexcept { return failed_.is_kept(); }

private:
    template <class F>
    friend void scope(F&& body, const options& options);

    explicit task_scope(sinew_pool* pool) { check(sinew_scope_begin(pool, &handle_)); }

    sinew_scope* handle_ = nullptr;
    detail::failure failed_;
};

template <class F>
void scope(F&& body, const options& options) {
    task_scope tasks(options.where());
    try {
        body(tasks);
    } catch (...) {
        tasks.failed_.keep();
    }
    const sinew_status status = sinew_scope_end(tasks.handle_);
    // Tasks that have not ended use the scope.
    if (status != SINEW_OK) std::terminate();
    tasks.failed_.rethrow();
}

// Runs `body` some time later. An exception of it ends the process.
template <class F>
void spawn(F&& body, const options& options = {}) {
    using function = std::decay_t<F>;
    auto owner = std::make_unique<function>(std::forward<F>(body));
    const auto run = [](void* context) noexcept {
        const std::unique_ptr<function> self(static_cast<function*>(context));
        (*self)();
    };
    check(sinew_spawn(options.where(), owner.get(), run));
    owner.release();
}

}  // namespace sinew

#endif

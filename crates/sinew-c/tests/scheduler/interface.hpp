// A transcript of the interface by which C++26 replaces its parallel scheduler, for compilers whose
// library does not have it ([exec.parschedrepl]): the same virtual functions in the same order.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>

namespace transcript {

struct inplace_stop_token {
    const bool* is_requested = nullptr;
    bool stop_requested() const noexcept { return is_requested != nullptr && *is_requested; }
};

struct get_stop_token_t {};
inline constexpr get_stop_token_t get_stop_token{};

struct receiver_proxy {
    virtual ~receiver_proxy() = default;

protected:
    virtual bool query_env(void* value) noexcept = 0;

public:
    virtual void set_value() noexcept = 0;
    virtual void set_error(std::exception_ptr) noexcept = 0;
    virtual void set_stopped() noexcept = 0;

    template <class Value, class Query>
    std::optional<Value> try_query(Query) noexcept {
        Value value;
        return query_env(&value) ? std::optional<Value>(value) : std::nullopt;
    }
};

struct bulk_item_receiver_proxy : receiver_proxy {
    virtual void execute(std::size_t begin, std::size_t end) noexcept = 0;
};

struct parallel_scheduler_backend {
    virtual ~parallel_scheduler_backend() = default;
    virtual void schedule(receiver_proxy&, std::span<std::byte>) noexcept = 0;
    virtual void schedule_bulk_chunked(std::size_t, bulk_item_receiver_proxy&,
                                       std::span<std::byte>) noexcept = 0;
    virtual void schedule_bulk_unchunked(std::size_t, bulk_item_receiver_proxy&,
                                         std::span<std::byte>) noexcept = 0;
};

std::shared_ptr<parallel_scheduler_backend> query_parallel_scheduler_backend();

}  // namespace transcript

#define SINEW_SCHEDULER transcript
#define SINEW_STOP transcript

// Makes Sinew the parallel scheduler of C++26: defines query_parallel_scheduler_backend(), which a
// program may replace. Compile this file with the program, and link with -lsinew.
//
// The interface comes from NVIDIA's stdexec if its headers are found, else from <execution>. A
// program that has it elsewhere names a header in SINEW_PARALLEL_SCHEDULER_INTERFACE, which defines
// SINEW_SCHEDULER (the namespace of the interface) and SINEW_STOP (that of inplace_stop_token).
#if defined(SINEW_PARALLEL_SCHEDULER_INTERFACE)
#include SINEW_PARALLEL_SCHEDULER_INTERFACE
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define SINEW_SCHEDULER STDEXEC::parallel_scheduler_replacement
#define SINEW_STOP STDEXEC
#else
#include <execution>
#include <stop_token>
#define SINEW_SCHEDULER std::execution::parallel_scheduler_replacement
#define SINEW_STOP std
#endif

#include <sinew.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>

namespace {

namespace interface = SINEW_SCHEDULER;

std::exception_ptr error_of(sinew_status status) noexcept {
    return std::make_exception_ptr(std::runtime_error(sinew_status_string(status)));
}

template <class Receiver>
bool is_stopped(Receiver& receiver) noexcept {
    const auto token =
        receiver.template try_query<SINEW_STOP::inplace_stop_token>(SINEW_STOP::get_stop_token);
    return token && token->stop_requested();
}

// One bulk operation. It lies in the storage of the operation, if it fits there.
class bulk {
public:
    bulk(std::size_t count, bool in_chunks, interface::bulk_item_receiver_proxy& receiver) noexcept
        : count_(count), in_chunks_(in_chunks), receiver_(receiver) {}

    static void start(std::size_t count, bool in_chunks,
                      interface::bulk_item_receiver_proxy& receiver,
                      std::span<std::byte> storage) noexcept {
        void* place = storage.data();
        std::size_t space = storage.size();
        const bool fits = std::align(alignof(bulk), sizeof(bulk), place, space) != nullptr;
        if (!fits) place = ::operator new(sizeof(bulk), std::nothrow);
        if (place == nullptr) return receiver.set_error(std::make_exception_ptr(std::bad_alloc()));
        auto* self = ::new (place) bulk(count, in_chunks, receiver);
        self->is_allocated_ = !fits;
        const sinew_status status = sinew_spawn(nullptr, self, run);
        if (status != SINEW_OK) {
            free(*self);
            receiver.set_error(error_of(status));
        }
    }

private:
    static void free(const bulk& self) noexcept {
        if (self.is_allocated_) ::operator delete(const_cast<bulk*>(&self));
    }

    static void run(void* context) noexcept {
        // The storage ends with the operation, which the receiver's last call may end.
        bulk here = *static_cast<bulk*>(context);
        free(*static_cast<bulk*>(context));
        switch (const sinew_status status = sinew_for(nullptr, here.count_, nullptr, &here, visit)) {
            case SINEW_OK: return here.receiver_.set_value();
            case SINEW_ESTOPPED: return here.receiver_.set_stopped();
            default: return here.receiver_.set_error(error_of(status));
        }
    }

    static int visit(void* context, std::size_t begin, std::size_t end, unsigned) noexcept {
        auto& here = *static_cast<bulk*>(context);
        if (is_stopped(here.receiver_)) return 1;
        if (here.in_chunks_) {
            here.receiver_.execute(begin, end);
        } else {
            for (; begin < end; begin++) here.receiver_.execute(begin, begin + 1);
        }
        return 0;
    }

    std::size_t count_;
    bool in_chunks_;
    bool is_allocated_ = false;
    interface::bulk_item_receiver_proxy& receiver_;
};

class backend final : public interface::parallel_scheduler_backend {
public:
    void schedule(interface::receiver_proxy& receiver, std::span<std::byte>) noexcept override {
        const auto run = [](void* context) noexcept {
            auto& receiver = *static_cast<interface::receiver_proxy*>(context);
            if (is_stopped(receiver)) return receiver.set_stopped();
            receiver.set_value();
        };
        const sinew_status status = sinew_spawn(nullptr, &receiver, run);
        if (status != SINEW_OK) receiver.set_error(error_of(status));
    }

    void schedule_bulk_chunked(std::size_t count, interface::bulk_item_receiver_proxy& receiver,
                               std::span<std::byte> storage) noexcept override {
        bulk::start(count, true, receiver, storage);
    }

    void schedule_bulk_unchunked(std::size_t count, interface::bulk_item_receiver_proxy& receiver,
                                 std::span<std::byte> storage) noexcept override {
        bulk::start(count, false, receiver, storage);
    }
};

}  // namespace

namespace SINEW_SCHEDULER {

std::shared_ptr<parallel_scheduler_backend> query_parallel_scheduler_backend() {
    static const auto one = std::make_shared<backend>();
    return one;
}

}  // namespace SINEW_SCHEDULER

// The functions of sluice/session.h for queues.
#include <utility>

#include "api/functions/open_runtimes.h"
#include "sluice/session.h"

namespace sluice::api {
namespace {

constexpr std::int32_t kMaxCapacity = 1 << 20;

Result<std::shared_ptr<OpenQueues>> find_queues(const Call& call, std::uint64_t queues) {
  auto found = call.queues().find(queues);
  if (found != nullptr) return found;
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
                              "no queues have handle {:#x}, or they were closed", queues);
}

Result<std::uint64_t> open_queues(const Call& call, std::uint64_t model,
                                  const sluice_queue_options& options) {
  if (options.capacity < 0 || options.capacity > kMaxCapacity) {
    return invalid_argument("capacity {} is not in [0, {}]", options.capacity, kMaxCapacity);
  }
  auto open = std::make_shared<OpenQueues>();
  open->model = SLUICE_TRY(call->sink(model));
  session::QueueOptions wanted;
  wanted.capacity = static_cast<std::size_t>(options.capacity);
  open->manager = SLUICE_TRY(session::QueueManager::create(*open->model, wanted));
  return call.queues().insert(std::move(open));
}

/// A record of a queue has room for one function and one pointer: both of the user's are here.
struct UserCallback {
  sluice_queue_callback function;
  void* user_data;

  static void call(void* context, const session::QueueCompletion& completion) {
    const std::unique_ptr<UserCallback> self(static_cast<UserCallback*>(context));
    const InCallback mark;
    try {
      self->function(self->user_data, static_cast<std::int32_t>(completion.code),
                     completion.size_bytes);
    } catch (...) {
      return;  // documented: dropped
    }
  }
};

struct Entry {
  const char* name;
  void* data;
  std::int64_t size_bytes;
  TimeoutNs timeout_ns;
};

std::int64_t deadline_of(TimeoutNs timeout_ns, const Clock& clock) {
  if (timeout_ns == 0) return 0;  // does not wait
  return deadline_after(clock, timeout_ns);
}

Status enqueue(const Call& call, std::uint64_t queues, const Entry& entry,
               std::unique_ptr<UserCallback> callback) {
  if (entry.timeout_ns != 0) SLUICE_TRY(refuse_in_callback());
  const auto open = SLUICE_TRY(find_queues(call, queues));
  session::TensorQueue* queue = open->manager->find(entry.name);
  if (queue == nullptr) {
    return open->manager->no_queue(entry.name);
  }
  session::QueueCallback on_done;
  // Until enqueue() has succeeded, `callback` owns it: a refused entry gets no call that would free
  // it.
  if (callback != nullptr) on_done = {&UserCallback::call, callback.get()};
  SLUICE_TRY(queue->enqueue(entry.data, entry.size_bytes, on_done,
                            deadline_of(entry.timeout_ns, open->model->clock())));
  (void)callback.release();  // its call frees it
  return ok_status();
}

}  // namespace
}  // namespace sluice::api

using sluice::ok_status;
using sluice::Status;
using sluice::api::Call;
using sluice::api::UserCallback;
using sluice::api::with_result_blocking;
using sluice::api::with_runtime;
using sluice::api::with_runtime_blocking;

int32_t sluice_runtime_open_queues(sluice_runtime* runtime, uint64_t model,
                                   const sluice_queue_options* options, uint64_t* queues) {
  return with_result_blocking(runtime, queues, [&](Call& call) -> Status {
    const auto known = sluice::api::read_options(options);
    *queues = SLUICE_TRY(sluice::api::open_queues(call, model, known));
    return ok_status();
  });
}

int32_t sluice_runtime_enqueue(sluice_runtime* runtime, uint64_t queues, const char* name,
                               void* data, int64_t size_bytes, sluice_queue_callback on_done,
                               void* user_data, int64_t timeout_ns) {
  return with_runtime(runtime, [&](Call& call) -> Status {
    if (name == nullptr) return sluice::invalid_argument("the name is null");
    std::unique_ptr<UserCallback> callback;
    if (on_done != nullptr) {
      callback = std::make_unique<UserCallback>(UserCallback{on_done, user_data});
    }
    return sluice::api::enqueue(call, queues, {name, data, size_bytes, timeout_ns},
                                std::move(callback));
  });
}

int32_t sluice_runtime_close_queues(sluice_runtime* runtime, uint64_t queues) {
  return with_runtime_blocking(runtime, [&](Call& call) -> Status {
    const auto open = SLUICE_TRY(sluice::api::find_queues(call, queues));
    // First, so that no other call finds queues that are closing.
    (void)call.queues().remove(queues);
    open->manager->close();
    return ok_status();
  });
}

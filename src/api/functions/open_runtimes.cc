#include "api/functions/open_runtimes.h"

#include <pthread.h>

#include <map>
#include <mutex>
#include <utility>

namespace sluice::api {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, std::shared_ptr<OpenRuntime>> entries;
};

// Never destroyed: threads of a runtime that was not closed may run until the process ends.
Table* g_table = nullptr;                      // NOLINT: C handles are global
std::atomic<std::uintptr_t> g_next_handle{1};  // NOLINT: never used twice, also after a fork

Table& table() {
  static std::once_flag once;
  std::call_once(once, [] {
    g_table = new Table;
    // The child has none of the threads of its parent's runtimes, and the table's mutex may be
    // locked by one of them: the child starts with an empty table.
    pthread_atfork(nullptr, nullptr, [] { g_table = new Table; });
  });
  return *g_table;
}

Status closed() {
  return terms::runtime_error(
      RuntimeCode::kFailed, "the runtime is closed, or was opened before this process was forked");
}

}  // namespace

Call::~Call() {
  // A moved-from Call holds nothing.
  if (open_ != nullptr && open_->num_calls.fetch_sub(1) == 1) open_->num_calls.notify_all();
}

Status null_result() { return invalid_argument("the pointer for the result is null"); }

sluice_runtime* add_runtime(std::unique_ptr<Runtime> runtime) {
  auto open = std::make_shared<OpenRuntime>();
  open->runtime = std::move(runtime);
  const std::uintptr_t handle = g_next_handle.fetch_add(1);
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.entries.emplace(handle, std::move(open));
  return reinterpret_cast<sluice_runtime*>(handle);  // NOLINT: a number in the dress of a pointer
}

Result<Call> enter(sluice_runtime* handle) {
  if (handle == nullptr) return invalid_argument("the runtime is null");
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto it = all.entries.find(reinterpret_cast<std::uintptr_t>(handle));
  if (it == all.entries.end()) return closed();
  it->second->num_calls.fetch_add(1);  // under the lock: `close_runtime` counts it
  return Call(it->second);
}

Status close_runtime(sluice_runtime* handle, std::int64_t drain_ns) {
  SLUICE_TRY(refuse_in_callback());
  std::shared_ptr<OpenRuntime> open;
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    const auto it = all.entries.find(reinterpret_cast<std::uintptr_t>(handle));
    if (it == all.entries.end()) return closed();
    open = std::move(it->second);
    all.entries.erase(it);
  }
  open->runtime->shutdown(drain_ns);
  // Ends callers that wait for room in a queue.
  for (const auto& [id, queues] : open->queues.all()) {
    if (open->queues.remove(id) != nullptr) queues->manager->close();
  }
  for (int calls = open->num_calls.load(); calls > 0; calls = open->num_calls.load()) {
    open->num_calls.wait(calls);
  }
  // Requests whose replies nobody took refer to their models.
  open->requests.reset();
  open->runtime.reset();
  return ok_status();
}

}  // namespace sluice::api

#include "plugin/step_times.h"

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "plugin/backend.h"

namespace sluice::cuda {
namespace {

using plugin::detail::Command;

/// Set by the thread that submits lists.
struct Observer {
  sluice_step_observer call = nullptr;
  void* user = nullptr;
};
thread_local Observer t_observer;

void observe(sluice_backend* /*backend*/, sluice_step_observer observer, void* user) {
  t_observer = {observer, user};
}

std::int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// "Conv+Relu".
std::string kind_of(const Command& command) {
  if (command.kernel == nullptr) return "copy";
  const sluice_op& op = *command.kernel->op;
  std::string kind = plugin::kind_of(op);
  for (std::int32_t i = 0; op.body != nullptr && i < op.body->num_steps; ++i) {
    kind += std::string("+") + op.body->steps[i].kind;
  }
  return kind;
}

/// Events between the commands of a list.
class Marks {
 public:
  explicit Marks(const Driver& driver) : driver_(driver) {}
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;
  ~Marks() {
    for (const CuEvent event : events_) driver_.table.event_destroy(event);
  }

  Status add(CuStream stream) {
    CuEvent event = nullptr;
    CuResult result = driver_.table.event_create(&event, 0);
    if (result == CuResult::kSuccess) {
      events_.push_back(event);
      result = driver_.table.event_record(event, stream);
    }
    return check_call(driver_, result, "marking a time in a stream");
  }

  /// Between mark `index` and the next. Requires: the stream has passed both.
  Status duration_ns(std::size_t index, std::int64_t* ns) const {
    float milliseconds = 0;
    const CuResult result =
        driver_.table.event_elapsed_time(&milliseconds, events_[index], events_[index + 1]);
    *ns = std::llround(double{milliseconds} * 1e6);
    return check_call(driver_, result, "reading a time of a stream");
  }

 private:
  const Driver& driver_;
  std::vector<CuEvent> events_;
};

}  // namespace

const sluice_step_times kStepTimes = {sizeof(sluice_step_times), observe};

bool are_steps_observed() { return t_observer.call != nullptr; }

Status run_observed(Backend& backend, Stream& stream, const CommandList& list,
                    std::span<void* const> bindings) {
  const Driver& driver = backend.driver();
  Marks marks(driver);
  std::int64_t start_ns = now_ns();
  Status status = marks.add(stream.handle);
  for (std::size_t i = 0; i < list.commands.size() && status.is_ok(); ++i) {
    status = backend.run_commands(stream, list, i, i + 1, bindings);
    if (status.is_ok()) status = marks.add(stream.handle);
  }
  if (!status.is_ok()) return status;
  status = check_call(driver, driver.table.stream_synchronize(stream.handle),
                      "waiting for the steps of a list");
  std::vector<std::string> kinds;
  std::vector<sluice_step_time> steps;
  for (std::size_t i = 0; i < list.commands.size() && status.is_ok(); ++i) {
    const Command& command = list.commands[i];
    std::int64_t duration_ns = 0;
    status = marks.duration_ns(i, &duration_ns);
    kinds.push_back(kind_of(command));
    const char* const name = command.kernel == nullptr ? "" : command.kernel->op->name;
    steps.push_back({sizeof(sluice_step_time), 0, nullptr, name, start_ns, duration_ns});
    start_ns += duration_ns;
  }
  if (!status.is_ok()) return status;
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].kind = kinds[i].c_str();
  t_observer.call(t_observer.user, steps.data(), static_cast<std::int32_t>(steps.size()));
  return plugin::ok();
}

}  // namespace sluice::cuda

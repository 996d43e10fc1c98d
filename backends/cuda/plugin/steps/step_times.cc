#include "plugin/steps/step_times.h"

#include <chrono>
#include <cmath>
#include <string>

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

}  // namespace

const sluice_step_times kStepTimes = {sizeof(sluice_step_times), observe};

bool are_steps_observed() { return t_observer.call != nullptr; }

StepMarks::StepMarks(const DriverTable& driver) : driver_(driver), start_ns_(now_ns()) {}

StepMarks::~StepMarks() {
  for (const CuEvent event : events_) driver_.event_destroy(event);
}

CuResult StepMarks::add(CuStream stream) {
  CuEvent event = nullptr;
  const CuResult result = driver_.event_create(&event, 0);
  if (result != CuResult::kSuccess) return result;
  events_.push_back(event);
  return driver_.event_record(event, stream);
}

CuResult StepMarks::tell(CuStream stream, std::span<const Command> commands) const {
  CuResult result = driver_.stream_synchronize(stream);
  std::int64_t start_ns = start_ns_;
  std::vector<std::string> kinds;
  std::vector<sluice_step_time> steps;
  for (std::size_t i = 0; i < commands.size() && result == CuResult::kSuccess; ++i) {
    float milliseconds = 0;
    result = driver_.event_elapsed_time(&milliseconds, events_[i], events_[i + 1]);
    const auto duration_ns = static_cast<std::int64_t>(std::llround(double{milliseconds} * 1e6));
    const Command& command = commands[i];
    kinds.push_back(kind_of(command));
    const char* const name = command.kernel == nullptr ? "" : command.kernel->op->name;
    steps.push_back({sizeof(sluice_step_time), 0, nullptr, name, start_ns, duration_ns});
    start_ns += duration_ns;
  }
  if (result != CuResult::kSuccess) return result;
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].kind = kinds[i].c_str();
  t_observer.call(t_observer.user, steps.data(), static_cast<std::int32_t>(steps.size()));
  return result;
}

}  // namespace sluice::cuda

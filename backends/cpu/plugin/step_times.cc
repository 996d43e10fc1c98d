#include "plugin/step_times.h"

#include "pool/clock.h"

namespace sluice::cpu {
namespace {

/// Set by the thread that submits lists.
struct Observer {
  sluice_step_observer call = nullptr;
  void* user = nullptr;
};
thread_local Observer t_observer;

void observe(sluice_backend* /*backend*/, sluice_step_observer observer, void* user) {
  t_observer = {observer, user};
}

}  // namespace

const sluice_step_times kStepTimes = {sizeof(sluice_step_times), observe};

bool StepTimes::are_observed() { return t_observer.call != nullptr; }

void StepTimes::begin_step(std::size_t step) { steps_[step].start_ns = now_ns(); }

void StepTimes::end_step(std::size_t step) {
  steps_[step].duration_ns = now_ns() - steps_[step].start_ns;
}

void StepTimes::describe(std::size_t step, const char* kind, const char* name) {
  steps_[step].struct_size = sizeof(sluice_step_time);
  steps_[step].kind = kind;
  steps_[step].name = name;
}

void StepTimes::tell_observer() const {
  t_observer.call(t_observer.user, steps_.data(), static_cast<std::int32_t>(steps_.size()));
}

}  // namespace sluice::cpu

#include "runtime/testing/manual_driver.h"

#include <algorithm>

namespace sluice::runtime {

class ManualDriver final : public Driver {
 public:
  ManualDriver(ManualDrivers& source, Steppable& machine) : source_(source), machine_(machine) {
    const std::lock_guard lock(source_.mutex_);
    source_.machines_.push_back(&machine_);
  }
  ~ManualDriver() override {
    const std::lock_guard lock(source_.mutex_);
    std::erase(source_.machines_, &machine_);
  }

  void notify() override { source_.wake(); }
  void announce() override { source_.wake(); }
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return source_.wait(is_done, deadline_ns);
  }

 private:
  ManualDrivers& source_;
  Steppable& machine_;
};

std::unique_ptr<Driver> ManualDrivers::drive(Steppable& machine,
                                             std::vector<std::int32_t> /*cpus*/) {
  return std::make_unique<ManualDriver>(*this, machine);
}

StepResult ManualDrivers::step_all() {
  const std::lock_guard lock(mutex_);
  StepResult all;
  // By index: a step may complete a request whose callback adds or removes a machine of this
  // source.
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const StepResult one = machines_[i]->step(clock_.now_ns());
    all.has_moved |= one.has_moved;
    all.is_running |= one.is_running;
    all.next_deadline_ns = std::min(all.next_deadline_ns, one.next_deadline_ns);
  }
  return all;
}

bool ManualDrivers::wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) {
  while (!is_done()) {
    std::uint64_t seen = 0;
    {
      const std::lock_guard lock(wake_mutex_);
      // Counted before the step: a wake during it must not be lost between step_all and the wait.
      seen = wakes_;
    }
    const StepResult result = step_all();
    if (result.has_moved || is_done()) continue;
    if (clock_.now_ns() >= deadline_ns) return false;
    std::unique_lock lock(wake_mutex_);
    // Lock order: mutex_ (a step may wake a caller), then wake_mutex_; never the other way.
    if (wakes_ != seen) continue;
    clock_.wait_until(lock, wake_, std::min(deadline_ns, result.next_deadline_ns));
  }
  return true;
}

void ManualDrivers::wake() {
  {
    const std::lock_guard lock(wake_mutex_);
    ++wakes_;
  }
  wake_.notify_all();
}

}  // namespace sluice::runtime

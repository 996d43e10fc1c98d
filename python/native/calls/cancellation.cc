#include "calls/cancellation.h"

#include <algorithm>
#include <chrono>

#include "calls/errors.h"

namespace nb = nanobind;

namespace sluice::python {
namespace {

/// The time after which a refused cancellation is tried again.
constexpr std::chrono::milliseconds kRetry(1);

}  // namespace

bool Cancellation::tell_runs() {
  bool all_told = true;
  for (Entry& run : runs_) {
    run.is_told = run.is_told || sluice_context_cancel(run.context) == SLUICE_OK;
    all_told = all_told && run.is_told;
  }
  return all_told;
}

/// The library refuses to cancel a run before its tensors are bound, and after its end.
void Cancellation::cancel() {
  std::unique_lock lock(mutex_);
  is_cancelled_ = true;
  while (is_cancelled_ && !tell_runs()) left_.wait_for(lock, kRetry);
}

void Cancellation::reset() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = false;
}

bool Cancellation::is_cancelled() {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

Cancellation::Run::Run(Cancellation* cancellation, sluice_context* context)
    : cancellation_(cancellation), context_(context) {
  if (cancellation_ == nullptr) return;
  const std::lock_guard lock(cancellation_->mutex_);
  if (cancellation_->is_cancelled_) {
    throw Failure(Code::kCancelled, "the run was cancelled before it started");
  }
  cancellation_->runs_.push_back({context_, false});
}

Cancellation::Run::~Run() {
  if (cancellation_ == nullptr) return;
  {
    const std::lock_guard lock(cancellation_->mutex_);
    auto& runs = cancellation_->runs_;
    runs.erase(std::find_if(runs.begin(), runs.end(),
                            [this](const Entry& run) { return run.context == context_; }));
  }
  cancellation_->left_.notify_all();
}

void bind_cancellation(nb::module_& module) {
  nb::class_<Cancellation>(module, "Cancellation",
                           "Ends the runs that were given it: those under way, and later ones "
                           "until `reset`. Any thread may use it.")
      .def(nb::init<>())
      .def("cancel", &Cancellation::cancel, nb::call_guard<nb::gil_scoped_release>())
      .def("reset", &Cancellation::reset, nb::call_guard<nb::gil_scoped_release>())
      .def("is_cancelled", &Cancellation::is_cancelled, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace sluice::python

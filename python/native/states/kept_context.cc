#include "states/kept_context.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "calls/errors.h"

namespace sluice::python {

KeptContext::~KeptContext() {
  if (generation_ != fork_generation()) static_cast<void>(context_.release());
}

std::unique_lock<std::mutex> KeptContext::lock() {
  if (generation_ != fork_generation()) return {};
  return std::unique_lock(mutex_);
}

void KeptContext::end() noexcept {
  if (generation_ != fork_generation()) return;
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
}

const std::pair<std::size_t, std::size_t>* KeptContext::find_input(std::size_t index) const {
  const auto found = std::ranges::find(pairs_, index, &std::pair<std::size_t, std::size_t>::first);
  return found == pairs_.end() ? nullptr : &*found;
}

bool KeptContext::has_output(std::size_t index) const {
  return std::ranges::any_of(pairs_, [&](const auto& pair) { return pair.second == index; });
}

void KeptContext::set_changed(std::size_t pair) {
  const auto held = lock();
  is_changed_.at(pair) = true;
}

void KeptContext::bring_locked() {
  for (std::size_t i = 0; context_ != nullptr && i < outputs_.size(); ++i) {
    if (is_changed_[i]) continue;
    require_process(generation_);
    sluice_array array = {};
    check(sluice_context_output(context_.get(), outputs_[i].c_str(), &array));
  }
}

void KeptContext::bring() {
  const NativeCall call;
  const nb::gil_scoped_release released;
  const auto held = lock();
  bring_locked();
}

void KeptContext::release() noexcept {
  const std::lock_guard lock(mutex_);
  try {
    bring_locked();
  } catch (const Failure&) {
    // The arrays keep what they have: the device is lost.
  }
  context_ = nullptr;
}

std::int64_t KeptContext::recorded_bytes() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() ? sluice_context_recorded_bytes(context_.get()) : 0;
}

std::int64_t KeptContext::kept_bytes() {
  const auto held = lock();
  return sluice_context_kept_bytes(context_.get());
}

void bind_kept_states(nb::module_& module) {
  nb::class_<KeptStates>(module, "KeptStates", "States that lie where runs changed them last.")
      .def(nb::init<std::vector<std::pair<std::size_t, std::size_t>>>(), nb::arg("pairs"))
      .def("bring", [](const KeptStates& states) { states.context->bring(); })
      .def(
          "set_changed",
          [](const KeptStates& states, std::size_t pair) { states.context->set_changed(pair); },
          nb::arg("pair"))
      .def("kept_bytes", [](const KeptStates& states) { return states.context->kept_bytes(); });
}

}  // namespace sluice::python

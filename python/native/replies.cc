#include "replies.h"

#include <nanobind/stl/shared_ptr.h>

#include <utility>

#include "calls/errors.h"
#include "calls/process.h"

namespace sluice::python {
namespace {

/// Moves the outputs out of the reply. Those that cannot be converted are the failure of their
/// request alone.
void take_outputs(Pending& ended) {
  if (ended.reply == nullptr) return;
  try {
    ended.outputs = outputs_of(std::move(ended.reply), {});
  } catch (const Failure& failure) {
    ended.status = static_cast<std::int32_t>(failure.code());
    ended.message = failure.message();
  } catch (const std::exception& error) {
    ended.status = static_cast<std::int32_t>(Code::kResourceExhausted);
    ended.message = error.what();
  }
}

nb::tuple describe_end(Pending& ended) {
  take_outputs(ended);
  return nb::make_tuple(ended.future, ended.status, to_text(ended.message), ended.outputs,
                        ended.size_bytes);
}

}  // namespace

nb::list outputs_of(ReplyPointer reply, const std::vector<bool>& wanted) {
  // All arrays own the reply together.
  const std::shared_ptr<sluice_reply> shared(std::move(reply));
  nb::list outputs;
  for (std::size_t i = 0; i < sluice_reply_num_outputs(shared.get()); ++i) {
    if (i < wanted.size() && !wanted[i]) {
      outputs.append(nb::none());
      continue;
    }
    const char* name = sluice_reply_output_name(shared.get(), i);
    std::uint64_t exchange = 0;
    check(sluice_reply_exchange(shared.get(), name, &exchange));
    if (exchange != 0) {
      outputs.append(exchange);
      continue;
    }
    sluice_array array = {};
    check(sluice_reply_output(shared.get(), name, &array));
    nb::capsule owner(new std::shared_ptr<sluice_reply>(shared), [](void* held) noexcept {
      delete static_cast<std::shared_ptr<sluice_reply>*>(held);
    });
    outputs.append(to_python(array, std::move(owner)));
  }
  return outputs;
}

Replies::Replies() : generation_(fork_generation()), state_(std::make_unique<State>()) {}

Replies::~Replies() {
  if (generation_ != fork_generation()) (void)state_.release();
}

/// Notifies with the lock: once it is free, the collector may end and destroy this object.
void Replies::push(std::unique_ptr<Pending> ended) {
  const std::lock_guard lock(state_->mutex);
  state_->ended.push_back(std::move(ended));
  state_->changed.notify_one();
}

nb::list Replies::wait() {
  if (state_->collected.empty()) {
    const nb::gil_scoped_release released;
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->is_closed || !state_->ended.empty(); });
    state_->collected.swap(state_->ended);
  }
  nb::list described;
  for (const auto& ended : state_->collected) described.append(describe_end(*ended));
  state_->collected.clear();
  return described;
}

void Replies::close() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
  state_->changed.notify_all();
}

void bind_replies(nb::module_& module) {
  nb::class_<Replies>(module, "Replies", "The ends of requests, for one thread that waits.")
      .def(nb::init<>())
      .def("wait", &Replies::wait)
      .def("close", &Replies::close);
}

}  // namespace sluice::python

#include "replies.h"

#include <nanobind/stl/shared_ptr.h>

#include <utility>

#include "errors.h"
#include "process.h"

namespace sluice::python {
namespace {

nb::tuple describe_end(Pending& ended) {
  const nb::object outputs =
      ended.reply == nullptr ? nb::none() : nb::object(outputs_of(std::move(ended.reply), {}));
  return nb::make_tuple(ended.future, ended.status, nb::str(ended.message.c_str()), outputs,
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
  std::vector<std::unique_ptr<Pending>> collected;
  {
    const nb::gil_scoped_release released;
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->is_closed || !state_->ended.empty(); });
    collected.swap(state_->ended);
  }
  nb::list described;
  for (const auto& ended : collected) described.append(describe_end(*ended));
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

#include "dispatch/shadow.h"

#include <limits>
#include <utility>

#include "base/no_memory.h"

namespace sluice::dispatch {

ShadowCopy::ShadowCopy(const std::shared_ptr<ModelRef>& model, const runtime::Request& request) {
  auto shadow = model->shadow();
  if (shadow == nullptr || request.memory_owner == nullptr || !request.outputs.empty()) return;
  // The bytes of inputs may lie on the model's device alone.
  const bool is_left = !request.left_inputs.empty();
  if (is_left && shadow->sink().left_on() != model->sink().left_on()) return;
  if (!shadow->take_copy()) return;
  const Status copied = catch_no_memory([&] {
    // Whatever ends the request gives the place back: an answer, a refusal, or a lack of memory.
    std::shared_ptr<void> place(shadow.get(),
                                [shadow](void* /*ref*/) { shadow->give_copy_back(); });
    request_.on_done = [place = std::move(place)](const runtime::Reply& /*reply*/) mutable {
      place = nullptr;
    };
    request_.inputs = request.inputs;
    request_.left_inputs = request.left_inputs;
    request_.memory_owner =
        std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<ModelRef>>>(
            request.memory_owner, model);
    return ok_status();
  });
  if (!copied.is_ok()) {
    request_ = {};
    return;
  }
  request_.deadline_ns = request.deadline_ns;
  request_.max_run_ns = request.max_run_ns;
  request_.exchange_owner = request.exchange_owner;
  request_.priority = std::numeric_limits<std::int32_t>::min();
  shadow_ = std::move(shadow);
}

void ShadowCopy::submit() {
  const auto shadow = std::exchange(shadow_, nullptr);
  if (shadow == nullptr) return;
  const auto submitted = catch_no_memory([&] { return shadow->sink().submit(request_); });
  if (!submitted.is_ok()) request_ = {};
}

}  // namespace sluice::dispatch

#include "dispatch/shadow.h"

#include <limits>
#include <utility>

namespace sluice::dispatch {

ShadowCopy::ShadowCopy(const std::shared_ptr<ModelRef>& model, const runtime::Request& request) {
  auto shadow = model->shadow();
  if (shadow == nullptr || request.memory_owner == nullptr || !request.outputs.empty()) return;
  if (!shadow->take_copy()) return;
  shadow_ = std::move(shadow);
  request_.inputs = request.inputs;
  request_.memory_owner =
      std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<ModelRef>>>(
          request.memory_owner, model);
  request_.deadline_ns = request.deadline_ns;
  request_.max_run_ns = request.max_run_ns;
  request_.exchange_owner = request.exchange_owner;
  request_.priority = std::numeric_limits<std::int32_t>::min();
}

ShadowCopy::~ShadowCopy() {
  if (shadow_ != nullptr) shadow_->give_copy_back();
}

void ShadowCopy::submit() {
  const auto shadow = std::exchange(shadow_, nullptr);
  if (shadow == nullptr) return;
  request_.on_done = [shadow](const runtime::Reply& /*reply*/) { shadow->give_copy_back(); };
  if (!shadow->sink().submit(request_).is_ok()) shadow->give_copy_back();
}

}  // namespace sluice::dispatch

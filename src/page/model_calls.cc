#include "page/model_calls.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/process/with_lock.h"
#include "page/graph_json.h"
#include "page/timeline_json.h"
#include "terms/server/profile.h"

namespace sluice::page {
namespace {

constexpr std::chrono::seconds kProfiled(2);

}  // namespace

Result<http::Reply> ModelCalls::graph(const service::Caller& caller,
                                      terms::ModelHandle model) const {
  const auto executable = SLUICE_TRY(service_.executable(caller, model));
  return http::Reply{200, http::kJson, graph_json(*executable)};
}

http::Cancel ModelCalls::profile(const service::Caller& caller,
                                 std::optional<terms::ModelHandle> model,
                                 const http::Answer& answer) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || is_profiling_) {
      answer(http::error_reply(503, "another page records a profile; try again in two seconds"));
      return nullptr;
    }
    is_profiling_ = true;
  }
  const Status status = threads_.run([this, caller, model, answer] {
    auto reply = take_profile(caller, model);
    with_lock(mutex_, [&] { is_profiling_ = false; });
    http::answer_now(answer, std::move(reply));
  });
  if (!status.is_ok()) {
    const std::lock_guard lock(mutex_);
    is_profiling_ = false;
    answer(http::error_reply(status));
  }
  return nullptr;
}

Result<http::Reply> ModelCalls::take_profile(const service::Caller& caller,
                                             std::optional<terms::ModelHandle> model) {
  terms::ProfileSettings settings;
  settings.model = model;
  const std::uint64_t profile = SLUICE_TRY(service_.start_profile(caller, settings));
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kProfiled, [this] { return is_closed_; });
  }
  const auto taken = SLUICE_TRY(service_.stop_profile(caller, profile));
  return http::Reply{200, http::kJson, profile_json(taken)};
}

void ModelCalls::close() {
  with_lock(mutex_, [&] { is_closed_ = true; });
  changed_.notify_all();
}

}  // namespace sluice::page

#include "page/model_calls.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "page/graph_json.h"

namespace sluice::page {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::seconds kProfiled(2);

}  // namespace

Result<http::Reply> ModelCalls::graph(const service::Caller& caller,
                                      terms::ModelHandle model) const {
  const auto executable = SLUICE_TRY(service_.executable(caller, model));
  return http::Reply{200, http::kJson, graph_json(*executable)};
}

http::Cancel ModelCalls::profile(const service::Caller& caller, terms::ModelHandle model,
                                 const http::Answer& answer) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || is_profiling_) {
      answer(http::error_reply(503, "another model is being profiled; try again in two seconds"));
      return nullptr;
    }
    is_profiling_ = true;
  }
  const Status status = threads_.run([this, caller, model, answer] {
    auto reply = take_profile(caller, model);
    {
      const std::lock_guard lock(mutex_);
      is_profiling_ = false;
    }
    answer(reply.is_ok() ? std::move(*reply) : http::error_reply(reply.status()));
  });
  if (!status.is_ok()) {
    const std::lock_guard lock(mutex_);
    is_profiling_ = false;
    answer(http::error_reply(status));
  }
  return nullptr;
}

Result<http::Reply> ModelCalls::take_profile(const service::Caller& caller,
                                             terms::ModelHandle model) {
  terms::ProfileSettings settings;
  settings.model = model;
  const std::uint64_t profile = SLUICE_TRY(service_.start_profile(caller, settings));
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kProfiled, [this] { return is_closed_; });
  }
  const auto taken = SLUICE_TRY(service_.stop_profile(caller, profile));
  return http::Reply{200, http::kJson, times_json(taken)};
}

void ModelCalls::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
}

std::string times_json(const terms::Profile& profile) {
  struct Time {
    std::int64_t count = 0;
    std::int64_t sum_ns = 0;
  };
  std::map<std::uint32_t, Time> times;  // by index of the name
  std::int64_t num_requests = 0;
  for (const terms::ProfileSpan& span : profile.spans) {
    num_requests += span.kind == terms::SpanKind::kRequest ? 1 : 0;
    if (span.kind != terms::SpanKind::kOperation) continue;
    ++times[span.name].count;
    times[span.name].sum_ns += span.duration_ns;
  }
  std::vector<std::pair<std::uint32_t, Time>> sorted(times.begin(), times.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.sum_ns > b.second.sum_ns; });
  ordered_json operations = ordered_json::array();
  for (const auto& [name, time] : sorted) {
    operations.push_back(
        {{"name", profile.names[name]}, {"count", time.count}, {"sum_ns", time.sum_ns}});
  }
  const ordered_json all = {{"num_requests", num_requests}, {"operations", std::move(operations)}};
  return all.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sluice::page

// What the page asks about one model.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/result.h"
#include "http/call.h"
#include "service/call_threads.h"
#include "service/service.h"
#include "terms/model.h"
#include "terms/server/profile.h"

namespace sluice::page {

/// Safe from any thread.
class ModelCalls {
 public:
  /// Both outlive this. `threads` wait while a model is profiled.
  ModelCalls(service::Service& service, service::CallThreads& threads)
      : service_(service), threads_(threads) {}

  /// As graph_json. Fails: as Service::executable.
  Result<http::Reply> graph(const service::Caller& caller, terms::ModelHandle model) const;
  /// Records what the model does for two seconds, and answers with the time of each operation, as
  /// times_json. One model is profiled at a time. `answer` gets the errors of
  /// Service::start_profile.
  http::Cancel profile(const service::Caller& caller, terms::ModelHandle model,
                       const http::Answer& answer);
  /// Ends a profile now, and refuses others. May be called again.
  void close();

 private:
  Result<http::Reply> take_profile(const service::Caller& caller, terms::ModelHandle model);

  service::Service& service_;
  service::CallThreads& threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  bool is_profiling_ = false;
};

/// {"num_requests": 3, "operations": [{"name": "Conv conv1", "count": 3, "sum_ns": 81000}]}, the
/// longest sum first. `name` is the kind of the operation and its name, if it has one.
std::string times_json(const terms::Profile& profile);

}  // namespace sluice::page

// What the page asks about models.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "http/call.h"
#include "service/call_threads.h"
#include "service/service.h"
#include "terms/model.h"

namespace sluice::page {

/// Safe from any thread.
class ModelCalls {
 public:
  /// Both outlive this. `threads` wait while a profile is recorded.
  ModelCalls(service::Service& service, service::CallThreads& threads)
      : service_(service), threads_(threads) {}

  /// As graph_json. Fails: as Service::executable.
  Result<http::Reply> graph(const service::Caller& caller, terms::ModelHandle model) const;
  /// Records what a model does for two seconds, or the whole daemon, and answers as profile_json.
  /// One profile is recorded at a time. `answer` gets the errors of Service::start_profile.
  http::Cancel profile(const service::Caller& caller, std::optional<terms::ModelHandle> model,
                       const http::Answer& answer);
  /// Ends a profile now, and refuses others. May be called again.
  void close();

 private:
  Result<http::Reply> take_profile(const service::Caller& caller,
                                   std::optional<terms::ModelHandle> model);

  service::Service& service_;
  service::CallThreads& threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  bool is_profiling_ = false;
};

}  // namespace sluice::page

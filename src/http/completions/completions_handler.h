// OpenAI's API over HTTP: models and completions; and Triton's generate routes by the same code.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "completions/generation.h"
#include "completions/language_model.h"
#include "http/call.h"
#include "service/call_threads.h"
#include "service/service.h"

namespace sluice::http {

/// Who a request is from. Fails: as Service::caller_of; kUnauthenticated.
using Identify = std::function<Result<service::Caller>(const Request& request, terms::Role role)>;

/// Safe from any thread.
class CompletionsHandler {
 public:
  /// `service` outlives the handler. `cache_bytes`: of the caches of all texts in the making.
  CompletionsHandler(service::Service& service, Identify identify, std::int64_t cache_bytes);
  ~CompletionsHandler();
  CompletionsHandler(const CompletionsHandler&) = delete;
  CompletionsHandler& operator=(const CompletionsHandler&) = delete;

  /// Paths under /v1.
  static bool takes(std::string_view path);
  /// Requires: `takes` the path. As Handler says.
  Cancel handle(const Request& request, const Answer& answer);
  /// /v2/models/NAME/generate, or generate_stream. `version`: as open_inference::find_model.
  Cancel generate(const Request& request, const std::string& name, const std::string& version,
                  bool is_streamed, const Answer& answer);
  /// Refuses requests for texts from now on, and waits for those that are being written, at most
  /// until `deadline_ns` on the system's clock.
  void drain(std::int64_t deadline_ns);

 private:
  class Job;
  struct Prepared;

  Result<Reply> look(const Request& request, std::string_view path);
  Result<std::string> list_models(const Request& request, std::string_view name);
  Cancel start(std::shared_ptr<Job> job);
  Status run(Job& job);
  Result<Prepared> prepare(Job& job);

  service::Service& service_;
  const Identify identify_;
  const std::int64_t started_seconds_;
  completions::LanguageModels languages_;
  completions::Shared texts_;
  std::atomic<bool> is_draining_ = false;
  /// A prompt of megabytes takes a second to read, and the connections' threads must not wait.
  service::CallThreads threads_{2, 1024};
};

}  // namespace sluice::http

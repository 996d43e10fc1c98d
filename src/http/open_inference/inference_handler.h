// The Open Inference Protocol over HTTP: what each path does with the Service.
#pragma once

#include <string>
#include <vector>

#include "dispatch/flight_table.h"
#include "http/account_threads.h"
#include "http/call.h"
#include "http/completions/completions_handler.h"
#include "repository/repository.h"
#include "service/call_threads.h"
#include "service/clients/tokens.h"
#include "service/prometheus/text.h"
#include "service/service.h"

namespace sluice::http {

struct InferCall;

/// Safe from any thread.
class InferenceHandler {
 public:
  /// All outlive the handler. `max_answer_bytes`: of one reply. `cache_bytes`: of the caches of
  /// texts in the making.
  InferenceHandler(service::Service& service, repository::Repository& repository,
                   service::CallThreads& threads, std::vector<service::AccessToken> tokens,
                   std::int64_t max_answer_bytes, std::int64_t cache_bytes);

  /// From now on. None: any client may call.
  void set_tokens(std::vector<service::AccessToken> tokens) { tokens_.set(std::move(tokens)); }

  /// Who sent a request, if the client has the role.
  /// Fails: kUnauthenticated, kPermissionDenied.
  Result<service::Caller> caller_of(const Request& request, terms::Role role) const;
  /// Answers a request under /v2 or /v1; another path with 404. As Handler says.
  /// The reply has the request's id.
  Cancel handle(Request request, const Answer& answer);
  /// As CompletionsHandler::drain: a text is many requests to its model, which takes none while it
  /// drains.
  void drain(std::int64_t deadline_ns) { completions_.drain(deadline_ns); }
  /// Texts for another door. Lives as long as this.
  completions::TextStarter& texts() { return completions_; }
  /// Adds the metrics of the completions.
  void add_metrics(service::PrometheusText& to) const { completions_.add_metrics(to); }

 private:
  using Segments = std::vector<std::string>;  ///< of the path behind /v2, without percent signs

  /// The answer with the daemon's load in the head, as the request asks for it.
  Answer with_load(const Request& request, const Answer& answer);
  Cancel observe(Request request, const Answer& answer);
  Cancel answer_request(Request request, const Answer& answer);
  Cancel take(Request request, const Answer& answer);
  void answer_coded(Reply reply, const std::string& account, const Answer& answer);
  void answer_inference(const std::shared_ptr<InferCall>& call, const dispatch::ModelRef& model,
                        runtime::Reply reply, const Answer& answer);
  Cancel infer(const Request& request, const std::string& name, const std::string& version,
               const Answer& answer);
  Cancel control(const Request& request, Segments segments, const Answer& answer);
  Result<Reply> look(const Request& request, const Segments& segments);
  Result<Reply> look_at_model(const Request& request, const Segments& segments);
  Result<Reply> index(const Request& request);
  Result<Reply> trace_settings(const Request& request, Segments segments);
  Result<Reply> regions(const Request& request, const Segments& segments);
  Result<Reply> settings(const Request& request);

  service::Service& service_;
  repository::Repository& repository_;
  service::CallThreads& threads_;
  service::TokenTable tokens_;
  const std::int64_t max_answer_bytes_;
  dispatch::FlightTable flights_;
  CompletionsHandler completions_;
  /// Last: its calls use the others. They take codings off large bodies, read long JSON and put
  /// codings on large answers, which takes up to a second, for which no thread of connections may
  /// wait.
  AccountThreads codings_;
};

}  // namespace sluice::http

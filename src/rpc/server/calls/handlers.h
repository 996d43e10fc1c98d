// The calls of the protocol: what each does with the Service.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/no_memory.h"
#include "completions/text_starter.h"
#include "dispatch/flight_table.h"
#include "proto/sluice/v1/runtime.pb.h"
#include "rpc/server/calls/infer_messages.h"
#include "rpc/server/reactor/methods.h"
#include "rpc/server/reactor/reactor.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"
#include "service/call_threads.h"
#include "service/clients/tokens.h"
#include "service/service.h"
#include "telemetry/telemetry.h"

namespace sluice::rpc::server {

inline constexpr std::string_view kRuntimeService = "sluice.v1.Runtime";

class Handlers final {
 public:
  /// All outlive the handlers. `texts`: null: none are made.
  Handlers(service::Service& service, service::CallThreads& threads,
           std::vector<service::AccessToken> tokens, std::int64_t max_answer_bytes,
           completions::TextStarter* texts);
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

  /// Adds the calls of sluice.v1.
  void add_to(Methods& methods);

  /// From now on. None: any client may call.
  void set_tokens(std::vector<service::AccessToken> tokens) { tokens_.set(std::move(tokens)); }
  service::Service& service() { return service_; }
  service::CallThreads& threads() { return threads_; }
  /// Null: no texts are made.
  completions::TextStarter* texts() const { return texts_; }
  /// Limit of one answer; protobuf aborts the process above 2 GiB.
  std::int64_t max_answer_bytes() const { return max_answer_bytes_; }
  /// Flights of the unary calls, which the table outlives.
  dispatch::FlightTable& flights() { return flights_; }
  /// The client on whose behalf a call is made that needs `role`.
  /// Fails: as Service::caller_of; kUnauthenticated over TCP without one of the tokens.
  Result<service::Caller> caller_of(const CallContext& context, terms::Role role) const;
  /// Caller and model of a unary request. Fails: as caller_of and Service::find_model.
  Result<service::Admission> admit(const CallContext& context, terms::ModelHandle model) const;
  /// Observes a request that a call brings; null: nobody wants to know of it. `own`: its own
  /// traceparent and tracestate, if its message has them, before those of the call's metadata. A
  /// unary call gets its `x-request-id` back.
  std::shared_ptr<telemetry::Observation> observe(CallContext& context,
                                                  telemetry::Origin own) const;
  /// Bytes for an upload, until they are given back. Fails: kOutOfResources.
  Status reserve_upload(std::int64_t bytes);
  void release_upload(std::int64_t bytes);

  using Context = CallContext;

  /// Limit of a request that needs no token, which anybody may send compressed.
  static constexpr std::int64_t kMaxProbeBytes = 4096;
  /// Answers a call for which no token is needed, because `work()` says only whether the daemon is
  /// ready.
  template <typename Work>
  static void for_anybody(Context* context, const google::protobuf::Message* request,
                          const Work& work);
  /// Answers a call with `work(caller)` on the thread of its connection, which must not block.
  /// Whoever sent the request is known before anything of it is inflated, to `limit_bytes`; `work`
  /// alone reads it.
  template <typename Work>
  void now(Context* context, const google::protobuf::Message* request, terms::Role role,
           const Work& work, std::int64_t limit_bytes = wire::kMaxNamesBytes) const;

  // NOLINTBEGIN(readability-identifier-naming): the calls have the names of the protocol.
  void OpenSession(Context* context, const v1::OpenSessionRequest* request);
  void LoadModel(Context* context, v1::LoadModelResponse* response);
  void StopProfile(Context* context, const v1::StopProfileRequest* request);
  void Infer(Context* context, const std::shared_ptr<InferMessages>& messages);
  void TakeReply(Context* context, const v1::TakeReplyRequest* request,
                 v1::InferResponse* response);
  void InferStream(Context* context);
  // NOLINTEND(readability-identifier-naming)

 private:
  Result<terms::Peer> peer_of(const CallContext& context) const;

  service::Service& service_;
  service::CallThreads& threads_;
  service::TokenTable tokens_;
  const std::int64_t max_answer_bytes_;
  completions::TextStarter* const texts_;
  dispatch::FlightTable flights_;
  std::mutex upload_mutex_;
  std::int64_t uploading_bytes_ = 0;
};

template <typename Work>
void Handlers::for_anybody(Context* context, const google::protobuf::Message* request,
                           const Work& work) {
  const Status inflated = wire::inflate(*request, kMaxProbeBytes);
  if (inflated.is_ok()) work();
  context->finish(wire::to_grpc(inflated));
}

template <typename Work>
void Handlers::now(Context* context, const google::protobuf::Message* request, terms::Role role,
                   const Work& work, std::int64_t limit_bytes) const {
  const auto answer = [&]() -> Status {
    const auto caller = SLUICE_TRY(caller_of(*context, role));
    SLUICE_TRY(wire::inflate(*request, limit_bytes));
    return work(caller);
  };
  context->finish(wire::to_grpc(catch_no_memory(answer)));
}

/// Adds calls of one service that are answered for a caller with a role: each is a function of
/// `to`, the caller, the request and the response.
template <typename To>
class CallerMethods : public ServiceMethods<To> {
 public:
  template <typename Request, typename Response>
  using Work = Status (*)(To&, const service::Caller&, const Request&, Response&);

  /// `handlers` and `to` outlive the table.
  CallerMethods(Methods& methods, std::string_view service, Handlers& handlers, To& to)
      : ServiceMethods<To>(methods, service, to), handlers_(handlers) {}

  /// For calls that read tables in memory. As Handlers::now.
  template <typename Request, typename Response>
  CallerMethods& now(const char* name, terms::Role role, Work<Request, Response> work) {
    this->template add_unary<Request, Response>(
        name, [&handlers = handlers_, role, work](To& to, CallContext* context,
                                                  const Request* request, Response* response) {
          handlers.now(context, request, role, [&](const service::Caller& caller) {
            return work(to, caller, *request, *response);
          });
        });
    return *this;
  }
  /// For calls that load, wait or write, on threads of their own: a thread of connections that
  /// blocks delays the answers of all its clients. Request and response live until the call ends.
  template <typename Request, typename Response>
  CallerMethods& later(const char* name, terms::Role role, Work<Request, Response> work) {
    this->template add_unary<Request, Response>(
        name, [&handlers = handlers_, role, work](To& to, CallContext* context,
                                                  const Request* request, Response* response) {
          auto caller = handlers.caller_of(*context, role);
          if (!caller.is_ok()) return context->finish(wire::to_grpc(caller.status()));
          const Status begun = handlers.threads().run(
              [&to, context, request, response, work, caller = std::move(*caller)] {
                const auto answer = [&]() -> Status {
                  SLUICE_TRY(wire::inflate(*request));
                  return work(to, caller, *request, *response);
                };
                context->finish(wire::to_grpc(catch_no_memory(answer)));
              });
          if (!begun.is_ok()) context->finish(wire::to_grpc(begun));
        });
    return *this;
  }

 private:
  Handlers& handlers_;
};

/// Adds the calls of sluice.v1 about tensors of the exchange.
void add_exchange_calls(Handlers& handlers, Methods& methods);

}  // namespace sluice::rpc::server

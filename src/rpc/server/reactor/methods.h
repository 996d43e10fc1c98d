// The table of calls that a server has: from the path of a call to its handler.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/server/reactor/call_context.h"

namespace sluice::rpc::server {

/// The one request and the one response of a call, as far as it has them. Lives until the call is
/// over.
struct CallMessages {
  CallMessages() = default;
  CallMessages(const CallMessages&) = delete;
  CallMessages& operator=(const CallMessages&) = delete;
  virtual ~CallMessages() = default;

  google::protobuf::Message* request = nullptr;   ///< null: they come as a stream
  google::protobuf::Message* response = nullptr;  ///< null: they go as a stream
};

struct Method {
  std::function<std::unique_ptr<CallMessages>()> make_messages;
  /// Calls the handler; the request has come.
  std::function<void(CallContext&, CallMessages&)> start;
};

/// Messages that whoever uses them shares: a device may still read the request of a call that is
/// over, after a cancel. `Messages` has a `request`, a `response` and the `charge` of the response,
/// which ends with the call: a client's budget must not pay for an answer that it has.
template <typename Messages>
struct SharedMessages final : CallMessages {
  SharedMessages() {
    request = &shared->request;
    response = &shared->response;
  }
  ~SharedMessages() override {
    shared->response = decltype(Messages::response)();
    shared->charge = decltype(Messages::charge)();
  }
  const std::shared_ptr<Messages> shared = std::make_shared<Messages>();
};

/// Filled before a server starts; then safe from any thread.
class Methods {
 public:
  /// Null: there is no such call. `path`: "/sluice.v1.Runtime/GetServer".
  const Method* find(std::string_view path) const {
    const auto it = all_.find(path);
    return it == all_.end() ? nullptr : &it->second;
  }
  const auto& all() const { return all_; }
  void add(std::string path, Method method) { all_.emplace(std::move(path), std::move(method)); }

 private:
  std::map<std::string, Method, std::less<>> all_;
};

/// Adds the calls of one service. `handlers` outlive the table. The handler's arguments behind the
/// context say which messages come and go alone, and which as a stream.
template <typename Handlers>
class ServiceMethods {
 public:
  ServiceMethods(Methods& methods, std::string_view service, Handlers& handlers)
      : methods_(methods), service_(service), handlers_(handlers) {}

  /// One request, one response: calls `handler(handlers, context, request, response)`.
  template <typename Request, typename Response, typename Handler>
  ServiceMethods& add_unary(const char* name, Handler handler) {
    return put<Both<Request, Response>>(
        name, [handler](Handlers& to, CallContext& context, Both<Request, Response>& messages) {
          std::invoke(handler, to, &context, &messages.in, &messages.out);
        });
  }
  template <typename Request, typename Response>
  ServiceMethods& add(const char* name,
                      void (Handlers::*handler)(CallContext*, const Request*, Response*)) {
    return add_unary<Request, Response>(name, handler);
  }
  /// The same, with messages that outlive the call: calls `handler(handlers, context, messages)`.
  template <typename Messages, typename Handler>
  ServiceMethods& add_shared(const char* name, Handler handler) {
    using All = SharedMessages<Messages>;
    return put<All>(name, [handler](Handlers& to, CallContext& context, All& messages) {
      std::invoke(handler, to, &context, messages.shared);
    });
  }
  /// One request, a stream of responses.
  template <typename Request>
  ServiceMethods& add(const char* name, void (Handlers::*handler)(CallContext*, const Request*)) {
    return put<Incoming<Request>>(
        name, [handler](Handlers& to, CallContext& context, Incoming<Request>& messages) {
          (to.*handler)(&context, &messages.in);
        });
  }
  /// A stream of requests, one response.
  template <typename Response>
  ServiceMethods& add(const char* name, void (Handlers::*handler)(CallContext*, Response*)) {
    return put<Outgoing<Response>>(
        name, [handler](Handlers& to, CallContext& context, Outgoing<Response>& messages) {
          (to.*handler)(&context, &messages.out);
        });
  }
  /// Two streams: calls `handler(handlers, context)`.
  template <typename Handler>
  ServiceMethods& add_streams(const char* name, Handler handler) {
    return put<CallMessages>(name,
                             [handler](Handlers& to, CallContext& context, CallMessages& /*none*/) {
                               std::invoke(handler, to, &context);
                             });
  }

 private:
  template <typename Request>
  struct Incoming : CallMessages {
    Incoming() { request = &in; }
    Request in;
  };
  template <typename Response>
  struct Outgoing : CallMessages {
    Outgoing() { response = &out; }
    Response out;
  };
  template <typename Request, typename Response>
  struct Both : CallMessages {
    Both() {
      request = &in;
      response = &out;
    }
    Request in;
    Response out;
  };

  template <typename Messages, typename Start>
  ServiceMethods& put(const char* name, Start start) {
    Method method;
    method.make_messages = [] { return std::make_unique<Messages>(); };
    method.start = [start, &handlers = handlers_](CallContext& context, CallMessages& messages) {
      start(handlers, context, static_cast<Messages&>(messages));
    };
    methods_.add("/" + service_ + "/" + name, std::move(method));
    return *this;
  }

  Methods& methods_;
  const std::string service_;
  Handlers& handlers_;
};

}  // namespace sluice::rpc::server

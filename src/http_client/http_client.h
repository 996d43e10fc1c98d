// Requests over kept connections of HTTP/1.1, with TLS or without, as many at a time as the caller
// sends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "rpc/wire/address.h"
#include "tls/context.h"

namespace sluice::http_client {

struct HttpReply {
  int status = 0;
  std::string body;
};

/// Safe from any thread. Answers come on threads of the client, which end with it.
class HttpClient {
 public:
  /// Does not connect yet. Connections try all addresses of the host in turn, and resolve its name
  /// anew once none of them was reached. `timeout_ns`: of each request. `tls`: null for plain HTTP;
  /// the server's certificate must be of its host.
  /// Fails: kNotFound for a host that has no address; as start_thread.
  static Result<std::unique_ptr<HttpClient>> create(const rpc::wire::Address& server,
                                                    std::int64_t timeout_ns,
                                                    tls::Context tls = nullptr);
  HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  /// A request that has no answer yet gets none.
  virtual ~HttpClient() = default;

  using Done = std::function<void(Result<HttpReply>)>;
  /// Sends a whole request, head and body, over a free connection or a new one. Calls `done` once,
  /// later. Fails: kUnavailable where the connection breaks; kDeadlineExceeded.
  virtual void send(std::shared_ptr<const std::string> request, Done done) = 0;
};

/// Sends and waits. Fails also: kDeadlineExceeded once `stop` is requested.
Result<HttpReply> ask(HttpClient& client, std::shared_ptr<const std::string> request,
                      const std::stop_token& stop = {});

}  // namespace sluice::http_client

// Requests over kept connections of HTTP/1.1, as many at a time as the caller sends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "rpc/wire/address.h"

namespace sluice::perf {

struct HttpReply {
  int status = 0;
  std::string body;
};

/// Safe from any thread. Answers come on threads of the client, which end with it.
class HttpClient {
 public:
  /// Does not connect yet. `timeout_ns`: of each request.
  /// Fails: kNotFound for a host that has no address.
  static Result<std::unique_ptr<HttpClient>> create(const rpc::wire::Address& server,
                                                    std::int64_t timeout_ns);
  HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  /// Requires: every request is answered.
  virtual ~HttpClient() = default;

  using Done = std::function<void(Result<HttpReply>)>;
  /// Sends a whole request, head and body, over a free connection or a new one. Calls `done` once,
  /// later. Fails: kUnavailable where the connection breaks; kDeadlineExceeded.
  virtual void send(std::shared_ptr<const std::string> request, Done done) = 0;
};

}  // namespace sluice::perf

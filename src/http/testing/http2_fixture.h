// A server whose answers the test gives, for tests of HTTP/2.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/testing/http2_client.h"
#include "support/eventually.h"

namespace sluice::http::testing {

class Http2Test : public ::testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options;
    options.max_body_bytes = 8 << 20;
    options.max_connections = 8;
    return options;
  }
  explicit Http2Test(const ServerOptions& options = Http2Test::options())
      : server_(Server::start(options, [this](const Request& request, const Answer& answer) {
                  return take(request, answer);
                }).value()) {}
  ~Http2Test() override { server_->shutdown(0); }

  /// Says what came. /later keeps the answer for the test; /stream is the test's.
  Cancel take(const Request& request, const Answer& answer) {
    if (request.path == "/later") {
      const std::lock_guard lock(mutex_);
      kept_.push_back(answer);
      return [this] { ++num_cancelled_; };
    }
    if (request.path == "/stream") {
      Reply reply;
      reply.type = kEvents;
      reply.stream = stream_;
      answer(std::move(reply));
      return [this] {
        ++num_cancelled_;
        stream_->end();
      };
    }
    if (request.path == "/tag") {
      Reply reply = {304, kText, {}};
      reply.fields = fmt::format("ETag: {}\r\n", request.if_none_match);
      answer(std::move(reply));
      return nullptr;
    }
    const std::string_view body = request.body->bytes();
    Reply reply = {200, kText,
                   fmt::format("{} {} {} {} {}", request.method, request.host, request.path,
                               request.authorization, body.size())};
    if (!body.empty()) reply.text += fmt::format(" {}{}", body.front(), body.back());
    if (request.path == "/large") reply.text.assign(8'000'000, 'x');
    answer(std::move(reply));
    return nullptr;
  }
  /// Waits until so many requests wait for an answer, and takes them.
  std::vector<Answer> kept(std::size_t num = 1) {
    EXPECT_TRUE(sluice::testing::eventually([&] {
      const std::lock_guard lock(mutex_);
      return kept_.size() >= num;
    }));
    const std::lock_guard lock(mutex_);
    return std::exchange(kept_, {});
  }
  /// Over a connection of its own.
  std::string answer_to(const std::string& path) {
    Client client(*server_);
    return client.reply(client.ask(path)).body;
  }

  std::mutex mutex_;
  std::vector<Answer> kept_;
  std::atomic<int> num_cancelled_ = 0;
  const std::shared_ptr<ReplyStream> stream_ = std::make_shared<ReplyStream>([] {});
  const std::unique_ptr<Server> server_;
};

}  // namespace sluice::http::testing

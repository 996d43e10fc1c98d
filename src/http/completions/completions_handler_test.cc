#include "http/completions/completions_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"
#include "runtime/inference/thread_driver.h"
#include "support/eventually.h"

namespace sluice::http {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const Body> body_of(std::string_view text) {
  const auto body = std::make_shared<Body>(std::make_shared<ByteBudget>(1 << 20), -1, 1 << 20);
  EXPECT_TRUE(body->reserve(text.size()).is_ok());
  std::ranges::copy(std::as_bytes(std::span(text)), body->end());
  body->add(text.size());
  return body;
}

/// A service without models and devices. A client's token is its field of authorization.
class CompletionsHandlerTest : public ::testing::Test {
 protected:
  void post(std::string_view path, std::string_view token, std::string_view body,
            const Answer& answer) {
    Request request;
    request.method = "POST";
    request.path = path;
    request.authorization = token;
    request.body = body_of(body);
    handler_.handle(request, answer);
  }
  /// Its answer, which is an error, has no effect before `held` returns.
  void post(
      std::string_view path, std::string_view token, const std::string& name,
      const std::function<void()>& hold = [] {}) {
    post(path, token, R"({"model":"none","prompt":"a","query":"a","documents":["a"]})",
         [this, name, hold](const Reply& /*reply*/) {
           {
             const std::lock_guard lock(mutex_);
             answered_.push_back(name);
           }
           hold();
         });
  }
  std::vector<std::string> answered() {
    const std::lock_guard lock(mutex_);
    return answered_;
  }
  Result<service::Caller> caller_of(const Request& request, terms::Role role) {
    if (request.authorization.empty()) return make_error(Code::kUnauthenticated, "no token");
    terms::Peer peer;
    peer.token = request.authorization;
    peer.token_roles = *terms::parse_roles("inference");
    return service_.caller_of(role, {}, peer);
  }

  service::NoLog log_;
  runtime::ThreadDrivers drivers_;
  backend::BackendRegistry backends_;
  runtime::Engine engine_{backends_, drivers_, {}};
  service::Service service_{engine_, {}, {}, log_};
  std::mutex mutex_;
  std::vector<std::string> answered_;
  std::latch have_begun_{2}, first_{1}, second_{1};  // outlive the handler's threads
  CompletionsHandler handler_{
      service_,
      [this](const Request& request, terms::Role role) { return caller_of(request, role); },
      1 << 20};
};

TEST_F(CompletionsHandlerTest, ReadsNothingOfAClientThatIsNotKnown) {
  for (const char* path :
       {"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/v1/rerank"}) {
    int status = 0;
    std::latch is_answered(1);
    post(path, "", "no JSON", [&](const Reply& reply) {
      status = reply.status;
      is_answered.count_down();
    });
    is_answered.wait();
    EXPECT_EQ(status, 401) << path;
  }
}

TEST_F(CompletionsHandlerTest, AccountsTakeTurns) {
  const auto hold = [this](std::latch& until) {
    return [this, &until] {
      have_begun_.count_down();
      until.wait();
    };
  };
  post("/v1/rerank", "a", "a1", hold(first_));
  post("/v1/rerank", "a", "a2", hold(second_));
  have_begun_.wait();  // both threads have work
  answered_.clear();
  for (const char* name : {"a3", "a4", "a5"}) post("/v1/rerank", "a", name);
  post("/v1/completions", "b", "b1");
  post("/v1/rerank", "b", "b2");
  first_.count_down();
  EXPECT_TRUE(testing::eventually([&] { return answered().size() == 5; }));
  EXPECT_THAT(answered(), ElementsAre("a3", "b1", "a4", "b2", "a5"));
  second_.count_down();
}

}  // namespace
}  // namespace sluice::http

// Requests that a daemon keeps, from two connections of a session and one of another.
#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "rpc/client/client.h"
#include "rpc/testing/serving.h"
#include "runtime/testing/manual_driver.h"
#include "support/eventually.h"

namespace sluice::rpc {
namespace {

using sluice::testing::eventually;
using ::testing::HasSubstr;

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

/// Work is done when the test says so: `run` steps the engine.
class PostedRequestTest : public testing::ServingTest<runtime::ManualDrivers> {
 protected:
  PostedRequestTest() : ServingTest({}, system_clock()), first_(connect("")) {
    EXPECT_TRUE(first_->open_session("first").is_ok());
    second_ = connect(first_->session_token());
    const auto model = first_->load({}, package_);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    model_ = model->info.handle;
  }
  ~PostedRequestTest() override { stop(); }

  std::unique_ptr<client::Client> connect(const std::string& session_token) const {
    client::ClientOptions options;
    options.address = address();
    options.session_token = session_token;
    return client::Client::create(options).value();
  }

  Result<std::uint64_t> post(client::Client& client, const client::InferOptions& options = {}) {
    std::vector<float> x(4, 1);
    return client.post(model_, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}}, options);
  }
  static RuntimeCode poll(client::Client& client, std::uint64_t request) {
    return code_of(client.take_reply(request, 0).status());
  }
  void run() {
    drivers_.wait([&] { return service_.statistics(model_)->front().answered.size() == 1; },
                  kNoDeadline);
  }
  /// Steps the engine until the reply is there.
  Result<client::InferReply> wait(client::Client& client, std::uint64_t request) {
    std::atomic<bool> is_here = false;
    std::thread stepping([&] {
      while (!is_here) drivers_.step_all();
    });
    auto reply = client.take_reply(request, -1);
    is_here = true;
    stepping.join();
    return reply;
  }

  /// How a request ended, by the access log.
  class Ended {
   public:
    void set(const telemetry::RequestRecord& record) {
      const std::lock_guard lock(mutex_);
      record_ = Record{record.code, record.user, record.message};
    }
    struct Record {
      Code code = Code::kOk;
      std::string user;
      std::string message;
    };
    std::optional<Record> record() const {
      const std::lock_guard lock(mutex_);
      return record_;
    }

   private:
    mutable std::mutex mutex_;
    std::optional<Record> record_;
  };
  using RecordedEnd = std::shared_ptr<Ended>;
  /// Records the end of the next requests.
  RecordedEnd record() {
    auto end = std::make_shared<Ended>();
    service_.telemetry().set_access_sink([end](const auto& record) { end->set(*record); });
    return end;
  }

  std::unique_ptr<client::Client> first_;
  std::unique_ptr<client::Client> second_;
  std::uint64_t model_ = 0;
};

TEST_F(PostedRequestTest, ReplyIsTakenOnceFromAnyConnectionOfTheSession) {
  const std::uint64_t request = post(*first_).value();
  EXPECT_EQ(poll(*second_, request), RuntimeCode::kPending);
  run();
  const auto other = connect("");
  ASSERT_TRUE(other->open_session("other").is_ok());
  EXPECT_EQ(poll(*other, request), RuntimeCode::kInvalidHandle) << "another session's";
  const auto reply = second_->take_reply(request, 0);
  ASSERT_TRUE(reply.is_ok()) << reply.status().to_string();
  EXPECT_EQ(*static_cast<const float*>(reply->outputs.at(0).view.data), 2);
  // The daemon learns a moment later that the reply has arrived.
  EXPECT_TRUE(eventually([&] { return poll(*first_, request) != RuntimeCode::kPending; }));
  EXPECT_EQ(poll(*first_, request), RuntimeCode::kInvalidHandle) << "taken";
}

TEST_F(PostedRequestTest, WaitEndsWithTheReplyOrItsTime) {
  const std::uint64_t request = post(*second_).value();
  EXPECT_EQ(code_of(first_->take_reply(request, 1'000'000).status()), RuntimeCode::kPending);
  const auto reply = wait(*first_, request);
  EXPECT_TRUE(reply.is_ok()) << reply.status().to_string();
}

TEST_F(PostedRequestTest, AccessRecordNamesTheUser) {
  const RecordedEnd end = record();
  const std::uint64_t request = post(*first_).value();
  run();
  ASSERT_TRUE(eventually([&] { return end->record().has_value(); }));
  EXPECT_EQ(end->record()->code, Code::kOk);
  EXPECT_THAT(end->record()->user, HasSubstr("user "));
  EXPECT_EQ(poll(*first_, request), RuntimeCode::kOk);
}

TEST_F(PostedRequestTest, AccessRecordSaysWhyARequestWasRefused) {
  const RecordedEnd end = record();
  EXPECT_FALSE(post(*connect("")).is_ok());
  ASSERT_TRUE(eventually([&] { return end->record().has_value(); }));
  EXPECT_EQ(end->record()->code, Code::kPermissionDenied);
  EXPECT_THAT(end->record()->message, HasSubstr("session"));
  EXPECT_THAT(end->record()->user, HasSubstr("user "));
}

TEST_F(PostedRequestTest, CancelComesFromAnyConnectionOfTheSession) {
  const std::uint64_t request = post(*first_).value();
  ASSERT_TRUE(second_->cancel_request(request).is_ok());
  EXPECT_EQ(code_of(wait(*first_, request).status()), RuntimeCode::kCancelled);
  EXPECT_EQ(code_of(second_->take_reply(request, -1).status()), RuntimeCode::kInvalidHandle);
  EXPECT_EQ(code_of(second_->cancel_request(request)), RuntimeCode::kInvalidHandle);
}

TEST_F(PostedRequestTest, RequestKeepsItsTimeLimit) {
  client::InferOptions options;
  options.timeout_ns = 1;
  const auto request = post(*first_, options);
  const RuntimeCode code =
      code_of(request.is_ok() ? wait(*first_, *request).status() : request.status());
  EXPECT_EQ(code, RuntimeCode::kTimeout);
}

TEST_F(PostedRequestTest, SessionThatEndsTakesItsRequestsWithIt) {
  const std::uint64_t request = post(*first_).value();
  first_ = nullptr;
  EXPECT_TRUE(eventually([&] { return poll(*second_, request) != RuntimeCode::kPending; }));
  EXPECT_NE(poll(*second_, request), RuntimeCode::kOk);
}

TEST_F(PostedRequestTest, ClientWithoutASessionIsRefused) {
  const auto nobody = connect("");
  EXPECT_THAT(post(*nobody).status().message(), HasSubstr("session"));
}

}  // namespace
}  // namespace sluice::rpc

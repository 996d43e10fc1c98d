// Calls of a client of gRPC, against handlers that show what comes to them.
#include <gmock/gmock.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/server/door/door.h"
#include "rpc/wire/times.h"
#include "service/log.h"
#include "support/eventually.h"

namespace sluice::rpc::server {
namespace {

using grpc::StatusCode;
using sluice::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kLimitBytes = 1 << 20;

/// What happened to a call, in order.
struct Story {
  std::mutex mutex;
  std::vector<std::string> events;

  void add(std::string event) {
    const std::lock_guard lock(mutex);
    events.push_back(std::move(event));
  }
  bool is_over() {
    const std::lock_guard lock(mutex);
    return !events.empty() && events.back() == "done";
  }
};

/// Never ends by itself.
class Waiting final : public Reactor {
 public:
  Waiting(CallContext& context, Story& story) : Reactor(context), story_(story) {
    start_read(message_);
  }
  void on_read_done(bool is_ok) override {
    story_.add(is_ok ? "read" : "no more to read");
    if (is_ok) start_read(message_);
  }
  void on_cancel() override {
    story_.add("cancel");
    finish(grpc::Status::CANCELLED);
  }
  void on_done() override {
    story_.add("done");
    delete this;
  }

 private:
  Story& story_;
  v1::InferStreamRequest message_;
};

/// Sends messages until the client does not take any more.
class Pouring final : public Reactor {
 public:
  Pouring(CallContext& context, std::atomic<int>& num_written)
      : Reactor(context), num_written_(num_written) {
    message_.mutable_response()->add_outputs()->set_data(std::string(100'000, 'x'));
    start_write(message_);
  }
  void on_write_done(bool is_ok) override {
    if (!is_ok) return finish(grpc::Status::CANCELLED);
    ++num_written_;
    start_write(message_);
  }
  void on_done() override { delete this; }

 private:
  std::atomic<int>& num_written_;
  v1::InferStreamResponse message_;
};

struct TestHandlers {
  void GetServer(CallContext* context, const v1::GetServerRequest* /*request*/,
                 v1::GetServerResponse* response) {
    response->set_version(std::string(context->metadata("wanted")));
    context->add_initial_metadata("first", "1");
    context->add_trailing_metadata("last-bin", std::string("\0\xFF", 2));
    context->finish(grpc::Status::OK);
  }
  void GetHealth(CallContext* context, const v1::GetHealthRequest* /*request*/,
                 v1::GetHealthResponse* /*response*/) {
    context->finish({StatusCode::ABORTED, "100 %\n", "some details"});
  }
  void ListModels(CallContext* context, const v1::ListModelsRequest* /*request*/,
                  v1::ListModelsResponse* response) {
    response->add_models()->set_name(std::string(kLimitBytes, 'x'));
    context->finish(grpc::Status::OK);
  }
  void InferStream(CallContext* context) {
    if (context->metadata("pour").empty()) {
      new Waiting(*context, story);
    } else {
      new Pouring(*context, num_written);
    }
  }

  Story story;
  std::atomic<int> num_written = 0;
};

class CallTest : public ::testing::Test {
 protected:
  CallTest() {
    ServiceMethods<TestHandlers>(methods_, "sluice.v1.Runtime", handlers_)
        .add("GetServer", &TestHandlers::GetServer)
        .add("GetHealth", &TestHandlers::GetHealth)
        .add("ListModels", &TestHandlers::ListModels)
        .add_streams("InferStream", &TestHandlers::InferStream);
    EXPECT_TRUE(door_.start().is_ok());
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    door_.serve(ends[0], {"a client"}, "this test", /*is_trusted=*/true);
    channel_ = grpc::CreateInsecureChannelFromFd("calls", ends[1]);
    stub_ = v1::Runtime::NewStub(channel_);
  }

  TestHandlers handlers_;
  Methods methods_;
  service::NoLog log_;
  ConnectionLimits limits_{1, 1};
  std::shared_ptr<ByteBudget> memory_ = std::make_shared<ByteBudget>(4 * kLimitBytes);
  Door door_{CallSettings{methods_, kLimitBytes, memory_}, limits_, log_, nullptr};
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Runtime::Stub> stub_;
};

TEST_F(CallTest, MetadataGoesBothWays) {
  grpc::ClientContext context;
  context.AddMetadata("wanted", "this");
  v1::GetServerResponse response;
  ASSERT_TRUE(stub_->GetServer(&context, {}, &response).ok());
  EXPECT_EQ(response.version(), "this");
  EXPECT_EQ(context.GetServerInitialMetadata().find("first")->second, "1");
  const auto last = context.GetServerTrailingMetadata().find("last-bin");
  EXPECT_EQ(last->second, grpc::string_ref("\0\xFF", 2));
}

TEST_F(CallTest, StatusComesAsItWasSaid) {
  grpc::ClientContext context;
  v1::GetHealthResponse response;
  const grpc::Status status = stub_->GetHealth(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(), "100 %\n");
  EXPECT_EQ(status.error_details(), "some details");
}

TEST_F(CallTest, UnknownCallIsUnimplemented) {
  grpc::ClientContext context;
  v1::ListGroupsResponse response;
  const grpc::Status status = stub_->ListGroups(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("/sluice.v1.Runtime/ListGroups"));
}

TEST_F(CallTest, AnswerOverTheLimitIsAnError) {
  grpc::ClientContext context;
  v1::ListModelsResponse response;
  const grpc::Status status = stub_->ListModels(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("larger than max"));
}

TEST_F(CallTest, CancelComesBeforeTheEndAndOnce) {
  grpc::ClientContext context;
  const auto stream = stub_->InferStream(&context);
  ASSERT_TRUE(stream->Write({}));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(handlers_.story.mutex);
    return !handlers_.story.events.empty();
  }));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  ASSERT_TRUE(eventually([&] { return handlers_.story.is_over(); }));
  EXPECT_THAT(handlers_.story.events, ElementsAre("read", "cancel", "no more to read", "done"));
}

TEST_F(CallTest, DeadlineCancels) {
  grpc::ClientContext context;
  context.set_deadline(wire::after(50'000'000));
  const auto stream = stub_->InferStream(&context);
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(eventually([&] { return handlers_.story.is_over(); }));
  EXPECT_THAT(handlers_.story.events, ElementsAre("cancel", "no more to read", "done"));
}

TEST_F(CallTest, ShutdownEndsCallsAndWaitsForThem) {
  grpc::ClientContext context;
  const auto stream = stub_->InferStream(&context);
  ASSERT_TRUE(stream->Write({}));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(handlers_.story.mutex);
    return !handlers_.story.events.empty();
  }));
  door_.shutdown(0);
  EXPECT_TRUE(handlers_.story.is_over());
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(CallTest, AnswersGoOnAsTheClientReads) {
  grpc::ClientContext context;
  context.AddMetadata("pour", "1");
  const auto stream = stub_->InferStream(&context);
  v1::InferStreamResponse response;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.response().outputs(0).data().size(), 100'000U);
  }
  EXPECT_GE(handlers_.num_written.load(), 99);
  context.TryCancel();
  stream->Finish();
}

}  // namespace
}  // namespace sluice::rpc::server

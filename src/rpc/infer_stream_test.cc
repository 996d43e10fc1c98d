// Many requests on one call: replies in any order, cancellation, flow control at the limit, and
// streams that violate the rules.
#include "rpc/client/infer_stream.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "dispatch/model_ref.h"
#include "dispatch/testing/keeping_sink.h"
#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/client/client.h"
#include "rpc/testing/serving.h"
#include "rpc/wire/error.h"
#include "runtime/testing/manual_driver.h"
#include "support/eventually.h"

namespace sluice::rpc {
namespace {

using sluice::testing::eventually;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kMaxHeld = 4;

/// Work is done when the test says so: `run` steps the engine.
class InferStreamTest : public testing::ServingTest<runtime::ManualDrivers> {
 protected:
  InferStreamTest() : ServingTest(options(), system_clock()) {
    client_ = client::Client::create({.address = address()}).value();
    stub_ =
        v1::Runtime::NewStub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    terms::LoadOptions load;
    load.depth = 8;
    const auto model = client_->load(load, package_);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    model_ = model->info.handle;
  }
  ~InferStreamTest() override { stop(); }

  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.stream_requests = kMaxHeld;
    return options;
  }

  static std::int64_t answered(const terms::ModelStatistics& statistics) {
    std::int64_t sum = 0;
    for (const auto& [code, count] : statistics.answered) sum += count;
    return sum;
  }
  terms::ModelStatistics statistics() const { return service_.statistics(model_)->front(); }
  void wait_for_accepted(std::int64_t count) const {
    EXPECT_TRUE(eventually([&] { return statistics().accepted >= count; }));
  }

  Status send(client::InferStream& stream, std::uint64_t id, float value) {
    return send(stream, id, model_, value, {});
  }
  static Status send(client::InferStream& stream, std::uint64_t id, std::uint64_t model,
                     float value, const client::InferOptions& options) {
    std::vector<float> x(4, value);
    return stream.send(id, model, {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}}, options);
  }
  /// The next answer; steps the engine until there is one.
  client::StreamAnswer take(client::InferStream& stream) {
    std::atomic<bool> is_here = false;
    std::thread stepping([&] {
      while (!is_here) drivers_.step_all();
    });
    auto answer = stream.next();
    is_here = true;
    stepping.join();
    EXPECT_TRUE(answer.is_ok()) << answer.status().to_string();
    return std::move(answer.value().value());
  }
  static float first_of(const client::StreamAnswer& answer) {
    EXPECT_TRUE(answer.reply.is_ok()) << answer.reply.status().to_string();
    return *static_cast<const float*>(answer.reply->outputs.at(0).view.data);
  }

  std::unique_ptr<client::Client> client_;
  std::unique_ptr<v1::Runtime::Stub> stub_;
  std::uint64_t model_ = 0;
};

RuntimeCode stream_code_of(const Status& status) { return terms::runtime_code_of(status); }

TEST_F(InferStreamTest, RepliesCarryTheirRequestIds) {
  const auto stream = client_->open_stream().value();
  std::map<std::uint64_t, float> wanted;
  for (const std::uint64_t id : {70U, 3U, 900U}) {
    ASSERT_TRUE(send(*stream, id, static_cast<float>(id)).is_ok());
    wanted[id] = static_cast<float>(id) + 1;  // y = relu(x + [1, ...])
  }
  std::map<std::uint64_t, float> got;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const client::StreamAnswer answer = take(*stream);
    got[answer.id] = first_of(answer);
  }
  EXPECT_EQ(got, wanted);
}

TEST_F(InferStreamTest, IdMayBeUsedAgainAfterItsAnswer) {
  const auto stream = client_->open_stream().value();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(send(*stream, 5, static_cast<float>(i)).is_ok());
    EXPECT_EQ(first_of(take(*stream)), static_cast<float>(i + 1));
  }
}

TEST_F(InferStreamTest, CancelAnswersItsRequestOnly) {
  const auto stream = client_->open_stream().value();
  for (std::uint64_t id = 1; id <= kMaxHeld; ++id) ASSERT_TRUE(send(*stream, id, 1).is_ok());
  ASSERT_TRUE(stream->cancel(77).is_ok()) << "of nobody: nothing happens";
  ASSERT_TRUE(stream->cancel(2).is_ok());  // the daemon reads a cancel while the stream is full
  const auto cancelled = stream->next();   // no thread steps the engine
  ASSERT_TRUE(cancelled.is_ok()) << cancelled.status().to_string();
  EXPECT_EQ((*cancelled)->id, 2U);
  EXPECT_EQ(stream_code_of((*cancelled)->reply.status()), RuntimeCode::kCancelled);
  std::vector<std::uint64_t> rest;
  for (int i = 0; i < 3; ++i) {
    const client::StreamAnswer answer = take(*stream);
    EXPECT_EQ(first_of(answer), 2);
    rest.push_back(answer.id);
  }
  EXPECT_THAT(rest, UnorderedElementsAre(1, 3, 4));
}

TEST_F(InferStreamTest, HalfClosedStreamStillGetsItsReplies) {
  const auto stream = client_->open_stream().value();
  for (std::uint64_t id = 0; id < 3; ++id) ASSERT_TRUE(send(*stream, id, 1).is_ok());
  stream->close();
  EXPECT_EQ(send(*stream, 9, 1).code(), Code::kUnavailable);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first_of(take(*stream)), 2);
  const auto end = stream->next();
  ASSERT_TRUE(end.is_ok()) << end.status().to_string();
  EXPECT_FALSE(end->has_value());
}

TEST_F(InferStreamTest, StreamWithoutRequestsEndsWell) {
  const auto stream = client_->open_stream().value();
  stream->close();
  const auto end = stream->next();
  ASSERT_TRUE(end.is_ok()) << end.status().to_string();
  EXPECT_FALSE(end->has_value());
}

TEST_F(InferStreamTest, BrokenStreamCancelsRequestsInFlight) {
  auto stream = client_->open_stream().value();
  for (std::uint64_t id = 0; id < 3; ++id) ASSERT_TRUE(send(*stream, id, 1).is_ok());
  wait_for_accepted(3);
  stream = nullptr;
  EXPECT_TRUE(
      eventually([&] { return answered(statistics()) >= 3; }));  // no thread steps the engine
  for (const auto& [code, count] : statistics().answered) {
    EXPECT_EQ(count, code == RuntimeCode::kCancelled ? 3 : 0);
  }
}

TEST_F(InferStreamTest, InFlightLimitHoldsAndAllRequestsAreAnswered) {
  const auto stream = client_->open_stream().value();
  constexpr std::uint64_t kCount = 40;
  std::thread sender([&] {
    for (std::uint64_t id = 0; id < kCount; ++id) {
      EXPECT_TRUE(send(*stream, id, static_cast<float>(id)).is_ok());
    }
    stream->close();
  });
  wait_for_accepted(kMaxHeld);
  float sum = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const std::int64_t done = answered(statistics());
    EXPECT_LE(statistics().accepted - done, kMaxHeld);
    sum += first_of(take(*stream));
  }
  sender.join();
  EXPECT_EQ(sum, kCount * (kCount - 1) / 2 + kCount);
  const auto end = stream->next();
  ASSERT_TRUE(end.is_ok()) << end.status().to_string();
  EXPECT_EQ(statistics().refused, 0) << "held back, not refused";
}

TEST_F(InferStreamTest, DaemonReportsItsInFlightLimit) {
  EXPECT_EQ(client_->server()->stream_requests, kMaxHeld);
}

TEST_F(InferStreamTest, RequestThatIsRefusedSpoilsNoOther) {
  const auto stream = client_->open_stream().value();
  ASSERT_TRUE(send(*stream, 1, 1).is_ok());
  const auto refusal_of = [&](std::uint64_t id) {
    const auto answer = stream->next();  // no thread steps the engine
    EXPECT_TRUE(answer.is_ok()) << answer.status().to_string();
    EXPECT_EQ((*answer)->id, id);
    return (*answer)->reply.status();
  };
  ASSERT_TRUE(send(*stream, 2, /*model=*/0x7'0000'0001, 1, {}).is_ok());
  EXPECT_EQ(stream_code_of(refusal_of(2)), RuntimeCode::kInvalidHandle);
  ASSERT_TRUE(stream->send(3, model_, {}).is_ok());
  const Status missing = refusal_of(3);
  EXPECT_EQ(stream_code_of(missing), RuntimeCode::kBadInput);
  EXPECT_THAT(missing.message(), HasSubstr("input \"x\" is missing"));
  ASSERT_TRUE(send(*stream, 4, model_, 1, {.timeout_ns = -1}).is_ok());
  EXPECT_EQ(stream_code_of(refusal_of(4)), RuntimeCode::kInvalid);
  std::vector<float> few(2, 0);
  ASSERT_TRUE(
      stream->send(5, model_, {{"x", {few.data(), 8, ir::ElementType::kF32, {4}}}}).is_ok());
  EXPECT_EQ(stream_code_of(refusal_of(5)), RuntimeCode::kBadInput);
  EXPECT_EQ(first_of(take(*stream)), 2);
}

TEST_F(InferStreamTest, PostedRequestIsRefused) {
  grpc::ClientContext context;
  const auto call = stub_->InferStream(&context);
  v1::InferStreamRequest message;
  message.set_id(7);
  message.mutable_request()->set_model(model_);
  message.mutable_request()->set_is_posted(true);
  ASSERT_TRUE(call->Write(message));
  v1::InferStreamResponse answer;
  ASSERT_TRUE(call->Read(&answer));
  EXPECT_EQ(answer.id(), 7U);
  EXPECT_THAT(answer.error().message(), HasSubstr("is not posted"));
  call->WritesDone();
  EXPECT_TRUE(call->Finish().ok()) << "the stream goes on";
}

TEST_F(InferStreamTest, RequestsDeadlineIsItsOwn) {
  const auto stream = client_->open_stream().value();
  ASSERT_TRUE(send(*stream, 1, model_, 1, {.timeout_ns = 1}).is_ok());
  const client::StreamAnswer late = take(*stream);
  EXPECT_EQ(stream_code_of(late.reply.status()), RuntimeCode::kTimeout);
  ASSERT_TRUE(send(*stream, 2, 1).is_ok());
  EXPECT_EQ(first_of(take(*stream)), 2);
}

TEST_F(InferStreamTest, DuplicateRequestIdEndsTheStreamAndCancelsBoth) {
  const auto stream = client_->open_stream().value();
  ASSERT_TRUE(send(*stream, 8, 1).is_ok());
  ASSERT_TRUE(send(*stream, 8, 1).is_ok());
  const auto end = stream->next();
  ASSERT_FALSE(end.is_ok());
  EXPECT_EQ(stream_code_of(end.status()), RuntimeCode::kInvalid);
  EXPECT_THAT(end.status().message(), HasSubstr("request 8: another one with this id"));
  EXPECT_TRUE(eventually([&] { return answered(statistics()) >= 1; }));
}

TEST_F(InferStreamTest, EmptyMessageEndsTheStream) {
  grpc::ClientContext context;
  const auto call = stub_->InferStream(&context);
  ASSERT_TRUE(call->Write(v1::InferStreamRequest()));
  v1::InferStreamResponse none;
  EXPECT_FALSE(call->Read(&none));
  const Status status = wire::from_grpc(call->Finish());
  EXPECT_EQ(stream_code_of(status), RuntimeCode::kInvalid) << status.to_string();
}

TEST_F(InferStreamTest, MessageOverTheLimitEndsTheStream) {
  const auto stream = client_->open_stream().value();
  ASSERT_TRUE(send(*stream, 1, 1).is_ok());
  std::vector<float> huge(1 << 19, 0);
  const Status sent =
      stream->send(2, model_, {{"x", {huge.data(), 4 << 19, ir::ElementType::kF32, {1 << 19}}}});
  (void)sent;  // this call or the reader may notice the end
  const auto end = stream->next();
  ASSERT_FALSE(end.is_ok());
  EXPECT_EQ(end.status().code(), Code::kResourceExhausted) << end.status().to_string();
  EXPECT_TRUE(eventually([&] { return answered(statistics()) >= 1; }));
}

TEST_F(InferStreamTest, UnknownSessionCannotStream) {
  grpc::ClientContext context;
  context.AddMetadata("sluice-session", "x");
  const auto call = stub_->InferStream(&context);
  v1::InferStreamResponse none;
  EXPECT_FALSE(call->Read(&none));
  EXPECT_EQ(wire::from_grpc(call->Finish()).code(), Code::kUnauthenticated);
}

/// The end of the call and its cancellation meet: with gRPC, a call that ends twice ends the
/// daemon.
TEST_F(InferStreamTest, RefusedStreamThatItsClientCancelsEndsOnce) {
  for (int i = 0; i < 300; ++i) {
    grpc::ClientContext context;
    context.AddMetadata("sluice-session", "x");
    const auto call = stub_->InferStream(&context);
    context.TryCancel();
    EXPECT_FALSE(call->Finish().ok());
  }
  EXPECT_TRUE(client_->server().is_ok());
}

TEST_F(InferStreamTest, ObservationEndsWithTheAnswerThoughAShadowKeepsTheRequest) {
  const auto shadow_sink = std::make_shared<dispatch::testing::KeepingSink>();
  const auto shadow = std::make_shared<dispatch::ModelRef>(shadow_sink, std::vector<bool>(), false);
  const auto administrator =
      service_.caller_of(terms::Role::kInference, "", {"unix:/s", 1, 0, 0}).value();
  const auto model = service_.find_model(administrator, terms::ModelHandle(model_)).value();
  model->set_shadow(shadow);
  const auto num_ended = std::make_shared<std::atomic<int>>(0);
  service_.telemetry().set_access_sink([num_ended](const auto& /*record*/) { ++*num_ended; });
  {
    const auto stream = client_->open_stream().value();
    ASSERT_TRUE(send(*stream, 1, 1).is_ok());
    EXPECT_EQ(first_of(take(*stream)), 2);
    EXPECT_TRUE(eventually([&] { return shadow_sink->size() == 1; }));
    EXPECT_TRUE(eventually([&] { return *num_ended > 0; })) << "it waits for the shadow";
  }
  model->set_shadow(nullptr);
  for (std::size_t i = 0; i < shadow_sink->size(); ++i) shadow_sink->answer(i);
  shadow_sink->requests.clear();
}

}  // namespace
}  // namespace sluice::rpc

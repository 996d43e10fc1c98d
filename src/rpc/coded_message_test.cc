// Clients that compress all messages of a channel, as those of Go and Java do.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "proto/health/health.grpc.pb.h"
#include "proto/open_inference/service.grpc.pb.h"
#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using google::protobuf::DescriptorPool;
using grpc::StatusCode;
using ::testing::HasSubstr;

/// A message of any call: it has a field that none knows.
template <typename Message = v1::GetHealthRequest>
Message padded(std::size_t bytes, Message message = {}) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
      1007, std::string(bytes, 'a'));
  return message;
}
std::string unknown_field(std::size_t bytes) { return padded(bytes).SerializeAsString(); }

class CodedMessageTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  CodedMessageTest() : ServingTest({}) {
    server::ServerOptions wanted;
    wanted.addresses = {{false, "", "localhost", 0}};
    wanted.max_message_bytes = 6 << 20;
    wanted.tokens = {{"a secret"}};
    tcp_ = server::Server::start(service_, repository_, wanted).value();
    grpc::ChannelArguments arguments;
    arguments.SetCompressionAlgorithm(GRPC_COMPRESS_GZIP);
    channel_ = grpc::CreateCustomChannel(tcp_->addresses().front(),
                                         grpc::InsecureChannelCredentials(), arguments);
  }
  ~CodedMessageTest() override {
    stop();
    tcp_->shutdown(0);
  }

  static void prepare(grpc::ClientContext& context, const std::string& token) {
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  }

  /// Sends any bytes, as a message.
  grpc::Status ask(const std::string& method, const std::string& message,
                   const std::string& token = "a secret") {
    grpc::GenericStub stub(channel_);
    const grpc::Slice slice(message);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    prepare(context, token);
    // Both threads own the promise: set_value may still run when the waiting thread goes on.
    const auto done = std::make_shared<std::promise<grpc::Status>>();
    stub.UnaryCall(&context, method, {}, &request, &response,
                   [done](grpc::Status status) { done->set_value(std::move(status)); });
    return done->get_future().get();
  }

  /// Names of all calls with one message each way: "/sluice.v1.Runtime/GetServer".
  static std::vector<std::string> unary_methods() {
    std::vector<std::string> methods;
    for (const char* name :
         {"sluice.v1.Runtime", "inference.GRPCInferenceService", "grpc.health.v1.Health"}) {
      const auto* service = DescriptorPool::generated_pool()->FindServiceByName(name);
      for (int i = 0; i < service->method_count(); ++i) {
        const auto& method = *service->method(i);
        if (method.client_streaming() || method.server_streaming()) continue;
        methods.push_back("/" + service->full_name() + "/" + method.name());
      }
    }
    return methods;
  }

  /// Whether the call needs no token.
  static bool is_for_anybody(const std::string& method) {
    return method == "/grpc.health.v1.Health/Check" ||
           method == "/inference.GRPCInferenceService/ServerLive" ||
           method == "/inference.GRPCInferenceService/ServerReady";
  }

  std::unique_ptr<server::Server> tcp_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(CodedMessageTest, EveryCallReadsCompressedMessages) {
  const auto methods = unary_methods();
  EXPECT_GT(methods.size(), 35U);
  for (const std::string& method : methods) {
    const std::string message = unknown_field(is_for_anybody(method) ? 3000 : 10'000);
    const grpc::Status status = ask(method, message);
    EXPECT_THAT(status.error_message(), ::testing::Not(HasSubstr("has no call"))) << method;
    EXPECT_THAT(status.error_message(), ::testing::Not(HasSubstr("is no message"))) << method;
  }
}

TEST_F(CodedMessageTest, SenderIsAskedForBeforeAnyCallInflates) {
  const std::string bomb = unknown_field(7 << 20);
  for (const std::string& method : unary_methods()) {
    if (is_for_anybody(method)) continue;
    const grpc::Status status = ask(method, bomb, "another secret");
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << method;
  }
}

TEST_F(CodedMessageTest, EveryCallBoundsWhatComesOut) {
  const std::string bomb = unknown_field(7 << 20);
  for (const std::string& method : unary_methods()) {
    const grpc::Status status = ask(method, bomb);
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("when it is inflated")) << method;
  }
  // Messages with tensors may be larger than others.
  const std::string large = unknown_field(5 << 20);
  for (const auto* method : {"/sluice.v1.Runtime/Infer", "/sluice.v1.Runtime/PutTensor",
                             "/inference.GRPCInferenceService/ModelInfer"}) {
    EXPECT_NE(ask(method, large).error_code(), StatusCode::RESOURCE_EXHAUSTED) << method;
  }
  EXPECT_EQ(ask("/sluice.v1.Runtime/ListModels", large).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(CodedMessageTest, CompressedBytesThatAreNoMessageAreRefused) {
  for (const std::string& method : unary_methods()) {
    if (is_for_anybody(method)) continue;  // of 4096 bytes
    const grpc::Status status = ask(method, std::string(10'000, '\xff'));
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << method;
  }
}

TEST_F(CodedMessageTest, HealthAnswersCompressedRequestsOfAnybody) {
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckRequest request;
  const auto check = [&] {
    grpc::ClientContext context;
    prepare(context, "");
    grpc::health::v1::HealthCheckResponse response;
    return health->Check(&context, request, &response);
  };
  EXPECT_TRUE(check().ok());
  request.set_service(std::string(1000, 'a'));
  EXPECT_EQ(check().error_code(), StatusCode::UNAUTHENTICATED);
  request.set_service(std::string(1 << 20, 'a'));
  EXPECT_EQ(check().error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(CodedMessageTest, ModelIsUploadedAndComputesThroughAChannelThatCompresses) {
  const auto stub = v1::Runtime::NewStub(channel_);
  v1::LoadModelResponse loaded;
  {
    const std::string package = read_text_file(package_, 1 << 20).value();
    grpc::ClientContext context;
    prepare(context, "a secret");
    const auto writer = stub->LoadModel(&context, &loaded);
    v1::LoadModelRequest part;
    part.mutable_options()->set_upload_bytes(package.size());
    EXPECT_TRUE(writer->Write(padded(10'000, part)));
    part.set_chunk(package);
    EXPECT_TRUE(writer->Write(part));
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  v1::InferRequest request;
  request.set_model(loaded.model().handle());
  v1::Tensor& x = *request.add_inputs();
  x.set_name("x");
  x.set_element_type(1);
  x.add_shape(4);
  x.set_data(std::string(16, '\0'));
  request = padded(10'000, request);
  {
    grpc::ClientContext context;
    prepare(context, "a secret");
    v1::InferResponse response;
    const grpc::Status status = stub->Infer(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.outputs(0).data().size(), 16U);
  }
  grpc::ClientContext context;
  prepare(context, "a secret");
  const auto stream = stub->InferStream(&context);
  v1::InferStreamRequest message;
  v1::InferStreamResponse response;
  for (int id = 1; id < 4; ++id) {
    message.set_id(id);
    *message.mutable_request() = request;
    ASSERT_TRUE(stream->Write(message));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.response().outputs(0).data().size(), 16U);
  }
  message.mutable_request()->mutable_inputs(0)->set_data(std::string(32 << 20, 'a'));
  ASSERT_TRUE(stream->Write(message));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(stream->Finish().error_message(), HasSubstr("when it is inflated"));
}

}  // namespace
}  // namespace sluice::rpc

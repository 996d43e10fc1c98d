// gRPC's server reflection, as grpcurl and graphical clients ask it.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "proto/reflection/v1/reflection.grpc.pb.h"
#include "proto/reflection/v1alpha/reflection.grpc.pb.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

struct V1 {
  using Service = grpc::reflection::v1::ServerReflection;
  using Request = grpc::reflection::v1::ServerReflectionRequest;
  using Response = grpc::reflection::v1::ServerReflectionResponse;
};
struct V1Alpha {
  using Service = grpc::reflection::v1alpha::ServerReflection;
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;
};

template <typename Version>
class ReflectionTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  using Request = typename Version::Request;
  using Response = typename Version::Response;

  ReflectionTest() : ServingTest({}) {
    stub_ = Version::Service::NewStub(
        grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    stream_ = stub_->ServerReflectionInfo(&context_);
  }
  ~ReflectionTest() override { stop(); }

  Response ask(const Request& request) {
    Response response;
    EXPECT_TRUE(stream_->Write(request));
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }

  grpc::ClientContext context_;
  std::unique_ptr<typename Version::Service::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
};

using Versions = ::testing::Types<V1, V1Alpha>;
TYPED_TEST_SUITE(ReflectionTest, Versions);

/// As a client does that knows nothing of the protocol: the files that come make all messages.
TYPED_TEST(ReflectionTest, ListedServicesComeWithAllTheirMessages) {
  typename TestFixture::Request request;
  request.set_list_services("*");
  const auto listed = this->ask(request);
  std::vector<std::string> names;
  for (const auto& service : listed.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, Contains("inference.GRPCInferenceService"));
  EXPECT_THAT(names, Contains("sluice.v1.Runtime"));
  for (const std::string& name : names) {
    request.set_file_containing_symbol(name);
    const auto answer = this->ask(request);
    EXPECT_EQ(answer.original_request().file_containing_symbol(), name);
    google::protobuf::DescriptorPool pool;
    const auto& files = answer.file_descriptor_response().file_descriptor_proto();
    // Each file stands before those that it needs.
    for (auto it = files.rbegin(); it != files.rend(); ++it) {
      google::protobuf::FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(*it));
      ASSERT_NE(pool.BuildFile(file), nullptr) << file.name();
    }
    const auto* service = pool.FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    EXPECT_GT(service->method_count(), 0);
  }
}

TYPED_TEST(ReflectionTest, FilesHaveTheirNames) {
  typename TestFixture::Request request;
  request.set_file_containing_symbol("inference.ModelInferRequest.InferInputTensor");
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(
      file.ParseFromString(this->ask(request).file_descriptor_response().file_descriptor_proto(0)));
  request.set_file_by_filename(file.name());
  EXPECT_EQ(this->ask(request).file_descriptor_response().file_descriptor_proto(0),
            file.SerializeAsString());
}

TYPED_TEST(ReflectionTest, WhatIsNotThereIsAnErrorAndTheStreamGoesOn) {
  typename TestFixture::Request request;
  for (const auto* symbol : {"", ".", "inference.Absent"}) {
    request.set_file_containing_symbol(symbol);
    EXPECT_NE(this->ask(request).error_response().error_code(), 0) << symbol;
  }
  request.set_file_by_filename("/etc/passwd");
  EXPECT_EQ(this->ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.mutable_file_containing_extension()->set_containing_type("inference.ModelInferRequest");
  EXPECT_EQ(this->ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(this->ask({}).error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_list_services("*");
  EXPECT_THAT(this->ask(request).error_response().error_message(), IsEmpty());
}

TYPED_TEST(ReflectionTest, LongRequestsEndTheStream) {
  typename TestFixture::Request request;
  request.set_host(std::string(5000, 'h'));
  EXPECT_TRUE(this->stream_->Write(request));
  typename TestFixture::Response response;
  EXPECT_FALSE(this->stream_->Read(&response));
  EXPECT_EQ(this->stream_->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sluice::rpc

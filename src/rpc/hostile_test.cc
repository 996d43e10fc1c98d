// Every call with fields that are missing, wrong, huge or hostile: each gets an error that names
// the problem, and the server continues.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>

#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/testing/serving.h"
#include "rpc/wire/error.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kStale = 0x7'0000'0001;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

class HostileTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  HostileTest() : ServingTest(options()) {
    stub_ =
        v1::Runtime::NewStub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    model_ = load(package_);
  }
  ~HostileTest() override {
    // Whatever came before, the server still answers and its model still runs.
    EXPECT_TRUE(infer(good_request()).is_ok());
    stop();
  }

  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.max_upload_bytes = 1 << 20;
    options.upload_idle_ns = 300'000'000;
    return options;
  }

  std::uint64_t load(const std::string& path) {
    v1::LoadModelRequest request;
    request.mutable_options()->set_path(path);
    v1::LoadModelResponse response;
    const Status status = load({request}, response);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    return response.model().handle();
  }

  Status load(const std::vector<v1::LoadModelRequest>& parts, v1::LoadModelResponse& response) {
    grpc::ClientContext context;
    const auto writer = stub_->LoadModel(&context, &response);
    for (const v1::LoadModelRequest& part : parts) {
      if (!writer->Write(part)) break;
    }
    writer->WritesDone();
    return wire::from_grpc(writer->Finish());
  }

  template <typename Request, typename Response>
  Status call(grpc::Status (v1::Runtime::Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
              const Request& request, const std::string& token = "") {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("sluice-session", token);
    Response response;
    return wire::from_grpc((stub_.get()->*method)(&context, request, &response));
  }

  Status infer(const v1::InferRequest& request) { return call(&v1::Runtime::Stub::Infer, request); }

  /// Model add_relu takes x, f32[4].
  v1::InferRequest good_request() const {
    v1::InferRequest request;
    request.set_model(model_);
    v1::Tensor& x = *request.add_inputs();
    x.set_name("x");
    x.set_element_type(1);
    x.add_shape(4);
    x.set_data(std::string(16, '\0'));
    return request;
  }

  std::unique_ptr<v1::Runtime::Stub> stub_;
  std::uint64_t model_ = 0;
};

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

TEST_F(HostileTest, MismatchedRequestsAreBadInputNamingTheTensor) {
  struct Case {
    const char* what;
    std::function<void(v1::InferRequest&)> spoil;
    const char* says;
  };
  const auto x = [](v1::InferRequest& request) -> v1::Tensor& {
    return *request.mutable_inputs(0);
  };
  const Case cases[] = {
      {"none", [](auto& r) { r.clear_inputs(); }, "input \"x\" is missing"},
      {"no name", [&](auto& r) { x(r).clear_name(); }, "no such input"},
      {"another name", [&](auto& r) { x(r).set_name("y"); }, "the model takes \"x\""},
      {"a long name", [&](auto& r) { x(r).set_name(std::string(100'000, 'n')); }, "no such input"},
      {"twice", [](auto& r) { *r.add_inputs() = r.inputs(0); }, "came twice"},
      {"no type", [&](auto& r) { x(r).clear_element_type(); }, "0 is no element type"},
      {"type -1", [&](auto& r) { x(r).set_element_type(-1); }, "-1 is no element type"},
      {"type 99", [&](auto& r) { x(r).set_element_type(99); }, "99 is no element type"},
      {"i32", [&](auto& r) { x(r).set_element_type(6); }, "f32[4]"},
      {"f64", [&](auto& r) { x(r).set_element_type(11); }, "bytes"},
      {"string", [&](auto& r) { x(r).set_element_type(8); }, "x"},
      {"no shape", [&](auto& r) { x(r).clear_shape(); }, "bytes"},
      {"[4,1]", [&](auto& r) { x(r).add_shape(1); }, "f32[4]"},
      {"[-4]", [&](auto& r) { x(r).set_shape(0, -4); }, "negative"},
      {"[2^63-1]", [&](auto& r) { x(r).set_shape(0, kMaxInt64); }, "bytes"},
      {"[-2^63]", [&](auto& r) { x(r).set_shape(0, kLeast); }, "negative"},
      {"overflow", [&](auto& r) { x(r).add_shape(kMaxInt64); }, "too large"},
      {"100,000 dimensions",
       [&](auto& r) {
         for (int i = 0; i < 100'000; ++i) x(r).add_shape(1);
       },
       "dimensions"},
      {"[0]", [&](auto& r) { x(r).set_shape(0, 0); }, "bytes"},
      {"[0] without bytes",
       [&](auto& r) {
         x(r).set_shape(0, 0);
         x(r).clear_data();
       },
       "f32[4]"},
      {"no bytes", [&](auto& r) { x(r).clear_data(); }, "0 came"},
      {"15 bytes", [&](auto& r) { x(r).set_data(std::string(15, 'x')); }, "15 came"},
      {"17 bytes", [&](auto& r) { x(r).set_data(std::string(17, 'x')); }, "17 came"},
  };
  for (const Case& one : cases) {
    v1::InferRequest request = good_request();
    one.spoil(request);
    const Status status = infer(request);
    EXPECT_EQ(code_of(status), RuntimeCode::kBadInput) << one.what << ": " << status.to_string();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << one.what;
    EXPECT_THAT(status.message(), HasSubstr(one.says)) << one.what;
  }
}

TEST_F(HostileTest, UnknownHandlesAreInvalidInEveryCall) {
  using Stub = v1::Runtime::Stub;
  for (const std::uint64_t handle : {std::uint64_t{0}, std::uint64_t{1}, kStale, kHuge}) {
    v1::InferRequest infer_request = good_request();
    infer_request.set_model(handle);
    v1::StartModelRequest start;
    start.set_model(handle);
    v1::StopModelRequest stop;
    stop.set_model(handle);
    stop.set_drain_ns(kMaxInt64);
    v1::ResetModelRequest reset;
    reset.set_model(handle);
    v1::UnloadModelRequest unload;
    unload.set_model(handle);
    unload.set_drain_ns(kLeast);
    v1::DestroyGroupRequest destroy;
    destroy.set_group(handle == 1 ? 77 : handle);  // 1 is the model's own
    v1::CloseSessionRequest close;
    close.set_session(handle);
    for (const Status& status :
         {infer(infer_request), call(&Stub::StartModel, start), call(&Stub::StopModel, stop),
          call(&Stub::ResetModel, reset), call(&Stub::UnloadModel, unload),
          call(&Stub::DestroyGroup, destroy), call(&Stub::CloseSession, close)}) {
      EXPECT_EQ(code_of(status), RuntimeCode::kInvalidHandle) << status.to_string();
      EXPECT_EQ(status.code(), Code::kNotFound);
    }
    if (handle == 0) continue;  // lists everything
    v1::ListModelsRequest list;
    list.set_model(handle);
    v1::GetStatisticsRequest statistics;
    statistics.set_model(handle);
    EXPECT_EQ(code_of(call(&Stub::ListModels, list)), RuntimeCode::kInvalidHandle);
    EXPECT_EQ(code_of(call(&Stub::GetStatistics, statistics)), RuntimeCode::kInvalidHandle);
  }
}

TEST_F(HostileTest, ImpossibleGroupRequestsAreRefused) {
  struct Case {
    std::function<void(v1::CreateGroupRequest&)> set;
    RuntimeCode code;
  };
  const Case cases[] = {
      {[](auto& r) { r.set_num_cores(-1); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.set_num_cores(1 << 30); }, RuntimeCode::kNotEnoughCores},
      {[](auto& r) { r.set_num_devices(-7); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.set_num_devices(1 << 30); }, RuntimeCode::kNotEnoughCores},
      {[](auto& r) { r.set_memory_bytes(-1); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.mutable_first()->set_device(-1); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.mutable_first()->set_device(9); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.mutable_first()->set_core(1 << 30); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.add_only_devices(-1); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.add_only_devices(1 << 30); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.add_only_bus_addresses(std::string(10'000, 'a')); }, RuntimeCode::kInvalid},
      {[](auto& r) { r.set_kind("quantum"); }, RuntimeCode::kNotEnoughCores},
      {[](auto& r) { r.add_features("none has it"); }, RuntimeCode::kNotEnoughCores},
  };
  int number = 0;
  for (const Case& one : cases) {
    v1::CreateGroupRequest request;
    one.set(request);
    const Status status = call(&v1::Runtime::Stub::CreateGroup, request);
    EXPECT_EQ(code_of(status), one.code) << "case " << number << ": " << status.to_string();
    EXPECT_FALSE(status.message().empty());
    ++number;
  }
}

v1::LoadModelRequest options_of(std::uint64_t upload_bytes) {
  v1::LoadModelRequest part;
  part.mutable_options()->set_upload_bytes(upload_bytes);
  return part;
}

v1::LoadModelRequest chunk_of(std::string bytes) {
  v1::LoadModelRequest part;
  part.set_chunk(std::move(bytes));
  return part;
}

v1::LoadModelRequest options_with_path(const std::string& path) {
  v1::LoadModelRequest part;
  part.mutable_options()->set_path(path);
  return part;
}

TEST_F(HostileTest, InconsistentUploadsAreRefusedAndLeaveNothing) {
  struct Case {
    const char* what;
    std::vector<v1::LoadModelRequest> parts;
    RuntimeCode code;
  };
  const Case cases[] = {
      {"nothing", {}, RuntimeCode::kInvalid},
      {"an empty part", {v1::LoadModelRequest()}, RuntimeCode::kInvalid},
      {"a chunk first", {chunk_of("x")}, RuntimeCode::kInvalid},
      {"options twice", {options_of(10), options_of(10)}, RuntimeCode::kInvalid},
      {"no bytes announced", {options_of(0)}, RuntimeCode::kInvalid},
      {"too many announced", {options_of(kHuge)}, RuntimeCode::kOutOfResources},
      {"over the limit", {options_of((1 << 20) + 1)}, RuntimeCode::kOutOfResources},
      {"fewer than announced", {options_of(10), chunk_of("12345")}, RuntimeCode::kInvalid},
      {"more than announced", {options_of(4), chunk_of("12345")}, RuntimeCode::kInvalid},
      {"no package", {options_of(5), chunk_of("12345")}, RuntimeCode::kInvalid},
      {"zeros", {options_of(65536), chunk_of(std::string(65536, '\0'))}, RuntimeCode::kInvalid},
  };
  for (const Case& one : cases) {
    v1::LoadModelResponse response;
    const Status status = load(one.parts, response);
    EXPECT_EQ(code_of(status), one.code) << one.what << ": " << status.to_string();
  }
  EXPECT_EQ(service_.list_models(0)->size(), 1U);
  EXPECT_EQ(service_.server().num_free_cores, 3);
}

TEST_F(HostileTest, InvalidLoadOptionsAreRefusedAndLeaveNothing) {
  const auto with_depth = [&](std::int32_t depth) {
    v1::LoadModelRequest part = options_with_path(package_);
    part.mutable_options()->set_depth(depth);
    return part;
  };
  const auto with_queue_limit = [&](std::int32_t limit) {
    v1::LoadModelRequest part = options_with_path(package_);
    part.mutable_options()->set_queue_limit(limit);
    return part;
  };
  const auto on_group = [&](std::uint64_t group) {
    v1::LoadModelRequest part = options_with_path(package_);
    part.mutable_options()->set_group(group);
    return part;
  };
  v1::LoadModelRequest no_source;
  no_source.mutable_options()->set_name("m");
  constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();
  const std::string long_path = "/" + std::string(100'000, 'p');
  const std::string path_with_zero = package_ + std::string(1, '\0');
  struct Case {
    const char* what;
    v1::LoadModelRequest part;
    RuntimeCode code;
  };
  const Case cases[] = {
      {"no source", no_source, RuntimeCode::kInvalid},
      {"a path elsewhere", options_with_path("/etc/passwd"), RuntimeCode::kInvalid},
      {"a path with a zero", options_with_path(path_with_zero), RuntimeCode::kInvalid},
      {"a long path", options_with_path(long_path), RuntimeCode::kInvalid},
      {"depth -1", with_depth(-1), RuntimeCode::kInvalid},
      {"depth 2^31-1", with_depth(kMaxInt), RuntimeCode::kInvalid},
      {"queue_limit -1", with_queue_limit(-1), RuntimeCode::kInvalid},
      {"queue_limit 2^31-1", with_queue_limit(kMaxInt), RuntimeCode::kInvalid},
      {"a group of nobody", on_group(77), RuntimeCode::kInvalidHandle},
      {"a huge group", on_group(kHuge), RuntimeCode::kInvalidHandle},
  };
  for (const Case& one : cases) {
    v1::LoadModelResponse response;
    const Status status = load({one.part}, response);
    EXPECT_EQ(code_of(status), one.code) << one.what << ": " << status.to_string();
  }
  v1::LoadModelResponse response;
  EXPECT_EQ(code_of(load({options_with_path(package_), chunk_of("x")}, response)),
            RuntimeCode::kInvalid);
  EXPECT_EQ(service_.list_models(0)->size(), 1U);
}

/// An upload of exactly the transit limit, in messages of half their limit.
std::vector<v1::LoadModelRequest> full_upload() {
  const std::string half(1 << 19, 'x');
  return {options_of(1 << 20), chunk_of(half), chunk_of(half)};
}

TEST_F(HostileTest, AbandonedUploadReleasesItsRoom) {
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::LoadModelResponse response;
    const auto writer = stub_->LoadModel(&context, &response);
    for (const v1::LoadModelRequest& part : full_upload()) writer->Write(part);
    context.TryCancel();
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  v1::LoadModelResponse response;
  Status status;
  do {  // until the server has noticed the last one's end
    status = load(full_upload(), response);
  } while (code_of(status) == RuntimeCode::kOutOfResources);
  EXPECT_EQ(code_of(status), RuntimeCode::kInvalid) << status.to_string();
}

TEST_F(HostileTest, StalledUploadEndsAndKeepsNoClientOut) {
  grpc::ClientContext context;
  v1::LoadModelResponse response;
  const auto stalled = stub_->LoadModel(&context, &response);
  ASSERT_TRUE(stalled->Write(options_of(1 << 20)));  // all the room that there is
  v1::LoadModelResponse other;
  EXPECT_EQ(code_of(load(full_upload(), other)), RuntimeCode::kInvalid) << "it is no package";
  // Nothing more comes on the first, so the server ends it.
  EXPECT_EQ(code_of(wire::from_grpc(stalled->Finish())), RuntimeCode::kTimeout);
}

TEST_F(HostileTest, UploadThatDripsEnds) {
  grpc::ClientContext context;
  v1::LoadModelResponse response;
  const auto slow = stub_->LoadModel(&context, &response);
  ASSERT_TRUE(slow->Write(options_of(1 << 20)));
  const v1::LoadModelRequest drop = chunk_of("x");
  for (int i = 0; i < 1 << 20 && slow->Write(drop); ++i) continue;
  slow->WritesDone();
  EXPECT_EQ(code_of(wire::from_grpc(slow->Finish())), RuntimeCode::kTimeout);
}

TEST_F(HostileTest, NamesThatCannotBePrintedAreRefused) {
  for (const std::string& name :
       {std::string(300, 'n'), std::string("a\nb"), std::string("\x1B[2J")}) {
    v1::LoadModelRequest part = options_with_path(package_);
    part.mutable_options()->set_name(name);
    v1::LoadModelResponse response;
    EXPECT_EQ(code_of(load({part}, response)), RuntimeCode::kInvalid);
    EXPECT_FALSE(service_.open_session(name, {}).is_ok());
  }
}

TEST_F(HostileTest, RequiredSessionsLeaveOthersOnlyTheView) {
  service::ServiceOptions strict = service_.options();
  strict.requires_session = true;
  service_.set_options(strict);
  v1::LoadModelResponse response;
  EXPECT_EQ(load({options_with_path(package_)}, response).code(), Code::kPermissionDenied);
  EXPECT_EQ(infer(good_request()).code(), Code::kPermissionDenied);
  v1::UnloadModelRequest unload;
  unload.set_model(model_);
  EXPECT_EQ(call(&v1::Runtime::Stub::UnloadModel, unload).code(), Code::kPermissionDenied);
  v1::CreateGroupRequest group;
  group.set_num_cores(1);
  EXPECT_EQ(call(&v1::Runtime::Stub::CreateGroup, group).code(), Code::kPermissionDenied);
  v1::PutTensorRequest put;
  *put.mutable_tensor() = good_request().inputs(0);
  EXPECT_EQ(call(&v1::Runtime::Stub::PutTensor, put).code(), Code::kPermissionDenied);
  EXPECT_TRUE(call(&v1::Runtime::Stub::ListModels, v1::ListModelsRequest()).is_ok());
  const auto session = service_.open_session("c", {}).value();
  EXPECT_TRUE(call(&v1::Runtime::Stub::Infer, good_request(), session->token()).is_ok());
  strict.requires_session = false;
  service_.set_options(strict);
}

TEST_F(HostileTest, TokenOfASessionServesItsUserAlone) {
  terms::Peer alice;
  alice.user = 4'000'001;
  terms::Peer bob;
  bob.user = 4'000'002;
  const auto session = service_.open_session("c", alice).value();
  EXPECT_TRUE(service_.caller_of(terms::Role::kAny, session->token(), alice).is_ok());
  EXPECT_EQ(service_.caller_of(terms::Role::kAny, session->token(), bob).status().code(),
            Code::kUnauthenticated);
  EXPECT_TRUE(
      call(&v1::Runtime::Stub::ListModels, v1::ListModelsRequest(), session->token()).is_ok())
      << "the daemon's own user may end it, so may use it";
}

TEST_F(HostileTest, ModelWithoutASessionIsControlledByItsUser) {
  service::Caller stranger =
      service_.caller_of(terms::Role::kAny, "", {"unix:", 1, 12345, 1}).value();
  const terms::ModelHandle model{model_};
  EXPECT_TRUE(service_.find_model(stranger, model).is_ok()) << "all may use it";
  EXPECT_EQ(service_.stop(stranger, model, 0).code(), Code::kPermissionDenied);
  EXPECT_EQ(service_.unload(stranger, model, 0).code(), Code::kPermissionDenied);
  const service::Caller root =
      service_.caller_of(terms::Role::kAny, "", {"unix:", 1, 0, 0}).value();
  EXPECT_TRUE(service_.stop(root, model, 0).is_ok());
  EXPECT_TRUE(service_.start(root, model).is_ok());
}

TEST_F(HostileTest, UnknownTokensAreUnauthenticated) {
  for (const std::string& token :
       {std::string("x"), std::string(32, '0'), std::string(4000, 'f'), std::string("'; --")}) {
    const Status status = call(&v1::Runtime::Stub::Infer, good_request(), token);
    EXPECT_EQ(status.code(), Code::kUnauthenticated) << status.to_string();
    EXPECT_EQ(call(&v1::Runtime::Stub::GetServer, v1::GetServerRequest(), token).code(),
              Code::kUnauthenticated);
  }
}

TEST_F(HostileTest, MessageOverTheLimitIsRefused) {
  v1::InferRequest request = good_request();
  request.mutable_inputs(0)->set_data(std::string(2 << 20, 'x'));
  EXPECT_EQ(infer(request).code(), Code::kResourceExhausted);
}

TEST_F(HostileTest, DeadlineThatHasPassedIsATimeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
  v1::InferResponse response;
  const Status status = wire::from_grpc(stub_->Infer(&context, good_request(), &response));
  EXPECT_EQ(code_of(status), RuntimeCode::kTimeout) << status.to_string();
}

}  // namespace
}  // namespace sluice::rpc

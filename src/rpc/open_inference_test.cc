// The Open Inference Protocol on the daemon's gRPC server.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>

#include "proto/health/health.grpc.pb.h"
#include "proto/open_inference/service.grpc.pb.h"
#include "rpc/testing/serving.h"
#include "rpc/wire/error.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// y = relu(x + [1, -2, 3, -4]), f32[4], as model "m".
class OpenInferenceTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  OpenInferenceTest() : ServingTest({}) {
    stub_ = inference::GRPCInferenceService::NewStub(
        grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    EXPECT_TRUE(load("m").is_ok());
  }
  ~OpenInferenceTest() override {
    // Whatever came before, the model still answers.
    EXPECT_THAT(values(infer(request_of(1))), ElementsAre(2, 0, 4, 0));
    stop();
  }

  Status load(const std::string& name) {
    inference::RepositoryModelLoadRequest request;
    request.set_model_name(name);
    return call(&Stub::RepositoryModelLoad, request,
                static_cast<inference::RepositoryModelLoadResponse*>(nullptr));
  }

  using Stub = inference::GRPCInferenceService::Stub;
  template <typename Request, typename Response>
  Status call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request, Response* response) {
    grpc::ClientContext context;
    Response unused;
    return wire::from_grpc(
        ((*stub_).*method)(&context, request, response == nullptr ? &unused : response));
  }

  static ModelInferRequest request_of(float value) {
    ModelInferRequest request;
    request.set_model_name("m");
    request.set_id("a request");
    auto& x = *request.add_inputs();
    x.set_name("x");
    x.set_datatype("FP32");
    x.add_shape(4);
    const std::vector<float> elements(4, value);
    request.add_raw_input_contents(elements.data(), 16);
    return request;
  }

  Result<ModelInferResponse> infer(const ModelInferRequest& request) {
    ModelInferResponse response;
    SLUICE_TRY(call(&Stub::ModelInfer, request, &response));
    return response;
  }

  static std::vector<float> values(const Result<ModelInferResponse>& response) {
    EXPECT_TRUE(response.is_ok()) << response.status().to_string();
    if (!response.is_ok()) return {};
    std::vector<float> elements(response->raw_output_contents(0).size() / sizeof(float));
    std::memcpy(elements.data(), response->raw_output_contents(0).data(),
                response->raw_output_contents(0).size());
    return elements;
  }

  struct WrongRequest {
    std::string_view what;
    std::function<void(ModelInferRequest&)> change;
    std::string_view message;
  };
  void expect_refused(const std::vector<WrongRequest>& cases) {
    for (const WrongRequest& wrong : cases) {
      ModelInferRequest request = request_of(1);
      wrong.change(request);
      const auto response = infer(request);
      ASSERT_FALSE(response.is_ok()) << wrong.what;
      EXPECT_THAT(response.status().message(), HasSubstr(wrong.message)) << wrong.what;
    }
  }

  std::unique_ptr<Stub> stub_;
};

TEST_F(OpenInferenceTest, RawInputsGiveRawOutputs) {
  const auto response = infer(request_of(1));
  ASSERT_TRUE(response.is_ok()) << response.status().to_string();
  EXPECT_THAT(values(response), ElementsAre(2, 0, 4, 0));
  EXPECT_EQ(response->model_name(), "m");
  EXPECT_EQ(response->model_version(), "1");
  EXPECT_EQ(response->id(), "a request");
  ASSERT_EQ(response->outputs_size(), 1);
  EXPECT_EQ(response->outputs(0).name(), "y");
  EXPECT_EQ(response->outputs(0).datatype(), "FP32");
  EXPECT_THAT(response->outputs(0).shape(), ElementsAre(4));
}

TEST_F(OpenInferenceTest, CompressedRequestsAreInflatedUpToTheLimitOfAMessage) {
  for (const auto compression : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const auto infer_compressed = [&](const ModelInferRequest& request) {
      grpc::ClientContext context;
      context.set_compression_algorithm(compression);
      ModelInferResponse response;
      return std::pair(stub_->ModelInfer(&context, request, &response), response);
    };
    ModelInferRequest padded = request_of(1);
    padded.set_id(std::string(10'000, 'a'));  // worth a compression
    const auto [status, response] = infer_compressed(padded);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_THAT(values(response), ElementsAre(2, 0, 4, 0));
    padded.set_id(std::string(64 << 20, 'a'));  // the limit is 1 MiB
    const grpc::Status refusal = infer_compressed(padded).first;
    EXPECT_EQ(refusal.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refusal.error_message(), HasSubstr("when it is inflated"));
  }
}

TEST_F(OpenInferenceTest, CompressedStreamsAreAnswered) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const auto stream = stub_->ModelStreamInfer(&context);
  ModelInferRequest padded = request_of(1);
  padded.set_id(std::string(10'000, 'a'));
  inference::ModelStreamInferResponse response;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Write(padded));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_THAT(values(response.infer_response()), ElementsAre(2, 0, 4, 0));
  }
  ModelInferRequest bomb = padded;
  bomb.set_id(std::string(2 << 20, 'a'));
  ASSERT_TRUE(stream->Write(bomb));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(response.error_message(), HasSubstr("when it is inflated"));
  ASSERT_TRUE(stream->Write(padded));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(values(response.infer_response()), ElementsAre(2, 0, 4, 0));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(OpenInferenceTest, CompressedBytesThatAreNoMessageAreRefused) {
  // Bytes in gRPC's compression that the client never compressed.
  grpc::GenericStub stub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
  const auto ask = [&](const std::string& text) {
    const grpc::Slice slice(text);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, "/inference.GRPCInferenceService/ModelInfer", {}, &request, &response,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  };
  EXPECT_FALSE(ask(std::string(10'000, '\xff')).ok());
  EXPECT_FALSE(ask(std::string(10'000, '\0')).ok());
}

TEST_F(OpenInferenceTest, ElementsMayComeOneByOne) {
  ModelInferRequest request = request_of(0);
  request.clear_raw_input_contents();
  auto& contents = *request.mutable_inputs(0)->mutable_contents();
  for (const float value : {10.F, 20.F, 30.F, 40.F}) contents.add_fp32_contents(value);
  EXPECT_THAT(values(infer(request)), ElementsAre(11, 18, 33, 36));
}

TEST_F(OpenInferenceTest, ClassesAreTheLargestValues) {
  ModelInferRequest request = request_of(1);
  auto& output = *request.add_outputs();
  output.set_name("y");
  (*output.mutable_parameters())["classification"].set_int64_param(2);
  const auto response = infer(request);
  ASSERT_TRUE(response.is_ok()) << response.status().to_string();
  EXPECT_EQ(response->outputs(0).datatype(), "BYTES");
  EXPECT_THAT(response->outputs(0).shape(), ElementsAre(2));
  const std::string size("\x0a\0\0\0", 4);
  EXPECT_EQ(response->raw_output_contents(0), size + "4.000000:2" + size + "2.000000:0");
}

TEST_F(OpenInferenceTest, ServerAndModelDescribeThemselves) {
  inference::ServerLiveResponse live;
  EXPECT_TRUE(call(&Stub::ServerLive, {}, &live).is_ok());
  EXPECT_TRUE(live.live());
  inference::ServerReadyResponse ready;
  EXPECT_TRUE(call(&Stub::ServerReady, {}, &ready).is_ok());
  EXPECT_TRUE(ready.ready());
  inference::ServerMetadataResponse server;
  EXPECT_TRUE(call(&Stub::ServerMetadata, {}, &server).is_ok());
  EXPECT_EQ(server.name(), "sluice");

  inference::ModelMetadataRequest wanted;
  wanted.set_name("m");
  inference::ModelMetadataResponse model;
  ASSERT_TRUE(call(&Stub::ModelMetadata, wanted, &model).is_ok());
  EXPECT_THAT(model.versions(), ElementsAre("1"));
  EXPECT_EQ(model.inputs(0).name(), "x");
  EXPECT_EQ(model.inputs(0).datatype(), "FP32");
  EXPECT_THAT(model.inputs(0).shape(), ElementsAre(4));
  EXPECT_EQ(model.outputs(0).name(), "y");

  inference::ModelConfigRequest asked;
  asked.set_name("m");
  inference::ModelConfigResponse config;
  ASSERT_TRUE(call(&Stub::ModelConfig, asked, &config).is_ok());
  EXPECT_EQ(config.config().max_batch_size(), 0);
  EXPECT_EQ(config.config().input(0).data_type(), inference::TYPE_FP32);
  EXPECT_THAT(config.config().input(0).dims(), ElementsAre(4));
}

using grpc::health::v1::HealthCheckResponse;

class HealthTest : public OpenInferenceTest {
 protected:
  Result<HealthCheckResponse::ServingStatus> check(const std::string& name) {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(name);
    HealthCheckResponse response;
    SLUICE_TRY(wire::from_grpc(health_->Check(&context, request, &response)));
    return response.status();
  }

  const std::unique_ptr<grpc::health::v1::Health::Stub> health_ = grpc::health::v1::Health::NewStub(
      grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
};

TEST_F(HealthTest, DrainIsAnnouncedWhileRequestsAreTaken) {
  EXPECT_EQ(*check(""), HealthCheckResponse::SERVING);
  service_.announce_drain();
  EXPECT_EQ(*check(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(*check("m"), HealthCheckResponse::NOT_SERVING);
  EXPECT_THAT(values(infer(request_of(1))), ElementsAre(2, 0, 4, 0));
}

TEST_F(HealthTest, ModelHasAHealthOfItsOwn) {
  const service::Caller nobody = *service_.caller_of(terms::Role::kControl, "", {});
  terms::LoadOptions options;
  options.name = "own";
  const auto model = service_.load(nobody, options, {.path = package_}, nullptr);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  ASSERT_EQ(*check("own"), HealthCheckResponse::SERVING);
  const Status stopped = service_.stop(nobody, terms::ModelHandle{model->info.handle}, 0);
  ASSERT_TRUE(stopped.is_ok()) << stopped.to_string();
  EXPECT_EQ(*check("own"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(*check("m"), HealthCheckResponse::SERVING);
  EXPECT_EQ(*check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("absent").status().code(), Code::kNotFound);
}

TEST_F(HealthTest, WatchReportsEachChangeAndEndsWithItsClient) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("later");
  const auto watch = health_->Watch(&context, request);
  HealthCheckResponse response;
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  std::filesystem::copy(package_, folder_ / "later.sluice");
  ASSERT_TRUE(service_.load_own({.path = folder_ / "later.sluice"}).is_ok());
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  service_.announce_drain();
  ASSERT_TRUE(watch->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(OpenInferenceTest, StatisticsCountRightAndFailedRequests) {
  EXPECT_TRUE(infer(request_of(1)).is_ok());
  EXPECT_TRUE(infer(request_of(1)).is_ok());
  inference::ModelStatisticsRequest wanted;
  wanted.set_name("m");
  inference::ModelStatisticsResponse statistics;
  ASSERT_TRUE(call(&Stub::ModelStatistics, wanted, &statistics).is_ok());
  ASSERT_EQ(statistics.model_stats_size(), 1);
  const auto& model = statistics.model_stats(0);
  EXPECT_EQ(model.name(), "m");
  EXPECT_EQ(model.inference_count(), 2U);
  EXPECT_EQ(model.inference_stats().success().count(), 2U);
  EXPECT_GT(model.inference_stats().success().ns(), 0U);
}

TEST_F(OpenInferenceTest, ModelsAreLoadedAndUnloadedByName) {
  std::filesystem::copy_file(package_, folder_ / "other.sluice");
  const auto is_ready = [&](const std::string& name) {
    inference::ModelReadyRequest request;
    request.set_name(name);
    inference::ModelReadyResponse response;
    EXPECT_TRUE(call(&Stub::ModelReady, request, &response).is_ok());
    return response.ready();
  };
  EXPECT_FALSE(is_ready("other"));
  EXPECT_TRUE(load("other").is_ok());
  EXPECT_TRUE(load("other").is_ok()) << "a second load finds it";
  EXPECT_TRUE(is_ready("other"));

  inference::RepositoryIndexResponse index;
  ASSERT_TRUE(call(&Stub::RepositoryIndex, {}, &index).is_ok());
  ASSERT_EQ(index.models_size(), 2);
  EXPECT_EQ(index.models(1).state(), "READY");

  inference::RepositoryModelUnloadRequest unload;
  unload.set_repository_name("other");  // as KServe's client does
  EXPECT_TRUE(call(&Stub::RepositoryModelUnload, unload,
                   static_cast<inference::RepositoryModelUnloadResponse*>(nullptr))
                  .is_ok());
  EXPECT_FALSE(is_ready("other"));
}

TEST_F(OpenInferenceTest, NamesOfLoadsStayInTheModelFolders) {
  for (const std::string name : {"../m", "/etc/passwd", "a/b", "", "\x01", "absent"}) {
    EXPECT_FALSE(load(name).is_ok()) << name;
  }
}

TEST_F(OpenInferenceTest, StreamAnswersEveryRequestAndOutlivesErrors) {
  grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  ModelInferRequest wrong = request_of(1);
  wrong.set_model_name("absent");
  wrong.set_id("wrong");
  ASSERT_TRUE(stream->Write(request_of(1)));
  ASSERT_TRUE(stream->Write(wrong));
  ASSERT_TRUE(stream->Write(request_of(2)));
  ASSERT_TRUE(stream->WritesDone());
  int num_right = 0;
  int num_wrong = 0;
  inference::ModelStreamInferResponse answer;
  while (stream->Read(&answer)) {
    const auto& response = answer.infer_response();
    EXPECT_TRUE(response.parameters().at("triton_final_response").bool_param());
    if (answer.error_message().empty()) {
      ++num_right;
      EXPECT_EQ(response.id(), "a request");
      EXPECT_EQ(response.raw_output_contents_size(), 1);
    } else {
      ++num_wrong;
      EXPECT_EQ(response.id(), "wrong");
      EXPECT_THAT(answer.error_message(),
                  HasSubstr("Request for unknown model: 'absent' is not found"));
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(num_right, 2);
  EXPECT_EQ(num_wrong, 1);
}

TEST_F(OpenInferenceTest, ModelsAndInputsThatCannotBeAreRefused) {
  expect_refused({
      {"model", [](auto& r) { r.set_model_name("n"); }, "unknown model: 'n' is not found"},
      {"no model", [](auto& r) { r.clear_model_name(); }, "unknown model"},
      {"version", [](auto& r) { r.set_model_version("2"); }, "unknown model: 'm' version 2"},
      {"input", [](auto& r) { r.mutable_inputs(0)->set_name("z"); }, "no input z; it has \"x\""},
      {"no name", [](auto& r) { r.mutable_inputs(0)->clear_name(); }, "it has no name"},
      {"long name", [](auto& r) { r.mutable_inputs(0)->set_name(std::string(1 << 16, 'n')); },
       "no such input"},
      {"missing", [](auto& r) { r.clear_inputs(); }, "1 entries for 0 inputs"},
      {"nothing",
       [](auto& r) {
         r.clear_inputs();
         r.clear_raw_input_contents();
       },
       "input \"x\" is missing"},
      {"twice",
       [](auto& r) {
         *r.add_inputs() = r.inputs(0);
         r.add_raw_input_contents(r.raw_input_contents(0));
       },
       "given twice"},
  });
}

TEST_F(OpenInferenceTest, TypesShapesAndContentsThatCannotBeAreRefused) {
  expect_refused({
      {"type", [](auto& r) { r.mutable_inputs(0)->set_datatype("FLOAT"); },
       "\"FLOAT\" is no datatype"},
      {"other type", [](auto& r) { r.mutable_inputs(0)->set_datatype("INT32"); }, "f32"},
      {"shape", [](auto& r) { r.mutable_inputs(0)->set_shape(0, 5); }, "has 20 bytes, 16 came"},
      {"negative", [](auto& r) { r.mutable_inputs(0)->set_shape(0, -4); }, "negative or too large"},
      {"huge",
       [](auto& r) {
         r.mutable_inputs(0)->set_shape(0, std::numeric_limits<std::int64_t>::max());
         r.mutable_inputs(0)->add_shape(4);
       },
       "negative or too large"},
      {"rank",
       [](auto& r) {
         for (int i = 0; i < 100; ++i) r.mutable_inputs(0)->add_shape(1);
       },
       "101 dimensions"},
      {"raw and typed",
       [](auto& r) { r.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1); },
       "it has contents, and the request has raw_input_contents"},
      {"field",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->mutable_contents()->add_int64_contents(1);
       },
       "a field that is not for f32"},
      {"narrow",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->set_datatype("INT8");
         r.mutable_inputs(0)->mutable_contents()->add_int_contents(128);
       },
       "128 does not fit the type"},
      {"half",
       [](auto& r) {
         r.clear_raw_input_contents();
         r.mutable_inputs(0)->set_datatype("FP16");
         r.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
       },
       "send raw_input_contents"},
  });
}

TEST_F(OpenInferenceTest, OutputsAndParametersThatCannotBeAreRefused) {
  expect_refused({
      {"output", [](auto& r) { r.add_outputs()->set_name("z"); }, "no output \"z\""},
      {"output twice",
       [](auto& r) {
         r.add_outputs()->set_name("y");
         r.add_outputs()->set_name("y");
       },
       "asked for twice"},
      {"classes",
       [](auto& r) {
         auto& output = *r.add_outputs();
         output.set_name("y");
         (*output.mutable_parameters())["classification"].set_string_param("3");
       },
       "\"classification\" is no whole number from 0 on"},
      {"priority", [](auto& r) { (*r.mutable_parameters())["priority"].set_int64_param(-1); },
       "\"priority\" is no whole number from 0 on"},
      {"sequence", [](auto& r) { (*r.mutable_parameters())["sequence_id"].set_int64_param(7); },
       "keeps no sequences"},
      {"region",
       [](auto& r) {
         (*r.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
       },
       "a tensor in shared memory has a region and a size above 0"},
  });
}

TEST_F(OpenInferenceTest, ParametersThatAskForNothingAreTaken) {
  ModelInferRequest request = request_of(1);
  (*request.mutable_parameters())["priority"].set_uint64_param(1);
  (*request.mutable_parameters())["timeout"].set_int64_param(60'000'000);
  (*request.mutable_parameters())["sequence_id"].set_int64_param(0);
  (*request.mutable_parameters())["sequence_start"].set_bool_param(false);
  (*request.mutable_parameters())["a client's own"].set_string_param("passed over");
  EXPECT_THAT(values(infer(request)), ElementsAre(2, 0, 4, 0));
}

}  // namespace
}  // namespace sluice::rpc

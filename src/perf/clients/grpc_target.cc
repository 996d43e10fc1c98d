// A request is serialised once and sent as bytes, and an answer's message is not parsed: what the
// generator does for each request does not grow with the tensors.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <limits>
#include <utility>

#include "perf/clients/served_model.h"
#include "proto/open_inference/service.grpc.pb.h"
#include "rpc/client/credentials.h"
#include "rpc/wire/address.h"
#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::perf {
namespace {

constexpr const char* kInfer = "/inference.GRPCInferenceService/ModelInfer";

Status error_of(const grpc::Status& status) { return rpc::wire::from_grpc(status); }

class GrpcTarget final : public Target {
 public:
  GrpcTarget(ServedModel model, std::shared_ptr<grpc::Channel> channel)
      : model_(std::move(model)), channel_(std::move(channel)), stub_(channel_) {}

  Status ask() {
    inference::ModelMetadataRequest request;
    request.set_name(model_.name);
    request.set_version(model_.version);
    inference::ModelMetadataResponse response;
    grpc::ClientContext context;
    prepare(context, model_.server.connect_timeout_ns);
    context.set_wait_for_ready(true);
    const auto stub = inference::GRPCInferenceService::NewStub(channel_);
    const grpc::Status status = stub->ModelMetadata(&context, request, &response);
    if (!status.ok()) return error_of(status).with_context(model_.server.address);
    SLUICE_TRY(add(response.inputs(), signature_.inputs));
    return add(response.outputs(), signature_.outputs);
  }

  const terms::Signature& signature() const override { return signature_; }

  Status add_request(const std::vector<terms::NamedTensor>& inputs) override {
    inference::ModelInferRequest request;
    request.set_model_name(model_.name);
    request.set_model_version(model_.version);
    for (WireTensor& tensor : SLUICE_TRY(to_wire(inputs))) {
      auto& to = *request.add_inputs();
      to.set_name(tensor.name);
      to.set_datatype(tensor.datatype);
      to.mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
      request.add_raw_input_contents(std::move(tensor.bytes));
    }
    bool is_owned = false;
    const grpc::Status status = grpc::SerializationTraits<inference::ModelInferRequest>::Serialize(
        request, &requests_.emplace_back(), &is_owned);
    return status.ok() ? ok_status() : error_of(status);
  }

  void send(std::size_t number, Done done) override {
    auto* call = new Call{{}, {}, std::move(done)};  // NOLINT(cppcoreguidelines-owning-memory)
    prepare(call->context, model_.timeout_ns);
    stub_.UnaryCall(&call->context, kInfer, grpc::StubOptions(), &requests_[number],
                    &call->response, [call](const grpc::Status& status) {
                      const std::unique_ptr<Call> owner(call);
                      owner->done(status.ok() ? ok_status() : error_of(status));
                    });
  }

 private:
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer response;
    Done done;
  };

  void prepare(grpc::ClientContext& context, std::int64_t timeout_ns) const {
    context.set_deadline(rpc::wire::after(timeout_ns));
    if (!model_.server.token.empty()) {
      context.AddMetadata("authorization", "Bearer " + model_.server.token);
    }
  }

  template <typename Tensors>
  static Status add(const Tensors& from, std::vector<terms::TensorSpec>& to) {
    for (const auto& tensor : from) {
      const std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
      to.push_back(SLUICE_TRY(spec_of(tensor.name(), tensor.datatype(), shape)));
    }
    return ok_status();
  }

  const ServedModel model_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  terms::Signature signature_;
  std::vector<grpc::ByteBuffer> requests_;
};

}  // namespace

Result<std::unique_ptr<Target>> connect_grpc(const ServedModel& model) {
  const auto address = SLUICE_TRY(rpc::wire::parse_address(model.server.address));
  const auto credentials = SLUICE_TRY(rpc::client::credentials_of(model.server));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(std::numeric_limits<std::int32_t>::max());
  arguments.SetMaxSendMessageSize(std::numeric_limits<std::int32_t>::max());
  auto target = std::make_unique<GrpcTarget>(
      model, grpc::CreateCustomChannel(address.to_string(), credentials, arguments));
  SLUICE_TRY(target->ask());
  return std::unique_ptr<Target>(std::move(target));
}

}  // namespace sluice::perf

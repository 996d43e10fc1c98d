// Reads any bytes as a request of the Open Inference Protocol and takes it as the daemon does, up
// to the model; then answers it with what came. Every view lies in the message or in memory that
// the request keeps.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "open_inference/request.h"
#include "rpc/server/open_inference/infer_request.h"

namespace {

using namespace sluice;

void require(bool is_true) {
  if (!is_true) std::abort();
}

/// A model that is never asked.
class NoSink final : public runtime::RequestSink {
 public:
  NoSink() {
    for (const auto& [name, type] : {std::pair{"x", "f32[N]"}, {"w", "string[M]"}}) {
      signature_.inputs.push_back({name, ir::parse_type(type).value(), -1});
      signature_.outputs.push_back({name, ir::parse_type(type).value(), -1});
    }
  }
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& /*request*/) override {
    return invalid_argument("nobody submits");
  }
  bool cancel(std::uint64_t /*id*/) override { return false; }
  bool wait(const std::function<bool()>& /*is_done*/, std::int64_t /*deadline_ns*/) override {
    return false;
  }
  void tell_waiters() override {}

 private:
  terms::Signature signature_;
};

/// Reads every byte, so that a sanitizer sees a view that reaches too far.
void read(const terms::TensorView& view) {
  const auto size = static_cast<std::size_t>(view.size_bytes);
  require(std::string(static_cast<const char*>(view.data), size).size() == size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dispatch::ModelRef model(std::make_shared<NoSink>(), {}, false);
  inference::ModelInferRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  rpc::server::OpenInferCall call;
  if (!rpc::server::read_request(message, call).is_ok()) return 0;
  auto request = open_inference::to_runtime(call.plain, model, kNoDeadline, call.owners);
  if (!request.is_ok()) return 0;
  require(request->inputs.size() == 2);
  runtime::Reply reply;
  for (const terms::TensorView& view : request->inputs) {
    read(view);
    // A model's own check of the types, which answers what it was given.
    if (view.element !=
        (reply.outputs.empty() ? ir::ElementType::kF32 : ir::ElementType::kString)) {
      return 0;
    }
    reply.outputs.push_back({view, nullptr});
  }
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  auto charge = ByteCharge::take(budget, 0).value();
  inference::ModelInferResponse response;
  const Status written = rpc::server::write_response(reply, model.signature(), message, call.plain,
                                                     1 << 20, charge, response);
  if (written.is_ok()) require(response.outputs_size() == response.raw_output_contents_size());
  return 0;
}

// Reads any bytes as a request of the Open Inference Protocol and takes it as the daemon does, up
// to the model; then answers it with what came. Every view lies in the message or in memory that
// the request keeps. Reads it as a request for a text, too.
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "open_inference/request.h"
#include "open_inference/testing/no_model.h"
#include "rpc/server/open_inference/infer_request.h"
#include "rpc/server/open_inference/text_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const dispatch::ModelRef& model = open_inference::testing::no_model();
  inference::ModelInferRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  rpc::server::OpenInferCall call;
  if (!rpc::server::read_request(message, call).is_ok()) return 0;
  const auto text = rpc::server::read_text_body(message, call.plain);
  if (text.is_ok() && !nlohmann::json::accept(text->json)) std::abort();
  const auto request = open_inference::to_runtime(call.plain, model, kNoDeadline, call.owners);
  if (!request.is_ok()) return 0;
  const runtime::Reply reply = open_inference::testing::echo(*request);
  if (reply.outputs.empty()) return 0;
  auto charge = ByteCharge::take(std::make_shared<ByteBudget>(1 << 20), 0).value();
  inference::ModelInferResponse response;
  const Status written =
      rpc::server::write_response(reply, model, message, call.plain, 1 << 20, charge, response);
  if (written.is_ok() && response.outputs_size() != response.raw_output_contents_size()) {
    std::abort();
  }
  return 0;
}

// Reads any bytes as the body of an inference over HTTP and takes it as the daemon does, up to the
// model; then answers it with what came. The first two bytes say how much of the body is JSON: all
// of it if they are 0xffff.
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "http/open_inference/infer_call.h"
#include "open_inference/testing/no_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  if (size < 2) return 0;
  std::uint16_t split = 0;
  std::memcpy(&split, data, sizeof(split));
  const std::int64_t json_bytes = split == 0xffff ? -1 : split;
  const auto body =
      std::make_shared<http::Body>(std::make_shared<ByteBudget>(1 << 20), json_bytes, 1 << 20);
  if (!body->reserve(size - 2).is_ok()) return 0;
  if (size > 2) std::memcpy(body->end(), data + 2, size - 2);
  body->add(size - 2);

  const dispatch::ModelRef& model = open_inference::testing::no_model();
  const auto call = std::make_shared<http::InferCall>();
  call->body = body;
  call->model = "m";
  call->charge = ByteCharge::take(std::make_shared<ByteBudget>(1 << 20), 0).value();
  if (!http::read_request(json_bytes, model.signature(), *call).is_ok()) return 0;
  const auto request = open_inference::to_runtime(call->plain, model, kNoDeadline, call->owners);
  if (!request.is_ok()) return 0;
  call->reply = open_inference::testing::echo(*request);
  if (call->reply.outputs.empty()) return 0;
  const auto reply = http::write_reply(model, 1 << 20, call);
  // What is said in JSON is JSON.
  if (reply.is_ok() && !nlohmann::json::accept(reply->text)) std::abort();
  return 0;
}

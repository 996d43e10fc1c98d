// Any bytes as a message that came compressed, inflated within a limit: the first byte says how, as
// in the field that keeps them.
#include <google/protobuf/unknown_field_set.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/open_inference/service.pb.h"
#include "rpc/wire/coded_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr int kCodedField = (1 << 29) - 1;
  constexpr std::int64_t kLimit = 1 << 16;
  inference::ModelInferRequest message;
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
      kCodedField, std::string(reinterpret_cast<const char*>(data), size));
  if (sluice::rpc::wire::is_coded(message) != (size > 0)) __builtin_trap();
  const bool is_ok = sluice::rpc::wire::inflate(message, kLimit).is_ok();
  if (is_ok && size > 0 && message.ByteSizeLong() > 2 * kLimit) __builtin_trap();
  return 0;
}

#include "rpc/fuzz.h"

#include "rpc/address.h"
#include "rpc/convert.h"
#include "rpc/error.h"
#include "rpc/utf8.h"

namespace sluice::rpc {
namespace {

package::Signature signature() {
  package::Signature all;
  for (const char* name : {"x", "y"}) all.inputs.push_back({name, ir::Type(), -1});
  return all;
}

/// So that a view outside of its message is seen.
unsigned sum_of(const exec::TensorView& view) {
  const auto* bytes = static_cast<const unsigned char*>(view.data);
  unsigned sum = 0;
  for (std::int64_t i = 0; i < view.size_bytes; ++i) sum += bytes[i];
  return sum;
}

}  // namespace

void read_as_messages(std::span<const std::uint8_t> bytes) {
  const auto size = static_cast<int>(bytes.size());
  static volatile unsigned sink = 0;
  v1::InferRequest request;
  if (request.ParseFromArray(bytes.data(), size)) {
    const auto views = inputs_of(request, signature());
    if (views.is_ok()) {
      for (const exec::TensorView& view : *views) sink = sum_of(view);
    }
  }
  v1::CreateGroupRequest group;
  if (group.ParseFromArray(bytes.data(), size)) (void)from_proto(group).is_ok();
  v1::Model model;
  if (model.ParseFromArray(bytes.data(), size)) (void)from_proto(model).is_ok();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  (void)parse_address(text).is_ok();
  (void)valid_utf8(text);
  (void)from_grpc(grpc::Status(grpc::StatusCode::INTERNAL, "", text)).is_ok();
}

}  // namespace sluice::rpc

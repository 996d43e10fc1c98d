// The part of convert.h that is about tensors.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/utf8.h"
#include "rpc/wire/convert.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::wire {
namespace {

/// A bound that keeps sums of offsets and sizes within 64 bits; the region's size is the real
/// limit.
constexpr std::int64_t kMaxPlacedBytes = std::int64_t{1} << 62;

Status bad_tensor(const v1::Tensor& tensor, std::string_view why) {
  // Names come from a client and go into its message and the log: 200 bytes of them suffice.
  return terms::runtime_error(RuntimeCode::kBadInput, "tensor \"{}\": {}",
                              tensor.name().substr(0, 200), why);
}

std::string names_of(const std::vector<terms::TensorSpec>& specs) {
  std::vector<std::string_view> names;
  for (const terms::TensorSpec& spec : specs) names.push_back(spec.name);
  return fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

Result<std::size_t> index_of(const terms::Signature& signature, const v1::Tensor& tensor) {
  const auto it = std::ranges::find(signature.inputs, tensor.name(), &terms::TensorSpec::name);
  if (it != signature.inputs.end()) {
    return static_cast<std::size_t>(it - signature.inputs.begin());
  }
  return bad_tensor(tensor,
                    fmt::format("no such input; the model takes {}{}",
                                signature.inputs.empty() ? "none" : names_of(signature.inputs),
                                terms::fixed_input_hint(signature, tensor.name().substr(0, 200))));
}

/// The exchange has the bytes.
Result<terms::TensorView> view_of_kept(const v1::Tensor& from, terms::TensorView view) {
  if (from.has_place() || !from.data().empty()) {
    return bad_tensor(from, "it has an index and data or a place; give one of them");
  }
  const Status shaped = terms::check_dims(view.dims);
  if (!shaped.is_ok()) return bad_tensor(from, shaped.message());
  return view;
}

}  // namespace

Result<terms::TensorView> view_of(const v1::Tensor& from) {
  const auto element = ir::element_type_from_onnx(from.element_type());
  if (!element) {
    return bad_tensor(from, fmt::format("{} is no element type", from.element_type()));
  }
  terms::TensorView view;
  view.element = *element;
  view.dims.assign(from.shape().begin(), from.shape().end());
  // Bytes stand in one of three places: the exchange, a shared region, or the message. Two at a
  // time are refused, because a client that sends both believes one that is not read.
  if (from.exchange() != 0) return view_of_kept(from, std::move(view));
  if (from.has_place()) {
    if (!from.data().empty()) return bad_tensor(from, "it has data and a place; give one of them");
    if (from.place().bytes() > static_cast<std::uint64_t>(kMaxPlacedBytes)) {
      return bad_tensor(from, "its place is too large");
    }
    view.size_bytes = static_cast<std::int64_t>(from.place().bytes());
  } else {
    view.size_bytes = static_cast<std::int64_t>(from.data().size());
    // Read only, as Context::set_input says.
    view.data =
        const_cast<char*>(from.data().data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  const Status sized = terms::check_size(view);
  if (!sized.is_ok()) return bad_tensor(from, sized.message());
  return view;
}

Result<std::vector<terms::TensorView>> inputs_of(const v1::InferRequest& request,
                                                 const terms::Signature& signature,
                                                 const OpenPlace& open, const FindTensor& find) {
  // In the order of the signature, whatever the order of the message.
  std::vector<terms::TensorView> views(signature.inputs.size());
  std::vector<bool> has_come(views.size());
  for (const v1::Tensor& tensor : request.inputs()) {
    const std::size_t index = SLUICE_TRY(index_of(signature, tensor));
    if (has_come[index]) return bad_tensor(tensor, "it came twice");
    has_come[index] = true;
    if (tensor.exchange() != 0) {
      if (tensor.has_place() || !tensor.data().empty()) {
        return bad_tensor(tensor, "it has an index and data or a place; give one of them");
      }
      views[index] = SLUICE_TRY(find(tensor.exchange()).with_context(signature.inputs[index].name));
      continue;
    }
    views[index] = SLUICE_TRY(view_of(tensor));
    if (!tensor.has_place()) continue;
    views[index].data = SLUICE_TRY(
        open(index, from_proto(tensor.place())).with_context(signature.inputs[index].name));
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (has_come[i]) continue;
    // The view points into the signature, which lives as long as the model.
    if (const auto value = terms::default_of(signature.inputs[i])) {
      views[i] = *value;
      continue;
    }
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "input \"{}\" is missing; the model takes {}",
                                signature.inputs[i].name, names_of(signature.inputs));
  }
  return views;
}

terms::RegionSlice from_proto(const v1::Place& from) {
  return {from.region(), from.offset(), from.bytes()};
}

void to_proto(const terms::RegionSlice& from, v1::Place& to) {
  to.set_region(from.region);
  to.set_offset(from.offset);
  to.set_bytes(from.size_bytes);
}

void to_proto(const terms::TensorView& from, std::string_view name, v1::Tensor& to) {
  to.set_name(valid_utf8(name));
  to.set_element_type(static_cast<std::int32_t>(from.element));
  to.mutable_shape()->Assign(from.dims.begin(), from.dims.end());
  if (from.size_bytes > 0) {
    to.set_data(from.data, static_cast<std::size_t>(from.size_bytes));
  }
}

}  // namespace sluice::rpc::wire

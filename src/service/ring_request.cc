#include "service/ring_request.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace sluice::service {
namespace {

Status bad(std::string_view what, std::string_view name, std::string_view why) {
  return terms::runtime_error(RuntimeCode::kBadInput, "{} \"{}\": {}", what, name, why);
}

/// All but where its bytes are.
Result<terms::TensorView> view_of(const shm::RingTensor& from, std::string_view name) {
  const auto element = ir::element_type_from_onnx(from.element_type);
  if (!element) return bad("tensor", name, fmt::format("{} is no element type", from.element_type));
  if (*element == ir::ElementType::kString) {
    return bad("tensor", name, "texts do not go through a ring; send them with Infer");
  }
  if (from.rank > shm::kMaxRingRank) {
    return bad(
        "tensor", name,
        fmt::format("{} dimensions, at most {} fit a ring's entry", from.rank, shm::kMaxRingRank));
  }
  terms::TensorView view;
  view.element = *element;
  view.dims.assign(from.dims.begin(), from.dims.begin() + from.rank);
  const auto count = checked_product(view.dims);
  // dims come from a client: the product is checked before it becomes a size.
  if (!count) return bad("tensor", name, "its shape is negative or too large");
  const auto size = ir::storage_bytes(*element, *count);
  if (!size || static_cast<std::uint64_t>(*size) != from.bytes) {
    return bad("tensor", name,
               fmt::format("{}[{}] has {} bytes, {} are given", ir::element_type_name(*element),
                           fmt::join(view.dims, ","), size.value_or(-1), from.bytes));
  }
  view.size_bytes = *size;
  return view;
}

Status check_count(std::size_t given, std::size_t taken, std::string_view what) {
  if (given == taken) return ok_status();
  return terms::runtime_error(RuntimeCode::kBadInput, "the entry has {} {}, the model {}", given,
                              what, taken);
}

}  // namespace

Result<std::vector<terms::TensorView>> read_ring_request(const shm::Submission& entry,
                                                         const dispatch::ModelRef& model,
                                                         const ClientSession& session,
                                                         PlacedTensors& placed) {
  const terms::Signature& signature = model.signature();
  SLUICE_TRY(check_count(entry.head.num_inputs, signature.inputs.size(), "inputs"));
  SLUICE_TRY(check_count(entry.head.num_outputs, signature.outputs.size(), "outputs"));
  std::vector<terms::TensorView> inputs;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    // The caller has copied the entry out of shared memory: the client cannot change what is
    // checked here.
    const shm::RingTensor& tensor = entry.tensors[i];
    const std::string& name = signature.inputs[i].name;
    terms::TensorView view = SLUICE_TRY(view_of(tensor, name));
    const terms::RegionSlice place{tensor.region, tensor.offset, tensor.bytes};
    auto input = SLUICE_TRY(open_input(session, place, model.reads_in_place(i)).with_context(name));
    view.data = input.data;
    inputs.push_back(std::move(view));
    // Keeps the region mapped until the answer.
    placed.owners.push_back(std::move(input.owner));
  }
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const shm::RingTensor& tensor = entry.tensors[signature.inputs.size() + i];
    placed.outputs.push_back(
        SLUICE_TRY(open_output(session, {tensor.region, tensor.offset, tensor.bytes})
                       .with_context(signature.outputs[i].name)));
  }
  return inputs;
}

void write_completion(const runtime::Reply& reply, const PlacedTensors& placed,
                      const terms::Signature& signature, shm::Completion& to) {
  if (reply.outputs.empty() && reply.code != RuntimeCode::kOk) {
    return write_completion(reply.errors.to_status(), to);
  }
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    const terms::TensorView& view = reply.outputs[i].view;
    Status status = ok_status();
    if (view.dims.size() > shm::kMaxRingRank) {
      status = bad("output", signature.outputs[i].name, "too many dimensions for a ring's entry");
    } else if (view.element == ir::ElementType::kString) {
      status = bad("output", signature.outputs[i].name, "texts do not go through a ring");
    } else {
      status = store(placed.outputs[i], view, signature.outputs[i].name);
    }
    if (!status.is_ok()) return write_completion(status, to);
    shm::RingTensor& tensor = to.outputs[i];
    tensor.region = placed.outputs[i].place.region;
    tensor.offset = placed.outputs[i].place.offset;
    tensor.bytes = static_cast<std::uint64_t>(view.size_bytes);
    tensor.element_type = static_cast<std::int32_t>(view.element);
    tensor.rank = static_cast<std::uint32_t>(view.dims.size());
    std::ranges::copy(view.dims, tensor.dims.begin());
  }
  to.head.runtime_code = static_cast<std::int32_t>(reply.code);
  to.head.num_outputs = static_cast<std::uint32_t>(reply.outputs.size());
}

void write_completion(const Status& status, shm::Completion& to) {
  to.head.status_code = static_cast<std::int32_t>(status.code());
  to.head.runtime_code = static_cast<std::int32_t>(terms::runtime_code_of(status));
  // An entry has a fixed size; a long message is cut.
  const std::size_t size = std::min(status.message().size(), to.message.size());
  to.head.message_bytes = static_cast<std::uint32_t>(size);
  std::memcpy(to.message.data(), status.message().data(), size);
}

}  // namespace sluice::service

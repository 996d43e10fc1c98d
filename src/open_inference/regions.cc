// Tensors of a request that lie in regions which the client registered.
#include <fmt/format.h>

#include <memory>

#include "base/byte_budget.h"
#include "base/utf8.h"
#include "open_inference/datatypes.h"
#include "open_inference/request.h"
#include "service/client_session.h"
#include "terms/runtime_code.h"

namespace sluice::open_inference {
namespace {

constexpr std::size_t kShownBytes = 200;

terms::RegionSlice slice_of(const RegionPlace& place) {
  return {0, place.offset, place.size_bytes};
}

/// Refuses a size that is not that of the shape before the copy is made.
Status check_size(const InputTensor& input) {
  terms::TensorView view;
  const auto element = find_datatype(input.datatype);
  if (!element || *element == ir::ElementType::kString) return ok_status();  // to_runtime looks
  view.element = *element;
  view.dims = input.shape;
  view.size_bytes = static_cast<std::int64_t>(input.place->size_bytes);
  return terms::check_size(view);
}

Status open_input(const service::ClientSession& session, InputTensor& input, Owners& owners) {
  SLUICE_TRY(check_size(input));
  const auto size_bytes = static_cast<std::int64_t>(input.place->size_bytes);
  auto charge = SLUICE_TRY(ByteCharge::take(session.answers(), size_bytes)
                               .with_context("copies of inputs in shared memory"));
  const auto placed =
      SLUICE_TRY(service::open_named_input(session, input.place->region, slice_of(*input.place)));
  input.bytes = {static_cast<const char*>(placed.data), input.place->size_bytes};
  owners.push_back(placed.owner);
  owners.push_back(std::make_shared<ByteCharge>(std::move(charge)));
  return ok_status();
}

}  // namespace

Status find_cuda_region(std::string_view name) {
  if (name.empty()) return ok_status();  // all
  return terms::runtime_error(RuntimeCode::kInvalidHandle, "no region \"{}\" is registered",
                              valid_utf8(name.substr(0, kMaxNameBytes)));
}

Status register_cuda_region(std::string_view name) {
  return unimplemented(
      "region \"{}\": CUDA shared memory is not served; register system shared memory, or send the "
      "tensors",
      valid_utf8(name.substr(0, kMaxNameBytes)));
}

Result<RegionPlace> to_place(std::string_view region, std::int64_t offset,
                             std::int64_t size_bytes) {
  if (region.empty() || offset < 0 || size_bytes <= 0) {
    return terms::runtime_error(
        RuntimeCode::kBadInput,
        "shared_memory_region \"{}\", shared_memory_offset {}, shared_memory_byte_size {}: a "
        "tensor "
        "in shared memory has a region and a size above 0, and an offset of 0 or more",
        region.substr(0, kShownBytes), offset, size_bytes);
  }
  return RegionPlace{region, static_cast<std::uint64_t>(offset),
                     static_cast<std::uint64_t>(size_bytes)};
}

Status open_regions(const service::ClientSession& session, InferRequest& request, Owners& owners) {
  for (InputTensor& input : request.inputs) {
    if (!input.place) continue;
    SLUICE_TRY(open_input(session, input, owners)
                   .with_context(fmt::format("input {}", input.name.substr(0, kShownBytes))));
  }
  for (WantedOutput& output : request.outputs) {
    if (!output.place) continue;
    output.target = SLUICE_TRY(
        service::open_named_output(session, output.place->region, slice_of(*output.place))
            .with_context(fmt::format("output {}", output.name.substr(0, kShownBytes))));
  }
  return ok_status();
}

}  // namespace sluice::open_inference

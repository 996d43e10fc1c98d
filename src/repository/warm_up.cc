#include "repository/warm_up.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "runtime/request/request.h"

namespace sluice::repository {
namespace {

constexpr std::int64_t kMaxNs = 60'000'000'000;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 28;  // of all inputs

using Memory = std::vector<std::unique_ptr<std::byte[]>>;

std::optional<terms::TensorView> zeros_of(const terms::TensorSpec& spec, Memory& memory,
                                          std::int64_t& left_bytes) {
  if (auto value = terms::default_of(spec)) return value;
  const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
  if (shape == nullptr) return std::nullopt;
  terms::TensorView view;
  view.element = spec.type.element();
  std::optional<std::int64_t> count = 1;
  for (const ir::Dim& dim : *shape) {
    view.dims.push_back(dim.is_known() ? dim.value() : 1);
    count = count ? checked_mul(*count, view.dims.back()) : std::nullopt;
  }
  const auto size_bytes = count ? ir::storage_bytes(view.element, *count) : std::nullopt;
  if (!size_bytes || *size_bytes > left_bytes) return std::nullopt;
  left_bytes -= *size_bytes;
  view.size_bytes = *size_bytes;
  memory.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(*size_bytes)));
  view.data = memory.back().get();
  return view;
}

}  // namespace

void warm_up(const dispatch::ModelRef& model) {
  const auto memory = std::make_shared<Memory>();
  std::int64_t left_bytes = kMaxBytes;
  runtime::Request request;
  for (const terms::TensorSpec& spec : model.signature().inputs) {
    auto zeros = zeros_of(spec, *memory, left_bytes);
    if (!zeros) return;
    request.inputs.push_back(std::move(*zeros));
  }
  request.memory_owner = memory;
  if (model.declared().sequences) {
    request.sequence = std::make_shared<const terms::SequencePart>(
        terms::SequencePart{"1", true, 1, /*is_start=*/true, /*is_end=*/true});
  }
  request.deadline_ns = model.clock().now_ns() + kMaxNs;
  // An error is no reason to keep the model from its clients.
  (void)runtime::infer(model.sink(), std::move(request));
}

}  // namespace sluice::repository

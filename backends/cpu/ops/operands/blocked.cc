#include "ops/operands/blocked.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

constexpr std::int64_t kBlockChannels = 16;

bool is_blocked(const sluice_tensor& tensor) { return tensor.layout == SLUICE_LAYOUT_C16; }

/// A row-major operand within a c16 output: one value per image or pixel for all channels, or whole
/// blocks of per-channel values.
std::optional<Dims> planes_within_blocks(std::span<const std::int64_t> dims, std::size_t rank) {
  Dims aligned(rank, 1);
  std::copy(dims.begin(), dims.end(), aligned.end() - static_cast<std::ptrdiff_t>(dims.size()));
  aligned.push_back(1);
  const std::int64_t channels = aligned[1];
  if (channels == 1) return aligned;
  aligned[1] = 1;
  const bool per_channel =
      std::all_of(aligned.begin(), aligned.end(), [](std::int64_t d) { return d == 1; });
  if (!per_channel || channels % kBlockChannels != 0) return std::nullopt;
  aligned[1] = channels / kBlockChannels;
  aligned.back() = kBlockChannels;
  return aligned;
}

}  // namespace

Dims memory_dims(const sluice_tensor& tensor) {
  Dims dims(tensor.dims, tensor.dims + tensor.rank);
  if (!is_blocked(tensor)) return dims;
  if (dims[1] >= 0) dims[1] = (dims[1] + kBlockChannels - 1) / kBlockChannels;
  dims.push_back(kBlockChannels);
  return dims;
}

std::optional<Dims> memory_dims_within(const sluice_tensor& operand, const sluice_tensor& out) {
  const auto dims = plugin::dims_of(operand);
  if (!is_blocked(out)) {
    if (is_blocked(operand)) return std::nullopt;
    return Dims(dims.begin(), dims.end());
  }
  if (!is_blocked(operand)) {
    return planes_within_blocks(dims, static_cast<std::size_t>(out.rank));
  }
  // A single channel would have to be spread over the lanes.
  if (operand.rank != out.rank || dims[1] != out.dims[1]) return std::nullopt;
  return memory_dims(operand);
}

}  // namespace sluice::cpu

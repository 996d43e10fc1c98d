#include "worker/protocol/answer_room.h"

#include <algorithm>
#include <optional>

namespace sluice::worker {
namespace {

/// Numbers, text, errors and tensor descriptions of a Bundle. A longer table asks for more room.
constexpr std::int64_t kTableBytes = 8 << 10;
/// A guess for outputs of unknown size. A worker asks for more room if an answer does not fit.
constexpr std::int64_t kUnknownBytes = 64 << 10;
/// A signature may name absurd sizes.
constexpr std::int64_t kMaxOutputBytes = std::int64_t{1} << 30;
/// Alignment of each tensor in a Bundle.
constexpr std::int64_t kAlignmentBytes = 64;

/// Nullopt for strings, whose text lies elsewhere, and for shapes with symbols.
std::optional<std::int64_t> known_bytes(const terms::TensorSpec& spec) {
  return ir::storage_bytes(spec.type);
}

}  // namespace

std::int64_t first_room_bytes(const terms::Signature& signature) {
  std::int64_t bytes = kTableBytes;
  for (const terms::TensorSpec& spec : signature.outputs) {
    bytes += std::min(known_bytes(spec).value_or(kUnknownBytes), kMaxOutputBytes) + kAlignmentBytes;
  }
  return bytes;
}

std::vector<terms::OutputMemory> outputs_in(std::span<std::byte> room,
                                            const terms::Signature& signature) {
  std::vector<terms::OutputMemory> outputs(signature.outputs.size());
  const auto room_bytes = static_cast<std::int64_t>(room.size());
  std::int64_t offset = kTableBytes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto bytes = known_bytes(signature.outputs[i]);
    if (!bytes || *bytes > room_bytes - offset) continue;
    outputs[i] = {room.data() + offset, *bytes};
    offset += (*bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  }
  return outputs;
}

}  // namespace sluice::worker

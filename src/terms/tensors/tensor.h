// Tensors in memory that somebody owns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/type.h"

namespace sluice::terms {

/// A tensor in memory that the view does not own, in row-major order.
struct TensorView {
  void* data = nullptr;
  std::int64_t size_bytes = 0;
  ir::ElementType element = ir::ElementType::kUndefined;
  std::vector<std::int64_t> dims;
};

ir::Type type_of(const TensorView& view);
/// As ir::storage_bytes of its type; allocates nothing.
std::optional<std::int64_t> storage_bytes(const TensorView& view);
/// Checks a shape that a client sent. Fails: kBadInput for too many dimensions, and for a shape
/// that is negative or too large.
Status check_dims(std::span<const std::int64_t> dims);
/// As check_dims. Fails: kBadInput, too, unless the bytes are as many as type and shape say; those
/// of strings are not counted.
Status check_size(const TensorView& view);

/// A caller's memory for an output. Null data: the runtime allocates the output.
struct OutputMemory {
  void* data = nullptr;
  std::int64_t capacity_bytes = 0;
};

/// The bytes of a tensor that a model left in the memory of its device.
struct LeftBytes {
  const void* device = nullptr;  ///< stands for that device; compared alone
  /// Copies the bytes to the tensor's memory in the host, which nobody reads before; once, however
  /// often it is called. Blocks. Safe from any thread. Fails: kDeviceError, for a lost device.
  std::function<Status()> fetch;
};

/// An output of a reply. `owner` keeps the runtime's memory alive; null if the caller owns the
/// memory.
struct OutputTensor {
  TensorView view;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const LeftBytes> left = nullptr;  ///< null: the bytes are in the host's memory
};

}  // namespace sluice::terms

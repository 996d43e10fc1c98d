// Tensors in memory that somebody owns.
#pragma once

#include <cstdint>
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

/// An output of a reply. `owner` keeps the runtime's memory alive; null if the caller owns the
/// memory.
struct OutputTensor {
  TensorView view;
  std::shared_ptr<const void> owner;
};

}  // namespace sluice::terms

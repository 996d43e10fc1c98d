// What an operand holds: a tensor, a sequence of tensors, or an optional of either.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "ir/attribute.h"
#include "terms/tensors/tensor.h"

namespace sluice::exec {

/// A tensor that several values share. Immutable; its memory is aligned to 64 bytes.
struct Tensor {
  terms::TensorView view;
  std::shared_ptr<const void> memory;  ///< keeps `view.data` alive
};

/// A copy in memory of its own.
/// Fails: kResourceExhausted.
Result<std::shared_ptr<const Tensor>> copy_tensor(const terms::TensorView& view);

struct Sequence {
  ir::ElementType element = ir::ElementType::kUndefined;  ///< of its items; undefined if not told
  std::vector<std::shared_ptr<const Tensor>> items;
};

/// Copies share their tensor or sequence. At most one member is set. An optional without an element
/// sets neither; an optional with an element is represented by that element. Only the sole owner
/// (`use_count() == 1`) may change a sequence.
struct Value {
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<Sequence> sequence;

  bool is_empty() const { return tensor == nullptr && sequence == nullptr; }
  /// "f32[2,3]", "seq(f32) of 3", "empty optional": for messages.
  std::string describe() const;
};

/// Values outside of runs hold strings as offsets and bytes, inside as texts (backend/texts.h).
/// Decoded texts point into the encoded value, which must outlive them.
Result<Value> decode_strings(const Value& value);
Result<Value> encode_strings(const Value& value);

}  // namespace sluice::exec

// Header-only helpers for plug-in authors: status values, views of operations and tensors, and the
// guard that keeps exceptions from crossing the C boundary. `sluice/host_backend.hpp` builds a
// complete plug-in on top of them.
//
// Views borrow: a view is valid as long as the C struct that it refers to. The helpers have no
// state and are safe from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/backend.h"

namespace sluice::plugin {

// ---- status -------------------------------------------------------------------------------------

/// Success, or a code with a one-line text: what was wrong, where, and what to do.
struct [[nodiscard]] Status {
  sluice_code code = SLUICE_OK;
  std::string text;

  bool is_ok() const { return code == SLUICE_OK; }
};

inline Status ok() { return {}; }
inline Status invalid_argument(std::string text) {
  return {SLUICE_INVALID_ARGUMENT, std::move(text)};
}
inline Status unimplemented(std::string text) { return {SLUICE_UNIMPLEMENTED, std::move(text)}; }
inline Status internal_error(std::string text) { return {SLUICE_INTERNAL, std::move(text)}; }

/// Copies `text` into the caller's buffer, cut to fit and NUL-terminated.
inline void write_message(sluice_message* message, std::string_view text) noexcept {
  if (message == nullptr || message->text == nullptr || message->capacity == 0) return;
  const std::size_t size = std::min(text.size(), message->capacity - 1);
  std::memcpy(message->text, text.data(), size);
  message->text[size] = '\0';
}

/// Calls `function`, which returns a Status, and converts an exception to a Status.
template <typename Function>
Status catch_all(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return {SLUICE_RESOURCE_EXHAUSTED, "out of memory"};
  } catch (const std::exception& error) {
    return internal_error(error.what());
  } catch (...) {
    return internal_error("unknown exception");
  }
}

/// Runs `function`, which returns a Status, as the body of a table entry. No exception escapes.
template <typename Function>
sluice_code guard(sluice_message* message, Function&& function) noexcept {
  try {
    const Status status = catch_all(std::forward<Function>(function));
    if (!status.is_ok()) write_message(message, status.text);
    return status.code;
  } catch (...) {
    return SLUICE_RESOURCE_EXHAUSTED;  // no memory for the text of the error
  }
}

// ---- tensors ------------------------------------------------------------------------------------

/// Numbers of ONNX's TensorProto.DataType.
enum ElementType : sluice_element_type {
  kAbsent = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kC64 = 14,
  kC128 = 15,
  kBf16 = 16,
  kF8E4M3Fn = 17,
  kF8E4M3Fnuz = 18,
  kF8E5M2 = 19,
  kF8E5M2Fnuz = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,
  kI2 = 26,
};

/// Bits of one element, a `sluice_text` for strings; 0 for unknown numbers.
inline int element_bits(sluice_element_type type) {
  constexpr std::uint8_t kBits[] = {0,  32,  8,  8, 16, 16, 32, 64, 128, 8, 16, 64, 32, 64,
                                    64, 128, 16, 8, 8,  8,  8,  4,  4,   4, 8,  2,  2};
  return type < 0 || type >= static_cast<int>(std::size(kBits)) ? 0 : kBits[type];
}

inline bool is_absent(const sluice_tensor& tensor) { return tensor.element_type == kAbsent; }

inline std::span<const std::int64_t> dims_of(const sluice_tensor& tensor) {
  return {tensor.dims, static_cast<std::size_t>(tensor.rank)};
}

/// Every dimension is known.
inline bool is_static(const sluice_tensor& tensor) {
  return std::ranges::none_of(dims_of(tensor), [](std::int64_t dim) { return dim < 0; });
}

/// The number of elements; -1 if a dimension is unknown or the product exceeds int64.
inline std::int64_t num_elements(std::span<const std::int64_t> dims) {
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(product, dim, &product)) return -1;
  }
  return product;
}
inline std::int64_t num_elements(const sluice_tensor& tensor) {
  return num_elements(dims_of(tensor));
}

/// The elements of a row-major tensor of element type `T`, writable if it is an output.
/// Requires: `T` is as large as the tensor's elements, and every dimension is known.
template <typename T>
std::span<T> elements(const sluice_tensor& tensor) {
  return {static_cast<T*>(tensor.data), static_cast<std::size_t>(num_elements(tensor))};
}

/// Formats dimensions as "[2,3]".
inline std::string to_string(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

/// The characters of a text, borrowed.
inline std::string_view view(const sluice_text& text) {
  return {text.data, static_cast<std::size_t>(text.size_bytes)};
}

// ---- operations ---------------------------------------------------------------------------------

/// Attributes by name, borrowed from their operation. An attribute of another kind counts as
/// absent: the getters then return `fallback`, or an empty list.
class Attributes {
 public:
  Attributes(const sluice_op& op)  // NOLINT(google-explicit-constructor)
      : all_(op.attributes, static_cast<std::size_t>(op.num_attributes)) {}
  Attributes(const sluice_body_step& step)  // NOLINT(google-explicit-constructor)
      : all_(step.attributes, static_cast<std::size_t>(step.num_attributes)) {}
  explicit Attributes(std::span<const sluice_attribute> all) : all_(all) {}

  const sluice_attribute* find(std::string_view name, sluice_attribute_kind kind) const {
    for (const sluice_attribute& attribute : all_) {
      if (attribute.kind == kind && name == attribute.name) return &attribute;
    }
    return nullptr;
  }

  std::int64_t get_int(std::string_view name, std::int64_t fallback = 0) const {
    const auto* found = find(name, SLUICE_ATTRIBUTE_INT);
    return found != nullptr ? found->ints[0] : fallback;
  }
  float get_float(std::string_view name, float fallback = 0) const {
    const auto* found = find(name, SLUICE_ATTRIBUTE_FLOAT);
    return found != nullptr ? found->floats[0] : fallback;
  }
  std::string_view get_text(std::string_view name, std::string_view fallback = "") const {
    const auto* found = find(name, SLUICE_ATTRIBUTE_TEXT);
    return found != nullptr ? view(found->texts[0]) : fallback;
  }
  /// Empty if absent.
  std::span<const std::int64_t> get_ints(std::string_view name) const {
    const auto* found = find(name, SLUICE_ATTRIBUTE_INTS);
    if (found == nullptr) return {};
    return {found->ints, static_cast<std::size_t>(found->count)};
  }
  std::span<const float> get_floats(std::string_view name) const {
    const auto* found = find(name, SLUICE_ATTRIBUTE_FLOATS);
    if (found == nullptr) return {};
    return {found->floats, static_cast<std::size_t>(found->count)};
  }
  std::vector<std::string_view> get_texts(std::string_view name) const {
    std::vector<std::string_view> texts;
    const auto* found = find(name, SLUICE_ATTRIBUTE_TEXTS);
    for (std::int64_t i = 0; found != nullptr && i < found->count; ++i) {
      texts.push_back(view(found->texts[i]));
    }
    return texts;
  }
  /// Null if absent.
  const sluice_tensor* get_tensor(std::string_view name) const {
    const auto* found = find(name, SLUICE_ATTRIBUTE_TENSOR);
    return found != nullptr ? found->tensor : nullptr;
  }

 private:
  std::span<const sluice_attribute> all_;
};

inline std::span<const sluice_operand> inputs_of(const sluice_op& op) {
  return {op.inputs, static_cast<std::size_t>(op.num_inputs)};
}
inline std::span<const sluice_operand> outputs_of(const sluice_op& op) {
  return {op.outputs, static_cast<std::size_t>(op.num_outputs)};
}
inline std::span<const sluice_operand> body_inputs_of(const sluice_op& op) {
  return {op.body_inputs, static_cast<std::size_t>(op.num_body_inputs)};
}

/// The operator's name for messages: `sluice::Elementwise` or `Relu`.
inline std::string kind_of(const sluice_op& op) {
  return *op.domain == '\0' ? op.kind : std::string(op.domain) + "::" + op.kind;
}

/// The operation for messages: `node "conv1" (Conv)`, `Conv` for a node without a name. The host
/// finds the node by this text, and adds where the program has it.
inline std::string describe(const sluice_op& op) {
  const std::string_view name = op.name != nullptr ? op.name : "";
  return name.empty() ? kind_of(op) : "node \"" + std::string(name) + "\" (" + kind_of(op) + ")";
}

/// The status, whose text names the operation. Those that run kernels call it, so that a kernel
/// says only what is wrong: "index 7 is outside axis 1 of 5".
inline Status at_node(const sluice_op& op, Status status) {
  if (status.is_ok()) return status;
  const std::string node = describe(op);
  if (status.text.find(node) == std::string::npos) status.text = node + ": " + status.text;
  return status;
}

/// SLUICE_OUT_OF_RANGE: an index of data that an axis of `size` does not have.
inline Status index_outside(std::int64_t index, std::int64_t axis, std::int64_t size) {
  return {SLUICE_OUT_OF_RANGE, "index " + std::to_string(index) + " is outside axis " +
                                   std::to_string(axis) + ", which has " + std::to_string(size)};
}

}  // namespace sluice::plugin

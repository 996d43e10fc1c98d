// Types of operands: tensors, and sequences and optionals of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/element_type.h"

namespace sluice::ir {

using Shape = std::vector<Dim>;

/// Order of a tensor's elements in memory. Values are those of `SLUICE_LAYOUT_*` in backend.h.
enum class Layout : std::int32_t {
  kRowMajor = 0,
  kC16 = 1,  ///< [N, ceil(C/16), spatial..., 16]: channels in blocks of 16, the tail block padded
};

std::string_view layout_name(Layout layout);  ///< "row_major", "c16"
std::optional<Layout> find_layout(std::string_view name);

/// Value type. A tensor's shape is logical (`[N, C, H, W]`) whatever its layout.
class Type {
 public:
  enum class Kind { kUnknown, kTensor, kSequence, kOptional };

  Type() = default;
  static Type tensor(ElementType element, std::optional<Shape> shape = std::nullopt,
                     Layout layout = Layout::kRowMajor);
  static Type sequence(Type item);
  static Type optional(Type item);

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  /// kUndefined when unknown or not a tensor.
  ElementType element() const { return element_; }
  Layout layout() const { return layout_; }
  /// Requires: is_tensor(). Null when even the rank is unknown.
  const Shape* shape() const { return shape_ ? &*shape_ : nullptr; }
  /// The item type of a sequence or an optional.
  const Type& item() const { return *item_; }

  Type with_shape(std::optional<Shape> shape) const;
  Type with_element(ElementType element) const;
  Type with_layout(Layout layout) const;

  /// Every dimension is a number.
  bool is_static() const;
  /// Dimensions as numbers; nullopt unless is_static().
  std::optional<std::vector<std::int64_t>> static_dims() const;

  /// "f32[N,3,224,224]", "f32[?]" for an unknown rank, "f32[1,64,7,7]@c16", "seq(i64[])".
  std::string to_string() const;

  friend bool operator==(const Type& a, const Type& b);

 private:
  Kind kind_ = Kind::kUnknown;
  ElementType element_ = ElementType::kUndefined;
  Layout layout_ = Layout::kRowMajor;
  std::optional<Shape> shape_;
  std::shared_ptr<const Type> item_;
};

/// Reads what `Type::to_string` prints. Fails: kInvalidArgument.
Result<Type> parse_type(std::string_view text);

/// Elements of a static shape; nullopt if symbolic, negative, or past 2^63.
std::optional<std::int64_t> num_elements(const Shape& shape);

/// Bytes in memory of a static tensor in its layout (c16 pads channels); nullopt as above.
std::optional<std::int64_t> storage_bytes(const Type& type);

/// Bytes while a model runs: as `storage_bytes`, and 16 for each string, whose text lies elsewhere.
std::optional<std::int64_t> run_bytes(const Type& type);

std::string shape_to_string(const Shape& shape);  ///< "[N,3,224,224]"

}  // namespace sluice::ir

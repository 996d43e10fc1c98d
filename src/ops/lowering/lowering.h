// Rewrites one operation into operations of ONNX's default domain.
//
// Operators of com.microsoft and most of ai.onnx.ml are defined by such a rewrite, a lowering:
// import replaces them, and no backend ever sees them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/inference.h"

namespace sluice::ops {

/// The operation being replaced. Emitted operations are normalized and inserted before it.
class Lowering {
 public:
  using Inputs = std::vector<ir::OperandId>;
  using AttributeList = std::vector<std::pair<std::string, ir::Attribute>>;

  /// `has_values` is false where shapes are inferred: then no input is a constant.
  Lowering(ir::Subgraph& subgraph, ir::OperationId at, bool has_values)
      : subgraph_(subgraph), at_(at), operation_(subgraph.operation(at)), has_values_(has_values) {}
  bool has_values() const { return has_values_; }

  const ir::Operation& operation() const { return operation_; }
  ir::OperandId input(std::size_t index) const { return operation_.input(index); }
  bool has(std::size_t index) const { return input(index).is_valid(); }
  bool wants(std::size_t output) const { return operation_.output(output).is_valid(); }
  ir::ElementType element(std::size_t index) const {
    return has(index) ? subgraph_.operand(input(index)).type.element()
                      : ir::ElementType::kUndefined;
  }
  std::int64_t int_of(std::string_view name, std::int64_t fallback = 0) const {
    return operation_.attributes.get_or<std::int64_t>(name, fallback);
  }
  float float_of(std::string_view name, float fallback = 0) const {
    return operation_.attributes.get_or<float>(name, fallback);
  }

  /// Copies of the operation's attributes with these names.
  AttributeList own_attributes(std::initializer_list<std::string_view> names) const;

  /// Fails: kUnimplemented if it is not known.
  Result<std::vector<ir::Dim>> shape(std::size_t index) const;
  Result<std::size_t> rank(std::size_t index) const;
  /// A dimension, which may be a symbol. Fails: as `shape`; for an axis that the input lacks.
  Result<ir::Dim> size(std::size_t index, std::size_t axis) const;
  /// A dimension that must be a number. `index` of an input, `axis` from the front.
  Result<std::int64_t> dim(std::size_t index, std::size_t axis) const;

  /// Adds an operation of ONNX's default domain, in its newest form; gives its only output.
  Result<ir::OperandId> emit(std::string_view kind, Inputs inputs,
                             const AttributeList& attributes = {}, std::string_view domain = "");
  /// As above; it writes outputs of the operation under replacement, an absent one for -1.
  Status finish(std::string_view kind, Inputs inputs, const AttributeList& attributes = {},
                const std::vector<int>& outputs = {0}, std::string_view domain = "");
  /// Several outputs, new ones.
  Result<std::vector<ir::OperandId>> emit_many(std::string_view kind, Inputs inputs,
                                               std::size_t outputs,
                                               const AttributeList& attributes = {},
                                               std::string_view domain = "");

  Result<ir::OperandId> cast(ir::OperandId x, ir::ElementType element);
  Status finish_cast(ir::OperandId x, ir::ElementType element);
  /// The length of an axis: a vector of one i64.
  Result<ir::OperandId> axis_length(ir::OperandId x, std::int64_t axis);
  /// 0, 1, .. as many as `length` says: a vector of one i64.
  Result<ir::OperandId> count_up(ir::OperandId length);

  ir::OperandId integer(std::int64_t value);                    ///< a constant scalar
  ir::OperandId ints(const std::vector<std::int64_t>& values);  ///< a constant vector
  ir::OperandId constant(ir::Constant value) {
    return subgraph_.add_constant("", std::move(value));
  }
  /// A number of the element type of input `like`.
  Result<ir::OperandId> number(float value, std::size_t like = 0);
  /// The sum of `value` and an input; `value` itself if the input is absent.
  Result<ir::OperandId> plus(ir::OperandId value, std::size_t input);

  const ir::Constant* find_constant(std::size_t index) const {
    return subgraph_.find_constant(input(index));
  }
  /// An output of the operation, for emitted operations that read it.
  ir::OperandId output(std::size_t index) const { return operation_.output(index); }

  template <typename... Args>
  Status error(fmt::format_string<Args...> format, Args&&... args) const {
    return invalid_argument(format, std::forward<Args>(args)...);
  }

  /// Fails if a present output has not been written.
  Status check_complete() const;

 private:
  Result<ir::Operation> make(std::string_view kind, Inputs inputs, const AttributeList& attributes,
                             std::string_view domain);

  ir::Subgraph& subgraph_;
  ir::OperationId at_;
  ir::Operation operation_;  // a copy: adding operations moves those of the subgraph
  bool has_values_;
  std::vector<std::size_t> written_;
};

using LowerFn = Status (*)(Lowering& lowering);

/// Lowerings of operators that have schemas and shape functions of their own; by name.
using NamedLowerings = std::vector<std::pair<std::string_view, LowerFn>>;

/// An operator that is defined by its lowering alone.
struct LoweredOperator {
  std::string_view name;
  std::string_view doc;
  std::vector<OperandSpec> inputs;
  std::vector<std::string_view> outputs;  ///< the first is required
  std::vector<AttributeSpec> attributes;
  LowerFn lower = nullptr;
  std::string_view domain = "com.microsoft";
};

}  // namespace sluice::ops

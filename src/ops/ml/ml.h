// What the operators of the domain ai.onnx.ml share: rows of features, lists, labels of classes.
#pragma once

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/attribute_rules.h"
#include "ops/inference.h"

namespace sluice::ops {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
inline constexpr TypeSet kFeatures = {ir::ElementType::kF32, ir::ElementType::kF64,
                                      ir::ElementType::kI64, ir::ElementType::kI32};
/// Element types of keys in tables of categories.
inline constexpr TypeSet kKeys = kFeatures | kStrings | TypeSet{ir::ElementType::kI16};
inline constexpr TypeSet kLabels = {ir::ElementType::kI64, ir::ElementType::kString};

/// A list attribute; empty where it is absent. Borrows from the operation.
/// Fails: kInvalidArgument if the attribute is there and of another kind.
template <typename T>
Result<std::span<const T>> list_attribute(const InferenceContext& context, std::string_view name) {
  const ir::Attribute* given = context.attributes().find(name);
  if (given == nullptr) return std::span<const T>();
  if (const auto* list = std::get_if<std::vector<T>>(given)) return std::span<const T>(*list);
  const std::size_t taken = ir::Attribute(std::vector<T>()).index();
  return context.error("{}", wrong_kind(name, *given, taken).message());
}

/// Input 0 as rows of features, from [rows, columns] or a single row [columns].
struct Rows {
  ir::Dim rows, columns;
};

/// Dimensions of unknown rank are unknown dimensions.
/// Fails: kInvalidArgument for other ranks.
Result<Rows> feature_rows(InferenceContext& context);

/// Ok if a list with an entry per feature has one for all, or `columns` entries.
Status check_per_feature(const InferenceContext& context, std::string_view name, std::size_t size,
                         const ir::Dim& columns);

/// Attribute `post_transform` names one.
Status check_post_transform(const InferenceContext& context);

/// The labels of a classifier's classes: exactly one of two lists.
struct ClassLabels {
  std::size_t count = 0;
  ir::ElementType element = ir::ElementType::kI64;
};
Result<ClassLabels> class_labels(const InferenceContext& context, std::string_view ints,
                                 std::string_view texts);

/// Outputs of a classifier: a label per row, and scores [rows, columns].
void set_class_outputs(InferenceContext& context, const ClassLabels& labels, const ir::Dim& rows,
                       ir::Dim columns);

/// An entry of the table, of one version; `infer` checks the attributes that have no default.
OpSchema ml_schema(std::string_view name, std::string_view doc, InferFn infer,
                   std::vector<AttributeSpec> attributes);

}  // namespace sluice::ops

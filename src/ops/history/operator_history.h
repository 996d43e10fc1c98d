// Which operators and attributes each opset has.
//
// Comes from the schemas of the packages onnx and onnxruntime (table.cc), so it also knows
// operators and versions that the operator table does not.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::ops {

struct AttributeHistory {
  std::string_view name;
  int first = 1;                               ///< opset that has it
  int last = std::numeric_limits<int>::max();  ///< opset that has it
  bool became_input = false;                   ///< of the same name, in opset last + 1
};

struct OperatorHistory {
  std::string_view domain;
  std::string_view name;
  int first = 1;  ///< the opset that brought the operator
  std::vector<AttributeHistory> attributes;

  bool has_attribute(std::string_view attribute, int opset) const;
};

/// Null for operators of no standard. Lives as long as the program. Safe from any thread.
const OperatorHistory* find_history(std::string_view domain, std::string_view name);

/// What to write instead of an attribute that the operator does not have in `opset`: where it went,
/// the opset that has it, a similar name, or all names.
std::string advise_on_attribute(const OperatorHistory& history, int opset,
                                std::string_view attribute);

/// The operator whose name is a misspelling of `name`; nullopt if none is similar enough.
std::optional<std::string_view> similar_operator(std::string_view domain, std::string_view name);

}  // namespace sluice::ops

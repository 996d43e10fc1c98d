// What the standard lets the attributes of its default domain be, whatever the shapes; and inputs
// that no model has.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "ir/attribute.h"
#include "ir/graph.h"
#include "ops/schema.h"

namespace sluice::ops {

/// Checks kinds, ranges and words of a node's attributes as a model gives them. In ONNX an
/// attribute's name tells its kind, whatever the operator and version; ranges and words stand in
/// the text of the operators. What depends on shapes, an axis say, is the shape functions'. Fails:
/// kInvalidArgument naming attribute and value; the node is the caller's to name.
Status check_attribute_rules(std::string_view kind, const ir::Attributes& attributes);

/// The error of an attribute that is `given` as another kind than the `taken`-th alternative of
/// ir::Attribute; tells both. The node is the caller's to name.
Status wrong_kind(std::string_view name, const ir::Attribute& given, std::size_t taken);

/// Checks the inputs of a node as a model gives it: only the compiler passes the state of random
/// numbers. Fails: kInvalidArgument naming the node.
Status check_no_state(const OpSchema& schema, const ir::Operation& operation);

}  // namespace sluice::ops

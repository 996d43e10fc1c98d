#include "onnx/functions.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <limits>
#include <string_view>

#include "onnx/proto/names.h"
#include "onnx/proto/sort.h"

namespace sluice::onnx {
namespace {

// Parameters with default values and overloads came to ONNX after the classes of Debian 12: there
// they are unknown fields, which have these numbers in onnx.proto.
constexpr int kAttributeProto = 11;    // of FunctionProto, since 1.13
constexpr int kFunctionOverload = 13;  // of FunctionProto, since 1.16
constexpr int kNodeOverload = 8;       // of NodeProto, since 1.16

std::vector<std::string_view> unknown_texts(const google::protobuf::Message& message, int number) {
  std::vector<std::string_view> texts;
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    const bool is_text = field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED;
    if (field.number() == number && is_text) texts.emplace_back(field.length_delimited());
  }
  return texts;
}

template <typename FunctionProto>
Result<std::vector<pb::AttributeProto>> read_defaults(const FunctionProto& function) {
  std::vector<pb::AttributeProto> defaults;
  if constexpr (requires { function.attribute_proto(); }) {
    const auto& known = function.attribute_proto();
    defaults.assign(known.begin(), known.end());
  } else {
    for (const std::string_view text : unknown_texts(function, kAttributeProto)) {
      if (!defaults.emplace_back().ParseFromString(std::string(text))) {
        return invalid_argument("has a parameter that cannot be read");
      }
    }
  }
  return defaults;
}

/// Which of several functions of one name a definition is, or a node calls.
template <typename Proto>
std::string overload_of(const Proto& proto, int number) {
  if constexpr (requires { proto.overload(); }) {
    return proto.overload();
  } else {
    const auto texts = unknown_texts(proto, number);
    return texts.empty() ? "" : std::string(texts.back());
  }
}

Result<Function> read_function(pb::FunctionProto& proto, const Opsets& model_opsets) {
  Function function;
  function.proto = &proto;
  function.opsets = SLUICE_TRY(read_opsets(proto.opset_import()));
  function.opsets.insert(model_opsets.begin(), model_opsets.end());
  function.default_values = SLUICE_TRY(read_defaults(proto));
  function.nodes = SLUICE_TRY(sort_nodes(*proto.mutable_node()));
  for (const pb::NodeProto* node : function.nodes) function.cost += node_cost(*node);
  return function;
}

}  // namespace

Result<Opsets> read_opsets(
    const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const pb::OperatorSetIdProto& entry : imports) {
    SLUICE_TRY(check_name(entry.domain()));
    if (entry.version() < 1 || entry.version() > std::numeric_limits<int>::max()) {
      return invalid_argument("the version {} of operator set \"{}\" is {}", entry.version(),
                              shown_domain(entry.domain()),
                              entry.version() < 1 ? "below 1" : "too large");
    }
    opsets.insert_or_assign(canonical_domain(entry.domain()), static_cast<int>(entry.version()));
  }
  return opsets;
}

/// About the memory that an inlined copy of the node takes, in units of 16 bytes. Bounds inlining:
/// a small file whose functions call each other could expand exponentially.
std::int64_t node_cost(const pb::NodeProto& node) {
  constexpr std::int64_t kBase = 8;
  constexpr std::int64_t kBytesPerUnit = 16;
  std::int64_t cost = kBase + node.input_size() + node.output_size();
  for (const pb::AttributeProto& attribute : node.attribute()) {
    cost += 2 + attribute.floats_size() + attribute.ints_size() + attribute.tensors_size();
    cost += static_cast<std::int64_t>(attribute.s().size()) / kBytesPerUnit;
    for (const std::string& text : attribute.strings()) {
      cost += 2 + static_cast<std::int64_t>(text.size()) / kBytesPerUnit;
    }
    for (const pb::NodeProto& inner : attribute.g().node()) cost += node_cost(inner);
    for (const pb::GraphProto& graph : attribute.graphs()) {
      for (const pb::NodeProto& inner : graph.node()) cost += node_cost(inner);
    }
  }
  return cost;
}

Result<FunctionTable> FunctionTable::create(pb::ModelProto& model, const Opsets& opsets) {
  FunctionTable table;
  for (pb::FunctionProto& proto : *model.mutable_functions()) {
    SLUICE_TRY(check_name(proto.domain()));
    SLUICE_TRY(check_name(proto.name()));
    const std::string overload = overload_of(proto, kFunctionOverload);
    SLUICE_TRY(check_name(overload));
    const std::string context = fmt::format("function \"{}::{}{}{}\"", proto.domain(), proto.name(),
                                            overload.empty() ? "" : "::", overload);
    Function function = SLUICE_TRY(read_function(proto, opsets).with_context(context));
    const Key key = {canonical_domain(proto.domain()), proto.name(), overload};
    if (!table.functions_.emplace(key, std::move(function)).second) {
      return invalid_argument("{} is defined twice; names must be distinct", context);
    }
  }
  return table;
}

Function* FunctionTable::find(const pb::NodeProto& node) {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(
      {canonical_domain(node.domain()), node.op_type(), overload_of(node, kNodeOverload)});
  return it == functions_.end() ? nullptr : &it->second;
}

}  // namespace sluice::onnx

#include "onnx/maps.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "ir/text/literal.h"
#include "onnx/proto/names.h"

namespace sluice::onnx {
namespace {

constexpr std::string_view kDomain = "ai.onnx.ml";

const pb::AttributeProto* find_attribute(const pb::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

/// The attribute of `node` that lists its keys; null if it lists none.
const pb::AttributeProto* find_keys(const pb::NodeProto& node) {
  if (node.domain() != kDomain) return nullptr;
  for (const char* name :
       {"classlabels_int64s", "classlabels_strings", "int64_vocabulary", "string_vocabulary"}) {
    const auto* keys = find_attribute(node, name);
    if (keys != nullptr && keys->ints_size() + keys->strings_size() > 0) return keys;
  }
  return nullptr;
}

/// The operator on maps that reads `name`; null if none does.
const pb::NodeProto* find_reader(const pb::GraphProto& graph, const std::string& name) {
  for (const auto& node : graph.node()) {
    const bool reads_maps = node.op_type() == "DictVectorizer" || node.op_type() == "CastMap";
    if (reads_maps && node.domain() == kDomain && node.input_size() == 1 && node.input(0) == name) {
      return &node;
    }
  }
  return nullptr;
}

/// The keys 0, 1, ... up to `max_map` of a CastMap; nullopt if its maps have any keys.
std::optional<std::int64_t> sparse_columns(const pb::NodeProto& node) {
  const auto* form = find_attribute(node, "map_form");
  const auto* count = find_attribute(node, "max_map");
  if (node.op_type() != "CastMap" || form == nullptr || form->s() != "SPARSE") return std::nullopt;
  return count == nullptr ? 1 : std::max<std::int64_t>(count->i(), 0);
}

std::string list_of(const pb::AttributeProto& keys) {
  if (keys.strings_size() == 0) return fmt::format("{}", fmt::join(keys.ints(), ", "));
  std::string list;
  for (const std::string& key : keys.strings()) {
    list += (list.empty() ? "" : ", ") + ir::quote(key);
  }
  return list;
}

}  // namespace

Result<ir::Type> map_columns(const pb::TypeProto& proto) {
  const auto& type = proto.has_sequence_type() ? proto.sequence_type().elem_type() : proto;
  if (!type.has_map_type()) return ir::Type();
  const int value = type.map_type().value_type().tensor_type().elem_type();
  const auto element = ir::element_type_from_onnx(value);
  if (!element) return invalid_argument("has maps of the unknown element type {}", value);
  return ir::Type::tensor(*element);
}

Result<ir::Type> map_input_type(const pb::GraphProto& main, const pb::ValueInfoProto& input,
                                const ir::Dim& unnamed) {
  const pb::NodeProto* reader = find_reader(main, input.name());
  if (reader == nullptr) {
    return invalid_argument(
        "is a map, which no DictVectorizer or CastMap reads; its keys are unknown: export "
        "the model to take a tensor with a column per key");
  }
  const ir::Type columns = SLUICE_TRY(map_columns(input.type()));
  ir::Dim count = unnamed;
  if (const auto* keys = find_keys(*reader)) {
    count = std::max(keys->ints_size(), keys->strings_size());
  } else if (const auto sparse = sparse_columns(*reader)) {
    count = *sparse;
  }
  // One map is one row.
  return columns.with_shape(ir::Shape{ir::Dim(1), count});
}

std::map<std::string, std::string> describe_columns(const pb::GraphProto& main) {
  std::map<std::string, std::string> facts;
  const auto describe = [&](const std::string& name, const pb::NodeProto& node) {
    const auto* keys = find_keys(node);
    if (keys == nullptr) return;
    std::string list = list_of(*keys);
    if (check_name(name).is_ok() && is_printable_utf8(list)) {
      facts.insert_or_assign("columns." + name, std::move(list));
    }
  };
  for (const auto& input : main.input()) {
    const auto* reader = find_reader(main, input.name());
    if (reader != nullptr && input.type().has_map_type()) describe(input.name(), *reader);
  }
  for (const auto& node : main.node()) {
    if (node.op_type() != "ZipMap" || node.output_size() != 1) continue;
    const auto& outputs = main.output();
    const bool is_output = std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) {
      return output.name() == node.output(0);
    });
    if (is_output) describe(node.output(0), node);
  }
  return facts;
}

}  // namespace sluice::onnx

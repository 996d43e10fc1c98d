#include "onnx/overridable.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/checked.h"
#include "ir/element_type.h"

namespace sluice::onnx {
namespace {

// Before that version every initializer had to be an input, whether it was a default or not.
constexpr std::int64_t kFirstIrWithDefaults = 4;
constexpr std::size_t kMaxAutomatic = 16;
constexpr std::int64_t kMaxAutomaticBytes = std::int64_t{64} << 10;
constexpr std::size_t kMaxNamed = 10;

/// Nullopt for types without a fixed size: strings, and unknown ones.
std::optional<std::int64_t> size_of(const pb::TensorProto& tensor) {
  const auto element = ir::element_type_from_onnx(tensor.data_type());
  const std::vector<std::int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  const auto count = checked_product(dims);
  if (!element || *element == ir::ElementType::kString || !count) return std::nullopt;
  return ir::storage_bytes(*element, *count);
}

struct Candidates {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
};

Candidates find_candidates(const pb::ModelProto& model) {
  Candidates found;
  if (model.ir_version() < kFirstIrWithDefaults) return found;
  std::unordered_set<std::string> inputs;
  for (const auto& input : model.graph().input()) inputs.insert(input.name());
  for (const auto& output : model.graph().output()) inputs.erase(output.name());
  for (const pb::TensorProto& tensor : model.graph().initializer()) {
    const auto size = size_of(tensor);
    if (!size || !inputs.contains(tensor.name())) continue;
    found.names.push_back(tensor.name());
    // A sum that does not fit counts as one above the bound.
    found.size_bytes = checked_add(found.size_bytes, *size).value_or(kMaxAutomaticBytes + 1);
  }
  return found;
}

Status unknown_name(const std::string& name, const Candidates& candidates) {
  if (candidates.names.empty()) {
    return invalid_argument(
        "--overridable {}: no initializer of the model can be overridden; that takes IR version {} "
        "or later and an initializer that is an input as well",
        name, kFirstIrWithDefaults);
  }
  const auto shown =
      std::span(candidates.names).first(std::min(kMaxNamed, candidates.names.size()));
  return invalid_argument("--overridable {}: no such initializer; those that can be are {}{}", name,
                          fmt::join(shown, ", "),
                          shown.size() < candidates.names.size() ? ", ..." : "");
}

/// Whether every initializer is an input: in files of a few, an exporter's habit.
bool lists_all(const pb::GraphProto& main) {
  std::unordered_set<std::string_view> inputs;
  for (const auto& input : main.input()) inputs.insert(input.name());
  return main.sparse_initializer().empty() &&
         std::ranges::all_of(main.initializer(), [&](const pb::TensorProto& tensor) {
           return inputs.contains(tensor.name());
         });
}

/// A bit for each input that a layer of a network takes as a weight.
unsigned weight_places(const pb::NodeProto& node) {
  // Bit i stands for input i: input 7 of an LSTM are its peepholes.
  static const std::map<std::string_view, unsigned> kPlaces = {
      {"Conv", 0b110},       {"ConvTranspose", 0b110},
      {"Gemm", 0b111},       {"MatMul", 0b11},
      {"RNN", 0b1110},       {"GRU", 0b1110},
      {"LSTM", 0b1000'1110}, {"BatchNormalization", 0b1'1110}};
  if (!node.domain().empty() && node.domain() != "ai.onnx") return 0;
  const auto found = kPlaces.find(node.op_type());
  return found == kPlaces.end() ? 0 : found->second;
}

/// What nodes read, bodies included, as weights of layers and in other places.
struct Reads {
  std::set<std::string> weights;
  std::set<std::string> others;

  void add(const pb::GraphProto& graph) {
    for (const pb::NodeProto& node : graph.node()) add(node);
    for (const auto& output : graph.output()) others.insert(output.name());
  }

  void add(const pb::NodeProto& node) {
    const unsigned places = weight_places(node);
    for (int i = 0; i < node.input_size(); ++i) {
      const bool is_weight = i < 32 && (places >> i & 1U) != 0;
      (is_weight ? weights : others).insert(node.input(i));
    }
    for (const pb::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add(attribute.g());
      for (const pb::GraphProto& body : attribute.graphs()) add(body);
    }
  }
};

std::set<std::string> choose(const pb::GraphProto& main, const Candidates& candidates) {
  const bool is_few =
      candidates.names.size() <= kMaxAutomatic && candidates.size_bytes <= kMaxAutomaticBytes;
  if (!is_few) return {};
  std::set<std::string> names(candidates.names.begin(), candidates.names.end());
  if (!lists_all(main)) return names;
  Reads reads;
  reads.add(main);
  // Something that is read in another place as well is more than a weight.
  std::erase_if(names, [&](const std::string& name) {
    return reads.weights.contains(name) && !reads.others.contains(name);
  });
  return names;
}

Result<std::set<std::string>> names_of(const pb::ModelProto& model, const Candidates& candidates,
                                       std::span<const std::string> wanted) {
  const std::set<std::string> all(candidates.names.begin(), candidates.names.end());
  const std::string word = wanted.size() == 1 ? wanted.front() : "";
  if (word == "none" || wanted.empty()) return std::set<std::string>();
  if (word == "all") return all;
  if (word == "auto") return choose(model.graph(), candidates);
  for (const std::string& name : wanted) {
    if (!all.contains(name)) return unknown_name(name, candidates);
  }
  return std::set<std::string>(wanted.begin(), wanted.end());
}

}  // namespace

Result<Overridable> find_overridable(const pb::ModelProto& model,
                                     std::span<const std::string> wanted) {
  const Candidates candidates = find_candidates(model);
  Overridable found;
  found.names = SLUICE_TRY(names_of(model, candidates, wanted));
  found.num_fixed = candidates.names.size() - found.names.size();
  return found;
}

}  // namespace sluice::onnx

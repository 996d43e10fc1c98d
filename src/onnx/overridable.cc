#include "onnx/overridable.h"

#include <fmt/ranges.h>

#include <optional>
#include <unordered_set>
#include <vector>

#include "base/checked.h"
#include "ir/element_type.h"

namespace sluice::onnx {
namespace {

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

}  // namespace

Result<std::set<std::string>> find_overridable(const pb::ModelProto& model,
                                               std::span<const std::string> wanted) {
  const Candidates candidates = find_candidates(model);
  const std::set<std::string> all(candidates.names.begin(), candidates.names.end());
  const std::string word = wanted.size() == 1 ? wanted.front() : "";
  if (word == "none" || wanted.empty()) return std::set<std::string>();
  if (word == "all") return all;
  if (word == "auto") {
    const bool is_few = all.size() <= kMaxAutomatic && candidates.size_bytes <= kMaxAutomaticBytes;
    return is_few ? all : std::set<std::string>();
  }
  for (const std::string& name : wanted) {
    if (!all.contains(name)) return unknown_name(name, candidates);
  }
  return std::set<std::string>(wanted.begin(), wanted.end());
}

}  // namespace sluice::onnx

#include "terms/tensors/request.h"

#include <fmt/format.h>

#include "terms/runtime_code.h"

namespace sluice::terms {
namespace {

std::string names_of(const std::vector<TensorSpec>& specs) {
  std::string names;
  for (const TensorSpec& spec : specs) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", spec.name);
  }
  return names.empty() ? "none" : names;
}

/// The place of every spec in `given`; -1 for a spec that is not given.
template <typename Named>
Result<std::vector<int>> match(const std::vector<Named>& given,
                               const std::vector<TensorSpec>& specs, const Signature& signature) {
  const bool is_input = &specs == &signature.inputs;
  const std::string_view what = is_input ? "input" : "output";
  std::vector<int> places(specs.size(), -1);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& name = given[i].name;
    std::size_t index = i;
    if (!name.empty()) {
      index = 0;
      while (index < specs.size() && specs[index].name != name) ++index;
    }
    if (index >= specs.size()) {
      const bool has_hint = is_input && !name.empty();
      return runtime_error(RuntimeCode::kBadInput, "the model has no {} {}; it has {}{}", what,
                           name.empty() ? fmt::format("number {}", i) : name, names_of(specs),
                           has_hint ? fixed_input_hint(signature, name) : "");
    }
    if (places[index] >= 0) {
      return runtime_error(RuntimeCode::kBadInput, "{} \"{}\" is given twice", what,
                           specs[index].name);
    }
    places[index] = static_cast<int>(i);
  }
  return places;
}

}  // namespace

Result<std::vector<int>> arrange_outputs(const std::vector<NamedMemory>& outputs,
                                         const Signature& signature) {
  return match(outputs, signature.outputs, signature);
}

Result<std::vector<int>> arrange_inputs(const std::vector<NamedTensor>& inputs,
                                        const Signature& signature) {
  auto places = SLUICE_TRY(match(inputs, signature.inputs, signature));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= 0 || signature.inputs[i].has_default) continue;
    return runtime_error(RuntimeCode::kBadInput, "input \"{}\" is missing: {}",
                         signature.inputs[i].name, signature.inputs[i].type.to_string());
  }
  return places;
}

}  // namespace sluice::terms

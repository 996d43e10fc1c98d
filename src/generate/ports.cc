#include "generate/ports.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace sluice::generate {
namespace {

Result<std::size_t> index_of(const std::vector<terms::TensorSpec>& specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &terms::TensorSpec::name);
  if (found != specs.end()) return static_cast<std::size_t>(found - specs.begin());
  return invalid_argument(
      "the model generates no text by this version: it has no tensor \"{}\"; compile it again from "
      "its folder",
      name);
}

}  // namespace

Result<Ports> find_ports(const terms::Signature& signature) {
  Ports ports;
  ports.ids = SLUICE_TRY(index_of(signature.inputs, "ids"));
  ports.positions = SLUICE_TRY(index_of(signature.inputs, "positions"));
  ports.sequences = SLUICE_TRY(index_of(signature.inputs, "sequences"));
  ports.tables = SLUICE_TRY(index_of(signature.inputs, "tables"));
  ports.last = SLUICE_TRY(index_of(signature.inputs, "last"));
  const auto adapters = index_of(signature.inputs, "adapters");
  if (adapters.is_ok()) ports.adapters = *adapters;
  ports.logits = SLUICE_TRY(index_of(signature.outputs, "logits"));
  const ir::Type& type = signature.outputs[ports.logits].type;
  const ir::Shape* shape = type.shape();
  const ir::Shape* last = signature.inputs[ports.last].type.shape();
  // Whoever runs the model reads a row for each of "last".
  const bool is_row_per_sequence = shape != nullptr && shape->size() == 2 && last != nullptr &&
                                   last->size() == 1 && shape->front() == last->front();
  const bool has_vocabulary =
      is_row_per_sequence && shape->back().is_known() && shape->back().value() >= 1;
  if (!has_vocabulary || type.element() != ir::ElementType::kF32) {
    return invalid_argument(
        "output \"logits\" is {}, not f32[sequences, vocabulary] for the sequences of \"last\"",
        type.to_string());
  }
  ports.vocabulary = shape->back().value();
  return ports;
}

terms::TensorView view_of(std::span<std::int64_t> numbers) {
  return {numbers.data(),
          static_cast<std::int64_t>(numbers.size_bytes()),
          ir::ElementType::kI64,
          {static_cast<std::int64_t>(numbers.size())}};
}

}  // namespace sluice::generate

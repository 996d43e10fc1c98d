#include "repository/config/check_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "ir/type.h"
#include "open_inference/datatypes.h"

namespace sluice::repository {
namespace {

using terms::DeclaredTensor;

/// Whether the configuration describes the model. A dimension of -1 fits any, and so does a symbol
/// of the model. `has_rows`: dims leave out the first dimension, as Triton's do with
/// max_batch_size.
Status check_dims(const DeclaredTensor& tensor, const ir::Shape& shape, bool has_rows) {
  const std::size_t begin = has_rows ? 1 : 0;
  bool fits = shape.size() == tensor.dims.size() + begin;
  for (std::size_t i = 0; fits && i < tensor.dims.size(); ++i) {
    const ir::Dim& dim = shape[begin + i];
    fits = tensor.dims[i] == -1 || !dim.is_known() || dim.value() == tensor.dims[i];
  }
  if (fits) return ok_status();
  return invalid_argument("dims are [{}]{}, the model has {}", fmt::join(tensor.dims, ","),
                          has_rows ? " behind the rows" : "", ir::shape_to_string(shape));
}

Status check_tensor(const DeclaredTensor& tensor, const std::vector<terms::TensorSpec>& specs,
                    bool has_rows) {
  const auto spec = tensor.name.empty() && specs.size() == 1
                        ? specs.begin()
                        : std::ranges::find(specs, tensor.name, &terms::TensorSpec::name);
  if (spec == specs.end()) return invalid_argument("the model has none of this name");
  const ir::ElementType element = spec->type.element();
  if (tensor.element != ir::ElementType::kUndefined && tensor.element != element) {
    return invalid_argument("data_type is {}, the model has {}",
                            open_inference::datatype_name(tensor.element),
                            open_inference::datatype_name(element));
  }
  const ir::Shape* shape = spec->type.is_tensor() ? spec->type.shape() : nullptr;
  // Sequences, and tensors of unknown rank, have no shape to compare. Dims may be left out.
  if (shape == nullptr || tensor.dims.empty()) return ok_status();
  return check_dims(tensor, *shape, has_rows);
}

/// A symbol fits any size.
Status check_batch_size(std::int64_t size, const terms::Signature& signature) {
  for (const terms::TensorSpec& spec : signature.inputs) {
    const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
    if (shape == nullptr || shape->empty()) continue;
    const ir::Dim& rows = shape->front();
    if (!rows.is_known() || rows.value() == size) continue;
    return invalid_argument("config.json: batch_size is {}, input \"{}\" of the model has {} rows",
                            size, shown(spec.name), rows.value());
  }
  return ok_status();
}

}  // namespace

Status check_tensors(const ModelConfig& config, const terms::Signature& signature) {
  const bool has_rows = config.max_batch_size > 0;
  const auto check = [&](const auto& tensors, const auto& specs, std::string_view what) -> Status {
    for (const DeclaredTensor& tensor : tensors) {
      const std::string where =
          tensor.line > 0 ? fmt::format("config.pbtxt, line {}", tensor.line) : "config.json";
      SLUICE_TRY(check_tensor(tensor, specs, has_rows)
                     .with_context(fmt::format("{}: {} \"{}\"", where, what, shown(tensor.name))));
    }
    return ok_status();
  };
  if (config.batch_size > 0) SLUICE_TRY(check_batch_size(config.batch_size, signature));
  SLUICE_TRY(check(config.inputs, signature.inputs, "input"));
  return check(config.outputs, signature.outputs, "output");
}

}  // namespace sluice::repository

#include "api/tensors.h"

#include <utility>

namespace sluice::api {
namespace {

// ONNX sets no limit; real models stay below 10. A rank of a wild pointer is refused instead of
// read.
constexpr std::int32_t kMaxRank = 64;

}  // namespace

std::vector<std::unique_ptr<SpecStorage>> store_specs(const std::vector<terms::TensorSpec>& specs) {
  std::vector<std::unique_ptr<SpecStorage>> stored;
  for (const terms::TensorSpec& spec : specs) {
    auto storage = std::make_unique<SpecStorage>();
    storage->name = spec.name;
    storage->type = spec.type.to_string();
    const ir::Shape* shape = spec.type.shape();
    for (const ir::Dim& dim : shape != nullptr ? *shape : ir::Shape()) {
      storage->dims.push_back(dim.is_known() ? dim.value() : -1);
    }
    const auto rank = shape != nullptr ? static_cast<std::int32_t>(shape->size()) : -1;
    // The C struct points into `storage`, whose address stays: it is behind a unique_ptr.
    storage->spec = {storage->name.c_str(),
                     storage->type.c_str(),
                     static_cast<std::int32_t>(spec.type.element()),
                     rank,
                     storage->dims.data(),
                     spec.batch_axis,
                     spec.has_default ? 1 : 0};
    stored.push_back(std::move(storage));
  }
  return stored;
}

Result<std::size_t> find_spec(const std::vector<std::unique_ptr<SpecStorage>>& specs,
                              const char* name, std::string_view what) {
  // A model with one tensor of the kind needs no name.
  if (name == nullptr && specs.size() == 1) return std::size_t{0};
  for (std::size_t i = 0; name != nullptr && i < specs.size(); ++i) {
    if (specs[i]->name == name) return i;
  }
  std::string known;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    known += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", specs[i]->name);
  }
  return make_error(Code::kNotFound, "the model has no {} \"{}\"; it has {}", what,
                    name == nullptr ? "" : name, known);
}

Result<terms::TensorView> view_of(const sluice_array& array) {
  terms::TensorView view;
  SLUICE_TRY(read_view(array, view));
  return view;
}

Status read_view(const sluice_array& array, terms::TensorView& view) {
  const auto element = ir::element_type_from_onnx(array.element_type);
  if (!element) return invalid_argument("element type number {} is unknown", array.element_type);
  if (array.rank < 0 || array.rank > kMaxRank || (array.rank > 0 && array.dims == nullptr)) {
    return invalid_argument("an array of rank {} needs that many dimensions, at most {}",
                            array.rank, kMaxRank);
  }
  view.data = array.data;
  view.size_bytes = array.size_bytes;
  view.element = *element;
  view.dims.assign(array.dims, array.dims + array.rank);
  return ok_status();
}

sluice_array array_of(const terms::TensorView& view) {
  return {view.data, view.size_bytes, static_cast<std::int32_t>(view.element),
          static_cast<std::int32_t>(view.dims.size()), view.dims.data()};
}

}  // namespace sluice::api

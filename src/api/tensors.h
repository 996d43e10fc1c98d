// Tensors and their specifications as C sees them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sluice/sluice.h"
#include "terms/tensors/signature.h"

namespace sluice::api {

/// A spec in C, with the memory it points to.
struct SpecStorage {
  std::string name;
  std::string type;
  std::vector<std::int64_t> dims;
  sluice_tensor_spec spec = {};
};

std::vector<std::unique_ptr<SpecStorage>> store_specs(const std::vector<terms::TensorSpec>& specs);

/// Place of `name` among `specs`; a null name means the only one.
Result<std::size_t> find_spec(const std::vector<std::unique_ptr<SpecStorage>>& specs,
                              const char* name, std::string_view what);

Result<terms::TensorView> view_of(const sluice_array& array);
/// As `view_of`, into a view that many calls reuse: its dimensions keep their memory.
Status read_view(const sluice_array& array, terms::TensorView& view);
sluice_array array_of(const terms::TensorView& view);

}  // namespace sluice::api

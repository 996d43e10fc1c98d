#include "api/model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "backend/registry.h"
#include "package/package.h"

namespace sluice::api {
namespace {

std::vector<std::unique_ptr<SpecStorage>> store(const std::vector<package::TensorSpec>& specs) {
  std::vector<std::unique_ptr<SpecStorage>> stored;
  for (const package::TensorSpec& spec : specs) {
    auto storage = std::make_unique<SpecStorage>();
    storage->name = spec.name;
    storage->type = spec.type.to_string();
    const ir::Shape* shape = spec.type.shape();
    for (const ir::Dim& dim : shape != nullptr ? *shape : ir::Shape()) {
      storage->dims.push_back(dim.is_known() ? dim.value() : -1);
    }
    const auto rank = shape != nullptr ? static_cast<std::int32_t>(shape->size()) : -1;
    storage->spec = {storage->name.c_str(),
                     storage->type.c_str(),
                     static_cast<std::int32_t>(spec.type.element()),
                     rank,
                     storage->dims.data(),
                     spec.batch_axis};
    stored.push_back(std::move(storage));
  }
  return stored;
}

/// The caller's struct may be older and shorter than ours: fields past its end keep their default.
sluice_open_options read_options(const sluice_open_options* options) {
  sluice_open_options known = {};
  if (options == nullptr) return known;
  const std::size_t size = std::min<std::size_t>(options->struct_size, sizeof(known));
  std::copy_n(reinterpret_cast<const std::byte*>(options), size,
              reinterpret_cast<std::byte*>(&known));
  return known;
}

}  // namespace

Result<std::shared_ptr<const OpenModel>> open_model(const char* path,
                                                    const sluice_open_options* options) {
  if (path == nullptr) return invalid_argument("the path is null");
  const sluice_open_options known = read_options(options);
  backend::Discovery discovery;
  if (known.backend_dir != nullptr) discovery.paths.emplace_back(known.backend_dir);
  exec::LoadOptions loading;
  loading.num_threads = known.num_threads;
  if (known.max_loop_iterations > 0) loading.max_loop_iterations = known.max_loop_iterations;
  if (known.cores != nullptr && known.num_cores > 0) {
    loading.cores.assign(known.cores, known.cores + known.num_cores);
  }
  auto executable = SLUICE_TRY(package::read_package(path));
  const auto registry = backend::BackendRegistry::discover(discovery);
  auto loaded = SLUICE_TRY(
      exec::LoadedModel::load(std::move(executable), registry, loading).with_context(path));
  auto inputs = store(loaded.signature().inputs);
  auto outputs = store(loaded.signature().outputs);
  return std::make_shared<const OpenModel>(
      OpenModel{std::move(loaded), std::move(inputs), std::move(outputs)});
}

}  // namespace sluice::api

#include "api/model.h"

#include <algorithm>
#include <utility>

#include "api/read_options.h"
#include "backend/registry.h"
#include "base/log/event_log.h"
#include "package/package.h"

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

Result<std::shared_ptr<const OpenModel>> open_model(const Bytes& file, std::string_view source,
                                                    const sluice_open_options* options) {
  const sluice_open_options known = read_options(options);
  backend::Discovery discovery;
  if (known.backend_dir != nullptr) discovery.paths.emplace_back(known.backend_dir);
  exec::LoadOptions loading;
  loading.num_threads = known.num_threads;
  if (known.max_loop_iterations > 0) loading.max_loop_iterations = known.max_loop_iterations;
  // 0, as in a zeroed struct, leaves the default; -1 keeps nothing.
  if (known.max_recorded_bytes != 0) {
    loading.max_recorded_bytes = std::max<std::int64_t>(known.max_recorded_bytes, 0);
  }
  if (known.executor < 0 || known.executor > SLUICE_EXECUTOR_PARALLEL) {
    return invalid_argument("executor {} does not exist; SLUICE_EXECUTOR_... are 1 to 3",
                            known.executor);
  }
  if (known.has_seed != 0) loading.random = exec::RandomSource::create(known.seed);
  loading.executor = static_cast<exec::ExecutorKind>(known.executor);
  if (known.cores != nullptr && known.num_cores > 0) {
    loading.cores.assign(known.cores, known.cores + known.num_cores);
  }
  auto executable = SLUICE_TRY(package::parse_package(file).with_context(source));
  // Only lists the plug-ins: the load below opens those that the package names.
  const auto registry = backend::BackendRegistry::discover(discovery);
  auto loaded = SLUICE_TRY(
      exec::LoadedModel::load(std::move(executable), registry, loading).with_context(source));
  auto inputs = store_specs(loaded.signature().inputs);
  auto outputs = store_specs(loaded.signature().outputs);
  log_event(LogLevel::kInfo, "model.opened source={} operations={}", in_quotes(source),
            loaded.executable().graph.main().order().size());
  auto language = std::make_unique<const ModelLanguage>(loaded.shared_executable());
  return std::make_shared<const OpenModel>(
      OpenModel{std::move(loaded), std::move(inputs), std::move(outputs), std::move(language)});
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

Result<std::size_t> find_input(const OpenModel& open, const char* name) {
  auto found = find_spec(open.inputs, name, "input");
  if (found.is_ok() || name == nullptr) return found;
  return Status(found.status().code(),
                found.status().message() + terms::fixed_input_hint(open.loaded.signature(), name));
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

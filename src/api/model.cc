#include "api/model.h"

#include <algorithm>
#include <utility>

#include "api/read_options.h"
#include "backend/registry.h"
#include "base/log/event_log.h"
#include "package/package.h"

namespace sluice::api {

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

Result<std::size_t> find_input(const OpenModel& open, const char* name) {
  auto found = find_spec(open.inputs, name, "input");
  if (found.is_ok() || name == nullptr) return found;
  return Status(found.status().code(),
                found.status().message() + terms::fixed_input_hint(open.loaded.signature(), name));
}

}  // namespace sluice::api

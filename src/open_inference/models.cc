#include "open_inference/models.h"

#include <filesystem>
#include <system_error>

#include "base/utf8.h"
#include "open_inference/model_description.h"

namespace sluice::open_inference {
namespace {

namespace fs = std::filesystem;

Result<fs::path> find_package(const std::string& name, const std::vector<fs::path>& folders) {
  SLUICE_TRY(check_name(name, "model"));
  if (name.find('/') != std::string::npos) {
    return invalid_argument("model \"{}\": a name has no slash", name);
  }
  for (const fs::path& folder : folders) {
    const fs::path path = folder / (name + ".sluice");
    std::error_code error;
    if (fs::exists(path, error)) return path;
  }
  return make_error(Code::kNotFound, "no model folder has \"{}.sluice\"", name);
}

}  // namespace

Result<terms::ModelHandle> find_handle(const service::Service& service,
                                       const service::Caller& caller, std::string_view name,
                                       std::string_view version) {
  SLUICE_TRY(check_version(name, version));
  return service.find_named(caller.session->id(), name);
}

Result<std::shared_ptr<dispatch::ModelRef>> find_model(const service::Service& service,
                                                       const service::Caller& caller,
                                                       std::string_view name,
                                                       std::string_view version) {
  return service.find_model(caller, SLUICE_TRY(find_handle(service, caller, name, version)));
}

bool is_ready(const service::Service& service, const service::Caller& caller, std::string_view name,
              std::string_view version) {
  const auto model = find_handle(service, caller, name, version);
  if (!model.is_ok()) return false;
  const auto entries = service.list_models(static_cast<std::uint64_t>(*model));
  return entries.is_ok() && !entries->empty() && is_ready(entries->front());
}

Status load(service::Service& service, const service::Caller& caller, const std::string& name) {
  if (service.find_named(caller.session->id(), name).is_ok()) return ok_status();
  const auto path = SLUICE_TRY(find_package(name, service.options().model_folders));
  terms::LoadOptions options;
  options.name = name;
  SLUICE_TRY(service.load(caller, options, path, nullptr));
  return ok_status();
}

Status unload(service::Service& service, const service::Caller& caller, const std::string& name) {
  const auto model = SLUICE_TRY(service.find_named(caller.session->id(), name));
  return service.unload(caller, model, service.options().drain_limit_ns);
}

}  // namespace sluice::open_inference

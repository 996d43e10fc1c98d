#include "open_inference/models.h"

#include "base/utf8.h"

namespace sluice::open_inference {

Result<terms::ModelHandle> find_handle(const service::Service& service,
                                       const service::Caller& caller, std::string_view name,
                                       std::string_view version) {
  const auto choice = SLUICE_TRY(parse_version(version));
  return service.find_named(caller.session->id(), name, choice);
}

Result<std::shared_ptr<dispatch::ModelRef>> find_model(const service::Service& service,
                                                       const service::Caller& caller,
                                                       std::string_view name,
                                                       std::string_view version) {
  const auto choice = SLUICE_TRY(parse_version(version));
  return service.find_model(caller, name, choice);
}

ModelDescription describe(const service::Service& service, const service::Caller& caller,
                          std::string_view name, const dispatch::ModelRef& model) {
  return describe(model, service.versions_of(caller.session->id(), name));
}

bool is_ready(const service::Service& service, const service::Caller& caller, std::string_view name,
              std::string_view version) {
  // An update may take the model away between two steps; its name leads to the next one.
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto model = find_handle(service, caller, name, version);
    if (!model.is_ok()) return false;
    const auto entries = service.list_models(static_cast<std::uint64_t>(*model));
    if (entries.is_ok() && !entries->empty()) {
      return is_ready(entries->front()) && !service.missing_step(*model);
    }
  }
  return false;
}

Status check_control(bool loads, std::string_view parameter) {
  const std::string_view taken = loads ? kLoadConfig : kUnloadDependents;
  if (parameter == taken) return ok_status();
  return unimplemented("parameter \"{}\": {} takes \"{}\" alone",
                       valid_utf8(parameter.substr(0, kMaxNameBytes)),
                       loads ? "a load" : "an unload", taken);
}

}  // namespace sluice::open_inference

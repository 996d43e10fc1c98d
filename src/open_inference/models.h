// Models of a daemon by name, as the Open Inference Protocol asks for them.
#pragma once

#include <memory>
#include <string_view>

#include "open_inference/model_description.h"
#include "service/service.h"

namespace sluice::open_inference {

/// Fails: as parse_version and Service::find_named.
Result<terms::ModelHandle> find_handle(const service::Service& service,
                                       const service::Caller& caller, std::string_view name,
                                       std::string_view version);

/// For its requests. Fails: as parse_version and Service::find_model.
Result<std::shared_ptr<dispatch::ModelRef>> find_model(const service::Service& service,
                                                       const service::Caller& caller,
                                                       std::string_view name,
                                                       std::string_view version);

/// Describes a model of find_model; points into its signature.
ModelDescription describe(const service::Service& service, const service::Caller& caller,
                          std::string_view name, const dispatch::ModelRef& model);

/// False for one that is not there: clients ask before they load it.
bool is_ready(const service::Service& service, const service::Caller& caller, std::string_view name,
              std::string_view version);

/// Whether an unload of an ensemble unloads its models, too: true or false.
inline constexpr std::string_view kUnloadDependents = "unload_dependents";
/// A text that stands in place of the model's config.pbtxt.
inline constexpr std::string_view kLoadConfig = "config";

/// A parameter of a load or an unload, which would change what it does: a load takes kLoadConfig,
/// an unload kUnloadDependents. Fails: kUnimplemented for others.
Status check_control(bool loads, std::string_view parameter);

}  // namespace sluice::open_inference

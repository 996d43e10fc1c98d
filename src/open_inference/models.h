// Models of a daemon by name, as the Open Inference Protocol asks for them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "service/service.h"

namespace sluice::open_inference {

/// Fails: as check_version and Service::find_named.
Result<terms::ModelHandle> find_handle(const service::Service& service,
                                       const service::Caller& caller, std::string_view name,
                                       std::string_view version);

/// For its requests and its description. Fails: as find_handle and Service::find_model.
Result<std::shared_ptr<dispatch::ModelRef>> find_model(const service::Service& service,
                                                       const service::Caller& caller,
                                                       std::string_view name,
                                                       std::string_view version);

/// False for one that is not there: clients ask before they load it.
bool is_ready(const service::Service& service, const service::Caller& caller, std::string_view name,
              std::string_view version);

/// Loads NAME.sluice of the model folders. A model that is there stays as it is, because clients
/// load before each use. Blocks. Fails: kInvalidArgument for what is no name; kNotFound; as
/// Service::load.
Status load(service::Service& service, const service::Caller& caller, const std::string& name);

/// Blocks. Fails: as Service::find_named and Service::unload.
Status unload(service::Service& service, const service::Caller& caller, const std::string& name);

}  // namespace sluice::open_inference

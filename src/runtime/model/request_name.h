// The name of the model that a request loads.
#pragma once

#include <string>

#include "runtime/model/load_request.h"

namespace sluice::runtime {

/// The request's name; else that of its file; else what its executable calls the model; else
/// `fallback`.
std::string name_of(const LoadRequest& request, const char* fallback = "model");

}  // namespace sluice::runtime

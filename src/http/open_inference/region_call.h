// Shared memory of the Open Inference Protocol over HTTP.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "http/call.h"
#include "service/service.h"

namespace sluice::http {

inline constexpr const char* kSystemRegions = "systemsharedmemory";
inline constexpr const char* kCudaRegions = "cudasharedmemory";

/// Registers, lists and forgets the caller's regions. `segments`: of the path behind /v2, the first
/// is one of the two above. Fails: as Service::register_part, list_parts and
/// open_inference::register_cuda_region; kInvalidArgument for a body that is no registration.
Result<Reply> region_call(service::Service& service, const service::Caller& caller,
                          const Request& request, const std::vector<std::string>& segments);

}  // namespace sluice::http

// Shared memory of the Open Inference Protocol: the system's, and CUDA's, which is not served.
#include "open_inference/request.h"
#include "rpc/server/open_inference/inference_handlers.h"

namespace sluice::rpc::server {

using service::Caller;
using service::Service;
using terms::Role;

namespace {

Status list_parts(Service& service, const Caller& caller,
                  const inference::SystemSharedMemoryStatusRequest& request,
                  inference::SystemSharedMemoryStatusResponse& response) {
  for (const auto& part : SLUICE_TRY(service.list_parts(caller, request.name()))) {
    auto& region = (*response.mutable_regions())[part.name];
    region.set_name(part.name);
    region.set_key(part.key);
    region.set_offset(part.offset);
    region.set_byte_size(part.size_bytes);
  }
  return ok_status();
}

Status register_part(Service& service, const Caller& caller,
                     const inference::SystemSharedMemoryRegisterRequest& request,
                     inference::SystemSharedMemoryRegisterResponse& /*response*/) {
  return service.register_part(
      caller, {request.name(), request.key(), request.offset(), request.byte_size()});
}

Status unregister_parts(Service& service, const Caller& caller,
                        const inference::SystemSharedMemoryUnregisterRequest& request,
                        inference::SystemSharedMemoryUnregisterResponse& /*response*/) {
  service.unregister_parts(caller, request.name());
  return ok_status();
}

Status list_cuda(Service& /*service*/, const Caller& /*caller*/,
                 const inference::CudaSharedMemoryStatusRequest& request,
                 inference::CudaSharedMemoryStatusResponse& /*response*/) {
  return open_inference::find_cuda_region(request.name());
}

Status register_cuda(Service& /*service*/, const Caller& /*caller*/,
                     const inference::CudaSharedMemoryRegisterRequest& request,
                     inference::CudaSharedMemoryRegisterResponse& /*response*/) {
  return open_inference::register_cuda_region(request.name());
}

Status unregister_cuda(Service& /*service*/, const Caller& /*caller*/,
                       const inference::CudaSharedMemoryUnregisterRequest& /*request*/,
                       inference::CudaSharedMemoryUnregisterResponse& /*response*/) {
  return ok_status();
}

}  // namespace

void add_memory_calls(Handlers& handlers, Methods& methods) {
  CallerMethods<Service>(methods, kInferenceService, handlers, handlers.service())
      .now("SystemSharedMemoryStatus", Role::kInference, list_parts)
      .now("SystemSharedMemoryRegister", Role::kInference, register_part)
      .now("SystemSharedMemoryUnregister", Role::kInference, unregister_parts)
      .now("CudaSharedMemoryStatus", Role::kInference, list_cuda)
      .now("CudaSharedMemoryRegister", Role::kInference, register_cuda)
      .now("CudaSharedMemoryUnregister", Role::kInference, unregister_cuda);
}

}  // namespace sluice::rpc::server

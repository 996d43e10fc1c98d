// Shared memory of the Open Inference Protocol: the system's, and CUDA's, which is not served.
#include "open_inference/request.h"
#include "rpc/server/open_inference/inference_handlers.h"

namespace sluice::rpc::server {

using terms::Role;

void InferenceHandlers::SystemSharedMemoryStatus(
    Context* context, const inference::SystemSharedMemoryStatusRequest* request,
    inference::SystemSharedMemoryStatusResponse* response) {
  return handlers_.now(
      context, request, Role::kInference, [&](const service::Caller& caller) -> Status {
        for (const auto& part : SLUICE_TRY(service().list_parts(caller, request->name()))) {
          auto& region = (*response->mutable_regions())[part.name];
          region.set_name(part.name);
          region.set_key(part.key);
          region.set_offset(part.offset);
          region.set_byte_size(part.size_bytes);
        }
        return ok_status();
      });
}

void InferenceHandlers::SystemSharedMemoryRegister(
    Context* context, const inference::SystemSharedMemoryRegisterRequest* request,
    inference::SystemSharedMemoryRegisterResponse* /*response*/) {
  return handlers_.now(context, request, Role::kInference, [&](const service::Caller& caller) {
    return service().register_part(
        caller, {request->name(), request->key(), request->offset(), request->byte_size()});
  });
}

void InferenceHandlers::SystemSharedMemoryUnregister(
    Context* context, const inference::SystemSharedMemoryUnregisterRequest* request,
    inference::SystemSharedMemoryUnregisterResponse* /*response*/) {
  return handlers_.now(context, request, Role::kInference, [&](const service::Caller& caller) {
    service().unregister_parts(caller, request->name());
    return ok_status();
  });
}

void InferenceHandlers::CudaSharedMemoryStatus(
    Context* context, const inference::CudaSharedMemoryStatusRequest* request,
    inference::CudaSharedMemoryStatusResponse* /*response*/) {
  return handlers_.now(context, request, Role::kInference, [&](const service::Caller& /*caller*/) {
    return open_inference::find_cuda_region(request->name());
  });
}

void InferenceHandlers::CudaSharedMemoryRegister(
    Context* context, const inference::CudaSharedMemoryRegisterRequest* request,
    inference::CudaSharedMemoryRegisterResponse* /*response*/) {
  return handlers_.now(context, request, Role::kInference, [&](const service::Caller& /*caller*/) {
    return open_inference::register_cuda_region(request->name());
  });
}

void InferenceHandlers::CudaSharedMemoryUnregister(
    Context* context, const inference::CudaSharedMemoryUnregisterRequest* request,
    inference::CudaSharedMemoryUnregisterResponse* /*response*/) {
  return handlers_.now(context, request, Role::kInference,
                       [&](const service::Caller& /*caller*/) { return ok_status(); });
}

}  // namespace sluice::rpc::server

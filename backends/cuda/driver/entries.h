// The functions of the CUDA driver that this plug-in calls: one row each.
//
// A row is row(member of DriverTable, name, version, (arguments)). The version is that of CUDA,
// major * 1000 + minor * 10, in which the function took the arguments given here. The driver has
// several functions of one name; cuGetProcAddress finds the one of this version. All return
// CuResult.
#pragma once

#include "driver/results.h"
#include "driver/types.h"

// clang-format off
#define SLUICE_CUDA_ENTRIES(row) \
  /* driver and devices */ \
  row(init, cuInit, 2000, (unsigned flags)) \
  row(driver_get_version, cuDriverGetVersion, 2020, (int* version)) \
  row(get_error_name, cuGetErrorName, 6000, (CuResult result, const char** text)) \
  row(get_error_string, cuGetErrorString, 6000, (CuResult result, const char** text)) \
  row(device_get, cuDeviceGet, 2000, (CuDevice* device, int ordinal)) \
  row(device_get_count, cuDeviceGetCount, 2000, (int* count)) \
  row(device_get_name, cuDeviceGetName, 2000, (char* name, int capacity, CuDevice device)) \
  row(device_get_uuid, cuDeviceGetUuid, 11040, (CuUuid* uuid, CuDevice device)) \
  row(device_get_attribute, cuDeviceGetAttribute, 2000, \
      (int* value, CuDeviceAttribute attribute, CuDevice device)) \
  row(device_total_mem, cuDeviceTotalMem, 3020, (std::size_t* bytes, CuDevice device)) \
  row(device_can_access_peer, cuDeviceCanAccessPeer, 4000, (int* can, CuDevice device, CuDevice peer)) \
  /* contexts */ \
  row(device_primary_ctx_retain, cuDevicePrimaryCtxRetain, 7000, (CuContext* context, CuDevice device)) \
  row(device_primary_ctx_release, cuDevicePrimaryCtxRelease, 11000, (CuDevice device)) \
  row(device_primary_ctx_reset, cuDevicePrimaryCtxReset, 11000, (CuDevice device)) \
  row(ctx_set_current, cuCtxSetCurrent, 4000, (CuContext context)) \
  row(ctx_get_current, cuCtxGetCurrent, 4000, (CuContext* context)) \
  row(ctx_synchronize, cuCtxSynchronize, 2000, ()) \
  row(ctx_enable_peer_access, cuCtxEnablePeerAccess, 4000, (CuContext peer, unsigned flags)) \
  row(ctx_disable_peer_access, cuCtxDisablePeerAccess, 4000, (CuContext peer)) \
  /* memory */ \
  row(mem_alloc, cuMemAlloc, 3020, (CuDevicePointer* address, std::size_t bytes)) \
  row(mem_free, cuMemFree, 3020, (CuDevicePointer address)) \
  row(mem_get_info, cuMemGetInfo, 3020, (std::size_t* free, std::size_t* total)) \
  row(mem_host_alloc, cuMemHostAlloc, 2020, (void** address, std::size_t bytes, unsigned flags)) \
  row(mem_free_host, cuMemFreeHost, 2000, (void* address)) \
  row(mem_host_register, cuMemHostRegister, 6050, (void* address, std::size_t bytes, unsigned flags)) \
  row(mem_host_unregister, cuMemHostUnregister, 4000, (void* address)) \
  row(pointer_get_attribute, cuPointerGetAttribute, 4000, \
      (void* value, CuPointerAttribute attribute, CuDevicePointer address)) \
  row(memcpy_htod_async, cuMemcpyHtoDAsync, 3020, \
      (CuDevicePointer target, const void* source, std::size_t bytes, CuStream stream)) \
  row(memcpy_dtoh_async, cuMemcpyDtoHAsync, 3020, \
      (void* target, CuDevicePointer source, std::size_t bytes, CuStream stream)) \
  row(memcpy_dtod_async, cuMemcpyDtoDAsync, 3020, \
      (CuDevicePointer target, CuDevicePointer source, std::size_t bytes, CuStream stream)) \
  row(memcpy_peer_async, cuMemcpyPeerAsync, 4000, \
      (CuDevicePointer target, CuContext target_context, CuDevicePointer source, \
       CuContext source_context, std::size_t bytes, CuStream stream)) \
  row(memset_d8_async, cuMemsetD8Async, 3020, \
      (CuDevicePointer target, unsigned char value, std::size_t count, CuStream stream)) \
  row(memset_d32_async, cuMemsetD32Async, 3020, \
      (CuDevicePointer target, unsigned value, std::size_t count, CuStream stream)) \
  /* memory in the order of a stream */ \
  row(mem_pool_create, cuMemPoolCreate, 11020, \
      (CuMemoryPool* pool, const CuMemoryPoolProperties* properties)) \
  row(mem_pool_destroy, cuMemPoolDestroy, 11020, (CuMemoryPool pool)) \
  row(mem_pool_set_attribute, cuMemPoolSetAttribute, 11020, \
      (CuMemoryPool pool, CuMemoryPoolAttribute attribute, void* value)) \
  row(mem_pool_get_attribute, cuMemPoolGetAttribute, 11020, \
      (CuMemoryPool pool, CuMemoryPoolAttribute attribute, void* value)) \
  row(mem_pool_trim_to, cuMemPoolTrimTo, 11020, (CuMemoryPool pool, std::size_t min_bytes)) \
  row(mem_pool_set_access, cuMemPoolSetAccess, 11020, \
      (CuMemoryPool pool, const CuMemoryAccess* accesses, std::size_t count)) \
  row(mem_alloc_from_pool_async, cuMemAllocFromPoolAsync, 11020, \
      (CuDevicePointer* address, std::size_t bytes, CuMemoryPool pool, CuStream stream)) \
  row(mem_free_async, cuMemFreeAsync, 11020, (CuDevicePointer address, CuStream stream)) \
  /* streams and events */ \
  row(stream_create_with_priority, cuStreamCreateWithPriority, 5050, \
      (CuStream* stream, unsigned flags, int priority)) \
  row(stream_destroy, cuStreamDestroy, 4000, (CuStream stream)) \
  row(stream_synchronize, cuStreamSynchronize, 2000, (CuStream stream)) \
  row(stream_query, cuStreamQuery, 2000, (CuStream stream)) \
  row(stream_wait_event, cuStreamWaitEvent, 3020, (CuStream stream, CuEvent event, unsigned flags)) \
  row(launch_host_func, cuLaunchHostFunc, 10000, \
      (CuStream stream, CuHostFunction function, void* user_data)) \
  row(event_create, cuEventCreate, 2000, (CuEvent* event, unsigned flags)) \
  row(event_destroy, cuEventDestroy, 4000, (CuEvent event)) \
  row(event_record, cuEventRecord, 2000, (CuEvent event, CuStream stream)) \
  row(event_query, cuEventQuery, 2000, (CuEvent event)) \
  row(event_synchronize, cuEventSynchronize, 2000, (CuEvent event)) \
  row(event_elapsed_time, cuEventElapsedTime, 2000, (float* milliseconds, CuEvent start, CuEvent end)) \
  /* device code */ \
  row(library_load_data, cuLibraryLoadData, 12000, \
      (CuLibrary* library, const void* code, int* jit_options, void** jit_values, \
       unsigned num_jit_options, int* options, void** values, unsigned num_options)) \
  row(library_unload, cuLibraryUnload, 12000, (CuLibrary library)) \
  row(library_get_kernel, cuLibraryGetKernel, 12000, \
      (CuKernel* kernel, CuLibrary library, const char* name)) \
  row(library_get_global, cuLibraryGetGlobal, 12000, \
      (CuDevicePointer* address, std::size_t* bytes, CuLibrary library, const char* name)) \
  row(kernel_get_function, cuKernelGetFunction, 12000, (CuFunction* function, CuKernel kernel)) \
  row(kernel_get_param_info, cuKernelGetParamInfo, 12040, \
      (CuKernel kernel, std::size_t index, std::size_t* offset, std::size_t* bytes)) \
  row(func_get_attribute, cuFuncGetAttribute, 2020, \
      (int* value, CuFunctionAttribute attribute, CuFunction function)) \
  row(func_set_attribute, cuFuncSetAttribute, 9000, \
      (CuFunction function, CuFunctionAttribute attribute, int value)) \
  row(launch_kernel, cuLaunchKernel, 4000, \
      (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, CuStream stream, \
       void** parameters, void** extra)) \
  row(occupancy_max_active_blocks_per_multiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, \
      (int* blocks, CuFunction function, int block_size, std::size_t dynamic_shared_bytes)) \
  /* graphs */ \
  row(stream_begin_capture, cuStreamBeginCapture, 10010, (CuStream stream, CuCaptureMode mode)) \
  row(stream_end_capture, cuStreamEndCapture, 10000, (CuStream stream, CuGraph* graph)) \
  row(stream_is_capturing, cuStreamIsCapturing, 10000, (CuStream stream, CuCaptureStatus* status)) \
  row(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode, 10010, \
      (CuCaptureMode * mode)) \
  row(graph_instantiate_with_flags, cuGraphInstantiateWithFlags, 11040, \
      (CuGraphExec* exec, CuGraph graph, unsigned long long flags)) \
  row(graph_launch, cuGraphLaunch, 10000, (CuGraphExec exec, CuStream stream)) \
  row(graph_destroy, cuGraphDestroy, 10000, (CuGraph graph)) \
  row(graph_exec_destroy, cuGraphExecDestroy, 10000, (CuGraphExec exec)) \
  /* partitions of multiprocessors */ \
  row(device_get_dev_resource, cuDeviceGetDevResource, 12040, \
      (CuDevice device, CuResource* resource, CuResourceType type)) \
  row(dev_sm_resource_split_by_count, cuDevSmResourceSplitByCount, 12040, \
      (CuResource* groups, unsigned* num_groups, const CuResource* input, CuResource* rest, \
       unsigned flags, unsigned min_count)) \
  row(dev_resource_generate_desc, cuDevResourceGenerateDesc, 12040, \
      (CuResourceDescriptor* descriptor, CuResource* resources, unsigned num_resources)) \
  row(green_ctx_create, cuGreenCtxCreate, 12040, \
      (CuGreenContext* context, CuResourceDescriptor descriptor, CuDevice device, unsigned flags)) \
  row(green_ctx_destroy, cuGreenCtxDestroy, 12040, (CuGreenContext context)) \
  row(green_ctx_get_dev_resource, cuGreenCtxGetDevResource, 12040, \
      (CuGreenContext context, CuResource* resource, CuResourceType type)) \
  row(green_ctx_stream_create, cuGreenCtxStreamCreate, 12050, \
      (CuStream* stream, CuGreenContext context, unsigned flags, int priority))
// clang-format on

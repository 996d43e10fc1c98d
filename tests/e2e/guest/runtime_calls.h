// What by_hand calls of the CUDA runtime, and two of its types: names and arguments of CUDA 13.
#pragma once

#include <cstddef>

extern "C" {
struct Dim3 {
  unsigned x, y, z;
};
// NOLINTBEGIN(bugprone-reserved-identifier)
void** __cudaRegisterFatBinary(const void* wrapper);
void __cudaRegisterFunction(void** binary, const char* host, char* device, const char* name,
                            int limit, void* tid, void* bid, void* block, void* grid, int* warp);
void __cudaRegisterVar(void** binary, char* host, char* address, const char* name, int is_external,
                       std::size_t bytes, int is_constant, int is_global);
// NOLINTEND(bugprone-reserved-identifier)
int cudaLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
                     void* stream);
int cudaMalloc(void** address, std::size_t bytes);
int cudaFree(void* address);
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream);
int cudaMemset(void* to, int value, std::size_t bytes);
int cudaMemGetInfo(std::size_t* free, std::size_t* total);
int cudaStreamSynchronize(void* stream);
int cudaStreamCreate(void** stream);
int cudaStreamBeginCapture(void* stream, int mode);
int cudaStreamWaitEvent(void* stream, void* event, unsigned flags);
int cudaEventCreate(void** event);
int cudaEventRecord(void* event, void* stream);
int cudaFuncSetAttribute(const void* host, int attribute, int value);
int cudaDeviceSynchronize();
int cudaGetLastError();
int cudaGetDeviceCount(int* count);
const char* cudaGetErrorName(int error);
struct IpcHandle {
  char bytes[64];
};
int cudaIpcGetMemHandle(IpcHandle* handle, void* address);
int cudaIpcOpenMemHandle(void** address, IpcHandle handle, unsigned flags);
int cudaIpcCloseMemHandle(void* address);
}

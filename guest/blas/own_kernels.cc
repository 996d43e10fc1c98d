#include "guest/blas/own_kernels.h"

#include <cstddef>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the vendor's names
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** binary, const char* host, char* device, const char* name,
                            int thread_limit, void* tid, void* bid, void* block, void* grid,
                            int* warp);
// NOLINTEND(bugprone-reserved-identifier)
int cudaLaunchKernel(const void* host, sluice::guest::Dim3 grid, sluice::guest::Dim3 block,
                     void** arguments, std::size_t shared_bytes, void* stream);
int cudaGetLastError();
}

namespace sluice::guest::blas {

void register_own(const std::string& fatbin, std::span<const char* const> names) {
  auto* const wrapper = new FatbinWrapper{kWrapperMagic, 1, fatbin.data(), nullptr};
  void** const binary = __cudaRegisterFatBinary(wrapper);
  for (const char* const name : names) {
    __cudaRegisterFunction(binary, name, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }
}

bool launch_own(const char* kernel, Dim3 grid, Dim3 block, std::span<void*> arguments,
                void* stream) {
  if (cudaLaunchKernel(kernel, grid, block, arguments.data(), 0, stream) == 0) return true;
  cudaGetLastError();  // the caller's status says it
  return false;
}

}  // namespace sluice::guest::blas

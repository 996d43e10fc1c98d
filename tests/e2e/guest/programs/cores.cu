// The multiprocessors of the device: not more than it says, in whatever stream a kernel runs.
#include <set>

#include "check.cuh"

__global__ void where(unsigned* to) {
  unsigned core = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(core));
  to[blockIdx.x] = core;
}

std::set<unsigned> cores_of(cudaStream_t stream) {
  const int blocks = 256;
  unsigned* memory = nullptr;
  CHECK(cudaMalloc(&memory, blocks * sizeof(unsigned)));
  where<<<blocks, 32, 0, stream>>>(memory);
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<unsigned> seen = to_host(memory, blocks);
  return {seen.begin(), seen.end()};
}

int main() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  cudaDeviceProp device = {};
  CHECK(cudaGetDeviceProperties(&device, 0));
  std::set<unsigned> cores = cores_of(nullptr);
  cores.merge(cores_of(stream));
  const bool is_right = static_cast<int>(cores.size()) <= device.multiProcessorCount;
  std::printf("%d multiprocessors\n%s\n", device.multiProcessorCount, is_right ? "equal" : "wrong");
  return is_right ? 0 : 1;
}

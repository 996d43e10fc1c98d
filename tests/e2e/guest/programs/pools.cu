// Memory in the order of streams: many allocations, freed as soon as their kernel is submitted.
#include "check.cuh"

__global__ void fill(float* values, float value, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = value;
}

__global__ void add(float* to, const float* from, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

/// The sum of 20 parts, in memory that is free again behind it.
std::vector<float> add_parts(int count, cudaStream_t stream) {
  float* total = nullptr;
  CHECK(cudaMallocAsync(&total, count * sizeof(float), stream));
  CHECK(cudaMemsetAsync(total, 0, count * sizeof(float), stream));
  for (int i = 1; i <= 20; ++i) {
    float* part = nullptr;
    CHECK(cudaMallocAsync(&part, count * sizeof(float), stream));
    fill<<<16, 128, 0, stream>>>(part, static_cast<float>(i), count);
    add<<<16, 128, 0, stream>>>(total, part, count);
    CHECK(cudaFreeAsync(part, stream));
  }
  std::vector<float> got(count);
  CHECK(cudaMemcpyAsync(got.data(), total, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(total, stream));
  CHECK(cudaStreamSynchronize(stream));
  return got;
}

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  CHECK(cudaMemGetInfo(&free, &all));
  return free;
}

int main() {
  const int count = 2000;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  add_parts(count, stream);  // the first kernels bring code into the device's memory
  const std::size_t before = free_bytes();
  const std::vector<float> got = add_parts(count, stream);
  if (free_bytes() != before) {
    std::printf("%zu bytes are free, not %zu as before\n", free_bytes(), before);
    return 1;
  }
  return compare(got, std::vector<float>(count, 210), 0);
}

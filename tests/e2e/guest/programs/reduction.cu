#include "check.cuh"

__global__ void reduce(const float* values, float* sum, int count) {
  __shared__ float part[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < count ? values[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

int main() {
  const int count = 50001;
  const std::vector<float> values = make_values(count);
  double want = 0;
  for (const float value : values) want += value;
  float* sum = nullptr;
  CHECK(cudaMalloc(&sum, sizeof(float)));
  CHECK(cudaMemset(sum, 0, sizeof(float)));
  reduce<<<(count + 255) / 256, 256>>>(to_device(values), sum, count);
  return compare(to_host(sum, 1), {static_cast<float>(want)}, 1e-4);
}

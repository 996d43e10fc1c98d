#include "check.cuh"

__global__ void add(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main() {
  const int count = 100003;
  const std::vector<float> a = make_values(count, 1);
  const std::vector<float> b = make_values(count, 2);
  std::vector<float> want(count);
  for (int i = 0; i < count; ++i) want[i] = a[i] + b[i];
  float* sum = nullptr;
  CHECK(cudaMalloc(&sum, count * sizeof(float)));
  add<<<(count + 255) / 256, 256>>>(to_device(a), to_device(b), sum, count);
  CHECK(cudaGetLastError());
  return compare(to_host(sum, count), want, 0);
}

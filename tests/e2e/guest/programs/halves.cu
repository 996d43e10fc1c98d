// Sums of 16-bit floats, two at a time.
#include <cuda_fp16.h>

#include "check.cuh"

__global__ void add(const __half2* a, const __half2* b, __half2* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = __hadd2(a[i], b[i]);
}

int main() {
  const int pairs = 3001;
  const std::vector<float> a = make_values(2 * pairs, 1);
  const std::vector<float> b = make_values(2 * pairs, 2);
  std::vector<__half2> half_a(pairs);
  std::vector<__half2> half_b(pairs);
  std::vector<float> want(2 * pairs);
  for (int i = 0; i < pairs; ++i) {
    half_a[i] = __floats2half2_rn(a[2 * i], a[2 * i + 1]);
    half_b[i] = __floats2half2_rn(b[2 * i], b[2 * i + 1]);
    want[2 * i] = __half2float(__float2half(__low2float(half_a[i]) + __low2float(half_b[i])));
    want[2 * i + 1] = __half2float(__float2half(__high2float(half_a[i]) + __high2float(half_b[i])));
  }
  __half2* sum = nullptr;
  CHECK(cudaMalloc(&sum, pairs * sizeof(__half2)));
  add<<<(pairs + 63) / 64, 64>>>(to_device(half_a), to_device(half_b), sum, pairs);
  std::vector<float> got;
  for (const __half2 pair : to_host(sum, pairs)) {
    got.push_back(__low2float(pair));
    got.push_back(__high2float(pair));
  }
  return compare(got, want, 0);
}

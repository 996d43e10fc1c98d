// Variables of the device, written and read by the host.
#include "check.cuh"

__constant__ float factors[8];
__device__ float results[8];
__device__ int num_calls = 5;

__global__ void multiply(float value) {
  results[threadIdx.x] = factors[threadIdx.x] * value;
  if (threadIdx.x == 0) ++num_calls;
}

int main() {
  const std::vector<float> values = make_values(8);
  CHECK(cudaMemcpyToSymbol(factors, values.data(), sizeof(factors)));
  multiply<<<1, 8>>>(3);
  std::vector<float> got(8);
  int calls = 0;
  CHECK(cudaMemcpyFromSymbol(got.data(), results, sizeof(results)));
  CHECK(cudaMemcpyFromSymbol(&calls, num_calls, sizeof(calls)));
  std::size_t bytes = 0;
  CHECK(cudaGetSymbolSize(&bytes, results));
  std::vector<float> want = values;
  for (float& value : want) value *= 3;
  if (calls != 6 || bytes != sizeof(results)) return 1;
  return compare(got, want, 0);
}

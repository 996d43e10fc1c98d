// Rows of a softmax, a warp each, by shuffles.
#include "check.cuh"

__global__ void softmax(const float* in, float* out, int columns) {
  const float* row = in + blockIdx.x * columns;
  float largest = -INFINITY;
  for (int c = threadIdx.x; c < columns; c += 32) largest = fmaxf(largest, row[c]);
  for (int lane = 16; lane > 0; lane /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, lane));
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += 32) sum += expf(row[c] - largest);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0U, sum, lane);
  for (int c = threadIdx.x; c < columns; c += 32)
    out[blockIdx.x * columns + c] = expf(row[c] - largest) / sum;
}

int main() {
  const int rows = 37;
  const int columns = 301;
  const std::vector<float> in = make_values(rows * columns);
  std::vector<float> want(in.size());
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(in[r * columns + c]));
    for (int c = 0; c < columns; ++c) {
      want[r * columns + c] =
          static_cast<float>(std::exp(static_cast<double>(in[r * columns + c])) / sum);
    }
  }
  float* out = nullptr;
  CHECK(cudaMalloc(&out, in.size() * sizeof(float)));
  softmax<<<rows, 32>>>(to_device(in), out, columns);
  return compare(to_host(out, rows * columns), want, 1e-5);
}

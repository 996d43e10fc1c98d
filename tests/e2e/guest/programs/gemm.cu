// A product in tiles of shared memory, its size known at the launch.
#include "check.cuh"

constexpr int kTile = 16;

__global__ void gemm(const float* a, const float* b, float* c, int rows, int columns, int depth) {
  extern __shared__ float tiles[];
  float* tile_a = tiles;
  float* tile_b = tiles + kTile * kTile;
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < depth; start += kTile) {
    const int k_a = start + threadIdx.x;
    const int k_b = start + threadIdx.y;
    const int place = threadIdx.y * kTile + threadIdx.x;
    tile_a[place] = row < rows && k_a < depth ? a[row * depth + k_a] : 0;
    tile_b[place] = column < columns && k_b < depth ? b[k_b * columns + column] : 0;
    __syncthreads();
    for (int k = 0; k < kTile; ++k)
      sum += tile_a[threadIdx.y * kTile + k] * tile_b[k * kTile + threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}

int main() {
  const int rows = 45;
  const int columns = 70;
  const int depth = 51;
  const std::vector<float> a = make_values(rows * depth, 1);
  const std::vector<float> b = make_values(depth * columns, 2);
  std::vector<float> want(rows * columns);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      double sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += static_cast<double>(a[r * depth + k]) * b[k * columns + c];
      want[r * columns + c] = static_cast<float>(sum);
    }
  }
  float* c = nullptr;
  CHECK(cudaMalloc(&c, want.size() * sizeof(float)));
  int blocks = 0;
  const std::size_t shared = 2 * kTile * kTile * sizeof(float);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, gemm, kTile * kTile, shared));
  if (blocks < 1) return 1;
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  gemm<<<grid, dim3(kTile, kTile), shared>>>(to_device(a), to_device(b), c, rows, columns, depth);
  return compare(to_host(c, rows * columns), want, 1e-5);
}

// Kernels in plain f32: sums, products, a convolution, a histogram.
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

extern "C" __global__ void reduce_sum(const float* in, float* out, int n) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, partial[0]);
}

// 64 x 64 tiles, 4 x 4 results per thread of 16 x 16.
extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int m, int n,
                                         int k) {
  __shared__ float tile_a[16][65], tile_b[16][64];
  const int tx = threadIdx.x, ty = threadIdx.y, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int i = ty * 16 + tx; i < 64 * 16; i += 256) {
      const int row = i / 16, col = i % 16;
      tile_a[col][row] = row0 + row < m && k0 + col < k ? a[(row0 + row) * k + k0 + col] : 0.0f;
    }
    for (int i = ty * 16 + tx; i < 16 * 64; i += 256) {
      const int row = i / 64, col = i % 64;
      tile_b[row][col] = k0 + row < k && col0 + col < n ? b[(k0 + row) * n + col0 + col] : 0.0f;
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i) {
      for (int y = 0; y < 4; ++y) {
        for (int x = 0; x < 4; ++x) sum[y][x] += tile_a[i][ty * 4 + y] * tile_b[i][tx * 4 + x];
      }
    }
    __syncthreads();
  }
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      const int row = row0 + ty * 4 + y, col = col0 + tx * 4 + x;
      if (row < m && col < n) c[row * n + col] = sum[y][x];
    }
  }
}

extern "C" __global__ void histogram(const int* in, int* counts, int n, int bins) {
  extern __shared__ int local[];
  for (int i = threadIdx.x; i < bins; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[in[i] % bins], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(&counts[i], local[i]);
}

// 3 x 3, padding 1, one result per thread; weights [out][in][3][3].
extern "C" __global__ void convolution(const float* in, const float* weights, float* out,
                                       int channels, int height, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            o = blockIdx.z;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const int sy = y + dy, sx = x + dx;
        if (sy < 0 || sy >= height || sx < 0 || sx >= width) continue;
        sum += in[(c * height + sy) * width + sx] *
               weights[((o * channels + c) * 3 + dy + 1) * 3 + dx + 1];
      }
    }
  }
  out[(o * height + y) * width + x] = sum;
}

// An array that is indexed at run time, and a switch: local memory and a table of branches.
extern "C" __global__ void odd_paths(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int values[8];
  for (int j = 0; j < 8; ++j) values[j] = in[(i + j) % n];
  int result = values[in[i] & 7];
  switch (in[i] % 11) {
    case 0: result += 3; break;
    case 1: result *= 5; break;
    case 2: result ^= 0x55; break;
    case 3: result = __popc(result); break;
    case 4: result = __clz(result); break;
    case 5: result = __brev(result); break;
    case 6: result = result / 7; break;
    case 7: result = result % 7; break;
    default: result = -result;
  }
  out[i] = result;
}

extern "C" __global__ void mathematics(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float* row = out + i * 12;
  row[0] = expf(x);
  row[1] = logf(fabsf(x) + 0.5f);
  row[2] = tanhf(x);
  row[3] = erff(x);
  row[4] = sinf(x * 10);
  row[5] = cosf(x * 10);
  row[6] = sqrtf(fabsf(x));
  row[7] = rsqrtf(fabsf(x) + 1e-3f);
  row[8] = powf(fabsf(x), 1.7f);
  row[9] = x / (fabsf(x) + 0.3f);
  row[10] = (float)exp((double)x);
  row[11] = rintf(x * 7) + floorf(x * 3) + fmodf(x, 0.7f);
}

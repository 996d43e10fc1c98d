// Kernels of networks: softmax, normalisation, attention, activations in fp16 and bf16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float warp_max(float x) {
  for (int i = 16; i > 0; i /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, i));
  return x;
}
__device__ float warp_sum(float x) {
  for (int i = 16; i > 0; i /= 2) x += __shfl_xor_sync(0xffffffffu, x, i);
  return x;
}

// A warp per row.
extern "C" __global__ void softmax(const float* in, float* out, int rows, int width) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* from = in + row * width;
  float largest = -3.4e38f, sum = 0;
  for (int i = lane; i < width; i += 32) largest = fmaxf(largest, from[i]);
  largest = warp_max(largest);
  for (int i = lane; i < width; i += 32) sum += expf(from[i] - largest);
  sum = warp_sum(sum);
  for (int i = lane; i < width; i += 32) out[row * width + i] = expf(from[i] - largest) / sum;
}

extern "C" __global__ void gelu_fp16(const __half2* in, __half2* out, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const __half2 x = in[i], half = __float2half2_rn(0.5f), one = __float2half2_rn(1.0f);
  const __half2 cube = __hmul2(__hmul2(x, x), x);
  const __half2 inner =
      __hmul2(__float2half2_rn(0.7978845608f), __hfma2(__float2half2_rn(0.044715f), cube, x));
  const float2 wide = __half22float2(inner);
  const __half2 tanh = __floats2half2_rn(tanhf(wide.x), tanhf(wide.y));
  out[i] = __hmul2(__hmul2(half, x), __hadd2(one, tanh));
}

extern "C" __global__ void axpy_bf16(float a, const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(a * __bfloat162float(x[i]) + __bfloat162float(y[i]));
}

// A block of 128 per row, fp16 in and out, sums in f32.
extern "C" __global__ void layernorm_fp16(const __half* in, const float* scale, const float* shift,
                                          __half* out, int width) {
  __shared__ float sums[2][4];
  const __half* row = in + blockIdx.x * width;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const float x = __half2float(row[i]);
    sum += x;
    squares += x * x;
  }
  sum = warp_sum(sum);
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) sums[0][threadIdx.x / 32] = sum, sums[1][threadIdx.x / 32] = squares;
  __syncthreads();
  sum = sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
  squares = sums[1][0] + sums[1][1] + sums[1][2] + sums[1][3];
  const float mean = sum / width, inverse = rsqrtf(squares / width - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    out[blockIdx.x * width + i] =
        __float2half((__half2float(row[i]) - mean) * inverse * scale[i] + shift[i]);
  }
}

// One warp per query, 64 wide, keys one after the other with a running maximum.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* out,
                                     int length) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= length) return;
  const float q0 = q[row * 64 + lane], q1 = q[row * 64 + lane + 32];
  float largest = -3.4e38f, sum = 0, o0 = 0, o1 = 0;
  for (int j = 0; j <= row; ++j) {
    const float score = warp_sum(q0 * k[j * 64 + lane] + q1 * k[j * 64 + lane + 32]) * 0.125f;
    const float next = fmaxf(largest, score), keep = expf(largest - next),
                weight = expf(score - next);
    sum = sum * keep + weight;
    o0 = o0 * keep + weight * v[j * 64 + lane];
    o1 = o1 * keep + weight * v[j * 64 + lane + 32];
    largest = next;
  }
  out[row * 64 + lane] = o0 / sum;
  out[row * 64 + lane + 32] = o1 / sum;
}

// A product on matrix units: cp.async into two buffers, ldmatrix, mma.sync. compute_80 and later.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

__device__ unsigned shared_address(const void* pointer) {
  return __cvta_generic_to_shared(pointer);
}

__device__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

// One warp: C (16 x 8, f32) = A (16 x k, row) * B (8 x k, which is B transposed); k is a multiple
// of 16.
extern "C" __global__ void mma_product(const __half* a, const __half* b, float* c, int k) {
  __shared__ __align__(16) __half tile_a[2][16][24], tile_b[2][8][24];
  const int lane = threadIdx.x;
  float d[4] = {};
  const auto fetch = [&](int step) {
    const int buffer = step & 1;
    copy16(&tile_a[buffer][lane / 2][lane % 2 * 8], a + lane / 2 * k + step * 16 + lane % 2 * 8);
    if (lane < 16)
      copy16(&tile_b[buffer][lane / 2][lane % 2 * 8], b + lane / 2 * k + step * 16 + lane % 2 * 8);
    asm volatile("cp.async.commit_group;");
  };
  fetch(0);
  for (int step = 0; step < k / 16; ++step) {
    if (step + 1 < k / 16) {
      fetch(step + 1);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncwarp();
    unsigned ra[4], rb[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(shared_address(&tile_a[step & 1][lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "r"(shared_address(&tile_b[step & 1][lane % 8][lane / 8 % 2 * 8])));
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    __syncwarp();
  }
  float* row = c + lane / 4 * 8 + lane % 4 * 2;
  row[0] = d[0], row[1] = d[1], row[64] = d[2], row[65] = d[3];
}

// One warp: C (16 x 16) = A (16 x 16, row) * B (16 x 16, columns contiguous) + C, with fragments of
// wmma.
template <class T>
__device__ void fragment_product(const T* a, const T* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, T, row_major> left;
  fragment<matrix_b, 16, 16, 16, T, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  load_matrix_sync(left, a, 16);
  load_matrix_sync(right, b, 16);
  load_matrix_sync(sum, c, 16, mem_row_major);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
}
extern "C" __global__ void wmma_fp16(const __half* a, const __half* b, float* c) {
  fragment_product(a, b, c);
}
extern "C" __global__ void wmma_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  fragment_product(a, b, c);
}

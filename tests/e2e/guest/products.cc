// Products of matrices by cuBLAS's interface, without a CUDA toolkit. Factors are small whole
// numbers, so results are exact and equal the host's in every type.
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "tests/e2e/guest/matrices.h"

extern "C" {  // names and arguments of CUDA 13
// NOLINTBEGIN(readability-identifier-naming)
int cudaStreamCreate(void** stream);
int cudaStreamSynchronize(void* stream);
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasSetStream_v2(void* handle, void* stream);
int cublasGetStream_v2(void* handle, void** stream);
int cublasSetMathMode(void* handle, int mode);
int cublasSetPointerMode_v2(void* handle, int mode);
const char* cublasGetStatusName(int status);
int cublasSgemm_v2(void* handle, int turns_a, int turns_b, int m, int n, int k, const float* alpha,
                   const float* a, int leading_a, const float* b, int leading_b, const float* beta,
                   float* c, int leading_c);
int cublasGemmStridedBatchedEx(void* handle, int turns_a, int turns_b, int m, int n, int k,
                               const void* alpha, const void* a, int type_a, int leading_a,
                               long long stride_a, const void* b, int type_b, int leading_b,
                               long long stride_b, const void* beta, void* c, int type_c,
                               int leading_c, long long stride_c, int batch, int compute,
                               int algorithm);
// NOLINTEND(readability-identifier-naming)
}

namespace {

using sluice::guest::kBf16;
using sluice::guest::kF16;
using sluice::guest::kF32;
using sluice::guest::Matrix;

constexpr int kSumsF32 = 68;

struct Case {
  int turns_a, turns_b, m, n, k, batch;
  float alpha, beta;
  int factors, result;
};

bool agrees(void* handle, const Case& of) {
  Matrix a(of.factors, (of.turns_a != 0 ? of.k : of.m) + 1, of.turns_a != 0 ? of.m : of.k,
           of.batch);
  Matrix b(of.factors, (of.turns_b != 0 ? of.n : of.k) + 2, of.turns_b != 0 ? of.k : of.n,
           of.batch);
  Matrix c(of.result, of.m + 3, of.n, of.batch);
  a.fill(1);
  b.fill(2);
  c.fill(3);
  if (!a.upload() || !b.upload() || !c.upload()) return false;
  for (int item = 0; item < of.batch; ++item) {
    for (int row = 0; row < of.m; ++row) {
      for (int column = 0; column < of.n; ++column) {
        float sum = 0;
        for (int i = 0; i < of.k; ++i) {
          sum += (of.turns_a != 0 ? a.at(i, row, item) : a.at(row, i, item)) *
                 (of.turns_b != 0 ? b.at(column, i, item) : b.at(i, column, item));
        }
        float& result = c.at(row, column, item);
        result = of.alpha * sum + of.beta * result;
      }
    }
  }
  const int status = cublasGemmStridedBatchedEx(
      handle, of.turns_a, of.turns_b, of.m, of.n, of.k, &of.alpha, a.device(), a.type(),
      a.leading(), a.stride(), b.device(), b.type(), b.leading(), b.stride(), &of.beta, c.device(),
      c.type(), c.leading(), c.stride(), of.batch, kSumsF32, -1);
  if (status != 0) {
    std::printf("%s\n", cublasGetStatusName(status));
    return false;
  }
  void* stream = nullptr;
  return cublasGetStream_v2(handle, &stream) == 0 && cudaStreamSynchronize(stream) == 0 &&
         c.is_equal();
}

bool is_status(const char* what, int got, const char* want) {
  if (std::strcmp(cublasGetStatusName(got), want) == 0) return true;
  std::printf("%s: %s, not %s\n", what, cublasGetStatusName(got), want);
  return false;
}

bool meets_errors(void* handle) {
  const float one = 1;
  const auto sgemm = [&](void* with, int turns, int m, int leading, const float* alpha) {
    return cublasSgemm_v2(with, turns, 0, m, 4, 4, alpha, nullptr, leading, nullptr, 4, &one,
                          nullptr, 4);
  };
  const auto of_type = [&](int type, int compute) {
    return cublasGemmStridedBatchedEx(handle, 0, 0, 4, 4, 4, &one, nullptr, type, 4, 16, nullptr,
                                      type, 4, 16, &one, nullptr, type, 4, 16, 1, compute, -1);
  };
  const auto far = [&] {
    return cublasGemmStridedBatchedEx(handle, 0, 0, 4, 4, 4, &one, nullptr, kF32, 4, 1LL << 61,
                                      nullptr, kF32, 4, 16, &one, nullptr, kF32, 4, 16, 65537,
                                      kSumsF32, -1);
  };
  constexpr int kF64 = 1;
  constexpr int kSumsF16 = 64;
  bool is_right =
      is_status("no handle", sgemm(nullptr, 0, 4, 4, &one), "CUBLAS_STATUS_NOT_INITIALIZED");
  is_right &=
      is_status("short columns", sgemm(handle, 0, 4, 3, &one), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("a wrong turn", sgemm(handle, 7, 4, 4, &one), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("negative rows", sgemm(handle, 0, -1, 4, &one), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("no factor", sgemm(handle, 0, 4, 4, nullptr), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("a stride beyond every memory", far(), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("f64", of_type(kF64, kSumsF32), "CUBLAS_STATUS_NOT_SUPPORTED");
  is_right &= is_status("sums of f16", of_type(kF16, kSumsF16), "CUBLAS_STATUS_NOT_SUPPORTED");
  is_right &= is_status("no rows", sgemm(handle, 0, 0, 4, &one), "CUBLAS_STATUS_SUCCESS");
  cublasSetPointerMode_v2(handle, 1);
  is_right &= is_status("factors on the device", sgemm(handle, 0, 4, 4, &one),
                        "CUBLAS_STATUS_NOT_SUPPORTED");
  cublasSetPointerMode_v2(handle, 0);
  return is_right;
}

}  // namespace

int main() {
  void* handle = nullptr;
  void* stream = nullptr;
  if (cublasCreate_v2(&handle) != 0 || cudaStreamCreate(&stream) != 0) return 2;
  bool is_right = meets_errors(handle);
  for (void* const used : {static_cast<void*>(nullptr), stream}) {
    cublasSetStream_v2(handle, used);
    cublasSetMathMode(handle, 3);  // may round to TF32
    for (int turns = 0; turns < 4; ++turns) {
      is_right &= agrees(handle, {turns & 1, turns >> 1, 17, 18, 19, 1, 1, 0, kF32, kF32});
      is_right &= agrees(handle, {turns & 1, turns >> 1, 5, 33, 8, 3, 2, -1, kF16, kF16});
    }
    is_right &= agrees(handle, {0, 0, 16, 16, 4, 2, 1, 1, kF16, kF32});
    is_right &= agrees(handle, {0, 0, 3, 2, 6, 2, 1, 1, kBf16, kBf16});
    is_right &= agrees(handle, {1, 0, 3, 2, 6, 2, 1, 0, kBf16, kF32});
    is_right &= agrees(handle, {0, 0, 4, 4, 0, 1, 1, 2, kF32, kF32});
  }
  // More columns, and more products, than a grid has blocks for.
  is_right &= agrees(handle, {0, 0, 1, 65535 * 16 + 1, 1, 1, 1, 1, kF32, kF32});
  is_right &= agrees(handle, {0, 0, 1, 1, 1, 65535 + 1, 1, 1, kF32, kF32});
  cublasDestroy_v2(handle);
  std::printf(is_right ? "right\n" : "wrong\n");
  return is_right ? 0 : 1;
}

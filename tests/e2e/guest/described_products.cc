// Products by cuBLASLt's interface, without a CUDA toolkit. Factors are small whole numbers, so
// results are exact and equal the host's in every type; those of GELU are close.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "tests/e2e/guest/matrices.h"

extern "C" {  // names and arguments of CUDA 13
// NOLINTBEGIN(readability-identifier-naming)
int cudaStreamCreate(void** stream);
int cudaStreamSynchronize(void* stream);
const char* cublasLtGetStatusName(int status);
int cublasLtCreate(void** handle);
int cublasLtDestroy(void* handle);
int cublasLtMatmulDescCreate(void** operation, int compute, int scale);
int cublasLtMatmulDescDestroy(void* operation);
int cublasLtMatmulDescSetAttribute(void* operation, int attribute, const void* value,
                                   std::size_t bytes);
int cublasLtMatmulDescGetAttribute(const void* operation, int attribute, void* value,
                                   std::size_t bytes, std::size_t* size);
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading);
int cublasLtMatrixLayoutDestroy(void* layout);
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes);
int cublasLtMatmulPreferenceCreate(void** preference);
int cublasLtMatmulPreferenceDestroy(void* preference);
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         std::size_t bytes);
int cublasLtMatmulAlgoGetHeuristic(void* handle, const void* operation, const void* a,
                                   const void* b, const void* c, const void* d,
                                   const void* preference, int capacity, void* found,
                                   int* num_found);
int cublasLtMatmul(void* handle, const void* operation, const void* alpha, const void* a,
                   const void* a_layout, const void* b, const void* b_layout, const void* beta,
                   const void* c, const void* c_layout, void* d, const void* d_layout,
                   const void* algorithm, void* workspace, std::size_t bytes, void* stream);
// NOLINTEND(readability-identifier-naming)
}

namespace {

using sluice::guest::kBf16;
using sluice::guest::kF16;
using sluice::guest::kF32;
using sluice::guest::Matrix;

constexpr int kSumsF32 = 68;
constexpr int kTurnsA = 3, kTurnsB = 4, kFill = 6, kEpilogue = 7, kBias = 8, kAuxPointer = 11;
constexpr int kOrder = 1, kBatch = 5, kStride = 6;
constexpr std::uint32_t kRelu = 2, kAddsBias = 4, kGelu = 32;

/// cublasLtMatmulHeuristicResult_t
struct Found {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int status;
  float num_waves;
  int reserved[4];
};

/// What a matrix means: its rows and columns, and whether it lies by rows.
struct Described {
  Described(int type, int rows, int columns, int batch, bool by_rows)
      : is_by_rows(by_rows),
        matrix(type, (by_rows ? columns : rows) + 1, by_rows ? rows : columns, batch) {
    cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                               static_cast<std::uint64_t>(columns), matrix.leading());
    const std::int32_t order = by_rows ? 1 : 0;
    const std::int64_t stride = matrix.stride();
    cublasLtMatrixLayoutSetAttribute(layout, kOrder, &order, sizeof(order));
    cublasLtMatrixLayoutSetAttribute(layout, kBatch, &batch, sizeof(batch));
    cublasLtMatrixLayoutSetAttribute(layout, kStride, &stride, sizeof(stride));
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described() { cublasLtMatrixLayoutDestroy(layout); }

  float& at(int row, int column, int item) {
    return is_by_rows ? matrix.at(column, row, item) : matrix.at(row, column, item);
  }

  const bool is_by_rows;
  Matrix matrix;
  void* layout = nullptr;
};

struct Case {
  bool turns_a, turns_b;
  int m, n, k, batch;
  float alpha, beta;
  int factors, result;
  std::uint32_t epilogue;
  unsigned by_rows;  ///< a bit for each of A, B, C and D
};

struct Operands {
  explicit Operands(const Case& of)
      : a(of.factors, of.turns_a ? of.k : of.m, of.turns_a ? of.m : of.k, of.batch,
          (of.by_rows & 1U) != 0),
        b(of.factors, of.turns_b ? of.n : of.k, of.turns_b ? of.k : of.n, of.batch,
          (of.by_rows & 2U) != 0),
        c(of.result, of.m, of.n, of.batch, (of.by_rows & 4U) != 0),
        d(of.result, of.m, of.n, of.batch, (of.by_rows & 8U) != 0),
        bias(of.result, of.m, 1, 1) {
    a.matrix.fill(1);
    b.matrix.fill(2);
    c.matrix.fill(3);
    d.matrix.fill(4);
    bias.fill(5);
  }
  bool upload() {
    return a.matrix.upload() && b.matrix.upload() && c.matrix.upload() && d.matrix.upload() &&
           bias.upload();
  }
  Described a, b, c, d;
  Matrix bias;
};

float activated(float value, std::uint32_t epilogue) {
  if ((epilogue & kRelu) != 0) return value < 0 ? 0 : value;
  if ((epilogue & kGelu) == 0) return value;
  const double x = value;
  const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return static_cast<float>(x * (1 + std::tanh(u)) / 2);
}

void compute_on_host(const Case& of, Operands* on) {
  for (int item = 0; item < of.batch; ++item) {
    for (int row = 0; row < of.m; ++row) {
      for (int column = 0; column < of.n; ++column) {
        float sum = 0;
        for (int i = 0; i < of.k; ++i) {
          sum += (of.turns_a ? on->a.at(i, row, item) : on->a.at(row, i, item)) *
                 (of.turns_b ? on->b.at(column, i, item) : on->b.at(i, column, item));
        }
        float value = of.alpha * sum + of.beta * on->c.at(row, column, item);
        if ((of.epilogue & kAddsBias) != 0) value += on->bias.at(row, 0, 0);
        on->d.at(row, column, item) = activated(value, of.epilogue);
      }
    }
  }
}

void* describe(const Case& of, const void* bias) {
  void* operation = nullptr;
  cublasLtMatmulDescCreate(&operation, kSumsF32, kF32);
  const std::int32_t turns_a = of.turns_a ? 1 : 0;
  const std::int32_t turns_b = of.turns_b ? 1 : 0;
  cublasLtMatmulDescSetAttribute(operation, kTurnsA, &turns_a, sizeof(turns_a));
  cublasLtMatmulDescSetAttribute(operation, kTurnsB, &turns_b, sizeof(turns_b));
  cublasLtMatmulDescSetAttribute(operation, kEpilogue, &of.epilogue, sizeof(of.epilogue));
  cublasLtMatmulDescSetAttribute(operation, kBias, static_cast<const void*>(&bias), sizeof(bias));
  return operation;
}

bool is_status(const char* what, int got, const char* want) {
  if (std::strcmp(cublasLtGetStatusName(got), want) == 0) return true;
  std::printf("%s: %s, not %s\n", what, cublasLtGetStatusName(got), want);
  return false;
}

bool agrees(void* handle, void* stream, const Case& of) {
  Operands on(of);
  if (!on.upload()) return false;
  compute_on_host(of, &on);
  void* const operation = describe(of, on.bias.device());
  void* preference = nullptr;
  cublasLtMatmulPreferenceCreate(&preference);
  Found found = {};
  int num_found = 0;
  const int status =
      cublasLtMatmulAlgoGetHeuristic(handle, operation, on.a.layout, on.b.layout, on.c.layout,
                                     on.d.layout, preference, 1, &found, &num_found);
  cublasLtMatmulPreferenceDestroy(preference);
  bool is_right = is_status("heuristic", status, "CUBLAS_STATUS_SUCCESS") && num_found == 1;
  is_right &= is_status(
      "product",
      cublasLtMatmul(handle, operation, &of.alpha, on.a.matrix.device(), on.a.layout,
                     on.b.matrix.device(), on.b.layout, &of.beta, on.c.matrix.device(), on.c.layout,
                     on.d.matrix.device(), on.d.layout, found.algorithm, nullptr, 0, stream),
      "CUBLAS_STATUS_SUCCESS");
  cublasLtMatmulDescDestroy(operation);
  if (!is_right || cudaStreamSynchronize(stream) != 0) return false;
  return (of.epilogue & kGelu) != 0 ? on.d.matrix.is_close() : on.d.matrix.is_equal();
}

/// The status of a product of 4 by 4 matrices, of which `change` changes one thing.
template <typename Change>
int status_with(void* handle, const Change& change, const Found* algorithm = nullptr) {
  const Case plain = {false, false, 4, 4, 4, 1, 1, 0, kF32, kF32, 1, 0};
  Operands on(plain);
  if (!on.upload()) return -1;
  void* const operation = describe(plain, nullptr);
  change(operation, on);
  const int status =
      cublasLtMatmul(handle, operation, &plain.alpha, on.a.matrix.device(), on.a.layout,
                     on.b.matrix.device(), on.b.layout, &plain.beta, nullptr, on.c.layout,
                     on.d.matrix.device(), on.d.layout, algorithm, nullptr, 0, nullptr);
  cublasLtMatmulDescDestroy(operation);
  return status;
}

bool meets_wrong_values(void* handle) {
  const auto sets = [handle](int attribute, const auto& value) {
    return status_with(handle, [&](void* operation, const Operands&) {
      cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value));
    });
  };
  const auto lays = [handle](int attribute, const auto& value) {
    return status_with(handle, [&](void*, const Operands& on) {
      cublasLtMatrixLayoutSetAttribute(on.b.layout, attribute, &value, sizeof(value));
    });
  };
  constexpr std::uint32_t kGeluWithAux = 160;
  constexpr std::int32_t kByBlocks = 2;
  constexpr int kRowsAttribute = 2;
  const auto nothing = [](void*, const Operands&) {};
  const Found of_others = {};
  bool is_right =
      is_status("nothing changed", status_with(handle, nothing), "CUBLAS_STATUS_SUCCESS");
  is_right &=
      is_status("another epilogue", sets(kEpilogue, kGeluWithAux), "CUBLAS_STATUS_NOT_SUPPORTED");
  is_right &= is_status("a triangle", sets(kFill, std::int32_t{1}), "CUBLAS_STATUS_NOT_SUPPORTED");
  is_right &=
      is_status("a bias without memory", sets(kEpilogue, kAddsBias), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("a wrong turn", sets(kTurnsA, std::int32_t{7}), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("blocks", lays(kOrder, kByBlocks), "CUBLAS_STATUS_NOT_SUPPORTED");
  is_right &= is_status("f64", lays(0, std::uint32_t{1}), "CUBLAS_STATUS_NOT_SUPPORTED");
  is_right &= is_status("another depth", lays(kRowsAttribute, std::uint64_t{3}),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("more rows than numbers", lays(kRowsAttribute, ~std::uint64_t{0}),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("another batch", lays(kBatch, std::int32_t{2}), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("a stride beyond every memory", lays(kStride, std::int64_t{1} << 61),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("an algorithm of others", status_with(handle, nothing, &of_others),
                        "CUBLAS_STATUS_INVALID_VALUE");
  return is_right;
}

bool meets_wrong_attributes() {
  void* operation = nullptr;
  bool is_right = is_status("no room", cublasLtMatmulDescCreate(nullptr, kSumsF32, kF32),
                            "CUBLAS_STATUS_INVALID_VALUE");
  cublasLtMatmulDescCreate(&operation, kSumsF32, kF32);
  const void* const address = nullptr;
  const auto set = [&](void* of, int attribute, const void* value, std::size_t bytes) {
    return cublasLtMatmulDescSetAttribute(of, attribute, value, bytes);
  };
  const std::uint32_t epilogue = kRelu;
  is_right &= is_status("no description", set(nullptr, kEpilogue, &epilogue, 4),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("no value", set(operation, kEpilogue, nullptr, 4), "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("short value", set(operation, kEpilogue, &epilogue, 2),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("unknown attribute", set(operation, 999, &epilogue, 4),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= is_status("attribute of training",
                        set(operation, kAuxPointer, static_cast<const void*>(&address), 8),
                        "CUBLAS_STATUS_NOT_SUPPORTED");
  set(operation, kEpilogue, &epilogue, 4);
  std::uint32_t got = 0;
  std::size_t size = 0;
  cublasLtMatmulDescGetAttribute(operation, kEpilogue, &got, sizeof(got), &size);
  is_right &= got == kRelu && size == sizeof(got);
  is_right &=
      is_status("short room", cublasLtMatmulDescGetAttribute(operation, kEpilogue, &got, 2, &size),
                "CUBLAS_STATUS_INVALID_VALUE");
  cublasLtMatmulDescDestroy(operation);
  return is_right;
}

bool meets_wrong_questions(void* handle) {
  const Case plain = {false, false, 4, 4, 4, 1, 1, 0, kF32, kF32, 1, 0};
  const Operands on(plain);
  void* const operation = describe(plain, nullptr);
  void* preference = nullptr;
  cublasLtMatmulPreferenceCreate(&preference);
  Found found = {};
  int num_found = 7;
  const auto ask = [&](void* by, const void* what, const void* a, int capacity) {
    return cublasLtMatmulAlgoGetHeuristic(by, what, a, on.b.layout, on.c.layout, on.d.layout,
                                          preference, capacity, &found, &num_found);
  };
  bool is_right = is_status("no handle", ask(nullptr, operation, on.a.layout, 1),
                            "CUBLAS_STATUS_NOT_INITIALIZED");
  is_right &= is_status("no algorithms", ask(handle, operation, on.a.layout, 0),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &= num_found == 0;
  is_right &= is_status("no operation", ask(handle, nullptr, on.a.layout, 1),
                        "CUBLAS_STATUS_INVALID_VALUE");
  is_right &=
      is_status("no layout", ask(handle, operation, nullptr, 1), "CUBLAS_STATUS_INVALID_VALUE");
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatmulDescDestroy(operation);
  return is_right;
}

bool computes_rightly(void* handle, void* stream) {
  bool is_right = true;
  for (const std::uint32_t epilogue :
       {1U, kRelu, kAddsBias, kRelu | kAddsBias, kGelu, kGelu | kAddsBias}) {
    is_right &= agrees(handle, stream, {true, false, 17, 18, 5, 2, 1, 0, kF32, kF32, epilogue, 0});
  }
  for (unsigned by_rows = 0; by_rows < 16; ++by_rows) {
    is_right &= agrees(handle, stream,
                       {(by_rows & 1U) != 0, (by_rows & 2U) == 0, 3, 5, 4, 2, 2, -1, kF16, kF16,
                        kRelu | kAddsBias, by_rows});
  }
  is_right &= agrees(handle, stream, {false, true, 6, 3, 4, 1, 1, 1, kBf16, kBf16, kAddsBias, 0});
  is_right &= agrees(handle, stream, {true, false, 6, 3, 4, 3, 1, 1, kBf16, kF32, kRelu, 8});
  is_right &= agrees(handle, stream, {false, false, 4, 4, 0, 1, 1, 0, kF32, kF32, kAddsBias, 0});
  return is_right;
}

}  // namespace

int main() {
  void* handle = nullptr;
  void* stream = nullptr;
  if (cublasLtCreate(&handle) != 0 || cudaStreamCreate(&stream) != 0) return 2;
  bool is_right = meets_wrong_values(handle);
  is_right &= meets_wrong_attributes();
  is_right &= meets_wrong_questions(handle);
  is_right &= computes_rightly(handle, nullptr);
  is_right &= computes_rightly(handle, stream);
  cublasLtDestroy(handle);
  std::printf(is_right ? "right\n" : "wrong\n");
  return is_right ? 0 : 1;
}

// Two layers of a perceptron by cuBLASLt, as its header declares it: GELU and a bias in the first,
// matrices by rows in the second; a kernel of the program's own between them.
#include <cublasLt.h>

#include "check.cuh"

#define CHECK_BLAS(call)                                             \
  do {                                                               \
    const cublasStatus_t status = (call);                            \
    if (status != CUBLAS_STATUS_SUCCESS) {                           \
      std::printf("%s: %s\n", #call, cublasLtGetStatusName(status)); \
      std::exit(1);                                                  \
    }                                                                \
  } while (false)

constexpr int kInputs = 24;
constexpr int kHidden = 40;
constexpr int kOutputs = 12;
constexpr int kRows = 9;

__global__ void scale(float* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

/// A matrix that lies by rows or by columns, without gaps.
cublasLtMatrixLayout_t layout(int rows, int columns, bool is_by_rows) {
  cublasLtMatrixLayout_t made = nullptr;
  CHECK_BLAS(
      cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, columns, is_by_rows ? columns : rows));
  const cublasLtOrder_t order = is_by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
  CHECK_BLAS(
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
  return made;
}

/// result [rows, columns] = epilogue(weights [rows, depth] * values [depth, columns] + bias
/// [rows]).
void multiply(cublasLtHandle_t handle, cublasLtEpilogue_t epilogue, const float* weights,
              const float* values, const float* bias, float* result, int rows, int columns,
              int depth, bool is_by_rows) {
  cublasLtMatmulDesc_t operation = nullptr;
  CHECK_BLAS(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CHECK_BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                            sizeof(epilogue)));
  CHECK_BLAS(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                            sizeof(bias)));
  const cublasLtMatrixLayout_t a = layout(rows, depth, is_by_rows);
  const cublasLtMatrixLayout_t b = layout(depth, columns, false);
  const cublasLtMatrixLayout_t d = layout(rows, columns, false);
  cublasLtMatmulPreference_t preference = nullptr;
  CHECK_BLAS(cublasLtMatmulPreferenceCreate(&preference));
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  CHECK_BLAS(
      cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, d, d, preference, 1, &found, &count));
  const float one = 1;
  const float zero = 0;
  CHECK_BLAS(cublasLtMatmul(handle, operation, &one, weights, a, values, b, &zero, result, d,
                            result, d, &found.algo, nullptr, 0, nullptr));
  CHECK_BLAS(cublasLtMatmulPreferenceDestroy(preference));
  for (const cublasLtMatrixLayout_t each : {a, b, d}) CHECK_BLAS(cublasLtMatrixLayoutDestroy(each));
  CHECK_BLAS(cublasLtMatmulDescDestroy(operation));
}

double gelu(double x) {
  return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x))) / 2;
}

int main() {
  const std::vector<float> values = make_values(kInputs * kRows, 1);
  const std::vector<float> first = make_values(kHidden * kInputs, 2);    // by columns
  const std::vector<float> second = make_values(kOutputs * kHidden, 3);  // by rows
  const std::vector<float> first_bias = make_values(kHidden, 4);
  const std::vector<float> second_bias = make_values(kOutputs, 5);
  float* hidden = to_device(std::vector<float>(kHidden * kRows));
  float* outputs = to_device(std::vector<float>(kOutputs * kRows));
  cublasLtHandle_t handle = nullptr;
  CHECK_BLAS(cublasLtCreate(&handle));
  multiply(handle, CUBLASLT_EPILOGUE_GELU_BIAS, to_device(first), to_device(values),
           to_device(first_bias), hidden, kHidden, kRows, kInputs, false);
  scale<<<(kHidden * kRows + 63) / 64, 64>>>(hidden, 2, kHidden * kRows);
  multiply(handle, CUBLASLT_EPILOGUE_RELU_BIAS, to_device(second), hidden, to_device(second_bias),
           outputs, kOutputs, kRows, kHidden, true);
  CHECK_BLAS(cublasLtDestroy(handle));

  std::vector<float> want;
  for (int row = 0; row < kRows; ++row) {
    std::vector<double> layer(kHidden);
    for (int i = 0; i < kHidden; ++i) {
      double sum = first_bias[i];
      for (int j = 0; j < kInputs; ++j)
        sum += static_cast<double>(first[j * kHidden + i]) * values[row * kInputs + j];
      layer[i] = 2 * gelu(sum);
    }
    for (int i = 0; i < kOutputs; ++i) {
      double sum = second_bias[i];
      for (int j = 0; j < kHidden; ++j) sum += second[i * kHidden + j] * layer[j];
      want.push_back(static_cast<float>(std::fmax(sum, 0)));
    }
  }
  return compare(to_host(outputs, kOutputs * kRows), want, 1e-5);
}

// cuBLASLt's handles, its heuristic, and products.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "guest/blas/lt/lt.h"

namespace sluice::guest::blas {
namespace {

/// In an Algorithm that the heuristic gave.
constexpr std::uint64_t kAlgorithmMark = 0x65636975'6c730001;

/// "CUBLASLT_MATMUL_DESC_FILL_MODE 1".
Result refuse_value(const char* attribute, std::int64_t value) {
  return refuse(attribute + (" " + std::to_string(value)));
}

struct Epilogues {
  bool has_bias;
  Activation activation;
};

std::optional<Epilogues> epilogue_of(const Operation& operation) {
  switch (static_cast<Epilogue>(operation.epilogue)) {
    case Epilogue::kDefault: return Epilogues{false, Activation::kNone};
    case Epilogue::kRelu: return Epilogues{false, Activation::kRelu};
    case Epilogue::kBias: return Epilogues{true, Activation::kNone};
    case Epilogue::kReluBias: return Epilogues{true, Activation::kRelu};
    case Epilogue::kGelu: return Epilogues{false, Activation::kGelu};
    case Epilogue::kGeluBias: return Epilogues{true, Activation::kGelu};
  }
  return std::nullopt;
}

/// The matrices of a call, in the interface's order.
struct Layouts {
  const Layout* a;
  const Layout* b;
  const Layout* c;
  const Layout* d;
};

/// Fails: kNotSupported.
Result check_operation(const Operation& of, const Layout& d) {
  struct Limit {
    const char* attribute;
    std::int64_t value;
    bool is_supported;
  };
  const bool is_bias_like_d =
      of.bias_type == kResultsType || static_cast<std::uint32_t>(of.bias_type) == d.type;
  for (const Limit& limit : {
           Limit{"CUBLASLT_MATMUL_DESC_COMPUTE_TYPE", of.compute, sums_in_f32(of.compute)},
           Limit{"CUBLASLT_MATMUL_DESC_SCALE_TYPE", of.scale,
                 of.scale == static_cast<int>(Element::kF32)},
           Limit{"CUBLASLT_MATMUL_DESC_POINTER_MODE", of.pointer_mode, of.pointer_mode == 0},
           Limit{"CUBLASLT_MATMUL_DESC_TRANSC", of.turns_c, of.turns_c == 0},
           Limit{"CUBLASLT_MATMUL_DESC_FILL_MODE", of.fill, of.fill == kFullMatrix},
           Limit{"CUBLASLT_MATMUL_DESC_EPILOGUE", of.epilogue, epilogue_of(of).has_value()},
           Limit{"CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE", of.bias_stride, of.bias_stride == 0},
           Limit{"CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE", of.bias_type, is_bias_like_d},
       }) {
    if (!limit.is_supported) return refuse_value(limit.attribute, limit.value);
  }
  return Result::kSuccess;
}

/// Fails: kNotSupported, kInvalidValue.
Result read_layout(const Layout& layout, int batch, Matrix* matrix) {
  const auto order = static_cast<Order>(layout.order);
  if (order != Order::kColumns && order != Order::kRows) {
    return refuse_value("CUBLASLT_MATRIX_LAYOUT_ORDER", layout.order);
  }
  if (layout.plane != 0) {
    return refuse_value("CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET", layout.plane);
  }
  if (layout.batch_mode != 0) {
    return refuse_value("CUBLASLT_MATRIX_LAYOUT_BATCH_MODE", layout.batch_mode);
  }
  if (layout.batch != batch) return Result::kInvalidValue;
  matrix->element = static_cast<Element>(layout.type);
  matrix->leading = layout.leading;
  matrix->stride = layout.stride;
  matrix->is_by_rows = order == Order::kRows;
  return Result::kSuccess;
}

/// Rows and columns of the matrices have to fit each other.
bool fit(const Operation& of, const Layouts& layouts, Product* product) {
  const bool is_a_turned = of.turns_a != 0;
  const bool is_b_turned = of.turns_b != 0;
  const auto [rows, depth] = is_a_turned ? std::pair(layouts.a->columns, layouts.a->rows)
                                         : std::pair(layouts.a->rows, layouts.a->columns);
  const auto [depth_b, columns] = is_b_turned ? std::pair(layouts.b->columns, layouts.b->rows)
                                              : std::pair(layouts.b->rows, layouts.b->columns);
  product->turns_a = static_cast<Transpose>(of.turns_a);
  product->turns_b = static_cast<Transpose>(of.turns_b);
  product->m = static_cast<std::int64_t>(rows);
  product->n = static_cast<std::int64_t>(columns);
  product->k = static_cast<std::int64_t>(depth);
  return depth == depth_b && layouts.c->rows == rows && layouts.c->columns == columns &&
         layouts.d->rows == rows && layouts.d->columns == columns;
}

/// The product that descriptions ask for, without addresses and factors.
/// Fails: kInvalidValue for null, or sizes that do not fit; kNotSupported.
Result describe(const Operation* operation, const Layouts& layouts, Product* product) {
  if (operation == nullptr || layouts.a == nullptr || layouts.b == nullptr ||
      layouts.c == nullptr || layouts.d == nullptr) {
    return Result::kInvalidValue;
  }
  Result result = check_operation(*operation, *layouts.d);
  if (result != Result::kSuccess) return result;
  product->batch = layouts.d->batch;
  for (const auto& [layout, matrix] :
       {std::pair(layouts.a, &product->a), std::pair(layouts.b, &product->b),
        std::pair(layouts.c, &product->c), std::pair(layouts.d, &product->d)}) {
    result = read_layout(*layout, layouts.d->batch, matrix);
    if (result != Result::kSuccess) return result;
  }
  if (!fit(*operation, layouts, product)) return Result::kInvalidValue;
  product->activation = epilogue_of(*operation)->activation;
  return check(*product);
}

/// Fails: kInvalidValue for addresses that are missing, or an algorithm of another origin.
Result check_call(const Operation& operation, const Product& product, const Algorithm* algorithm) {
  const bool has_elements = product.m > 0 && product.n > 0 && product.batch > 0;
  const bool lacks_factors =
      product.k > 0 && (product.a.data == nullptr || product.b.data == nullptr);
  const bool lacks_addend = product.beta != 0 && product.c.data == nullptr;
  if (has_elements && (lacks_factors || lacks_addend || product.d.data == nullptr)) {
    return Result::kInvalidValue;
  }
  if (epilogue_of(operation)->has_bias && operation.bias == nullptr) return Result::kInvalidValue;
  const bool is_ours = algorithm == nullptr || algorithm->data[0] == kAlgorithmMark;
  return is_ours ? Result::kSuccess : Result::kInvalidValue;
}

Layouts layouts_of(const void* a, const void* b, const void* c, const void* d) {
  return {static_cast<const Layout*>(a), static_cast<const Layout*>(b),
          static_cast<const Layout*>(c), static_cast<const Layout*>(d)};
}

}  // namespace
}  // namespace sluice::guest::blas

namespace blas = sluice::guest::blas;
using blas::Result;

SLUICE_GUEST_BLAS_EXPORT int cublasLtCreate(void** handle) {
  return static_cast<int>(blas::create_handle(handle));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtDestroy(void* handle) {
  if (handle == nullptr) return static_cast<int>(Result::kNotInitialized);
  delete static_cast<blas::Handle*>(handle);
  return static_cast<int>(Result::kSuccess);
}
SLUICE_GUEST_BLAS_EXPORT std::size_t cublasLtGetVersion() { return blas::kVersion; }
SLUICE_GUEST_BLAS_EXPORT const char* cublasLtGetStatusName(int status) {
  return blas::name_of(status);
}
SLUICE_GUEST_BLAS_EXPORT const char* cublasLtGetStatusString(int status) {
  return blas::meaning_of(status);
}

SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulAlgoGetHeuristic(
    void* handle, const void* operation, const void* a, const void* b, const void* c, const void* d,
    const void* preference, int capacity, blas::Heuristic* found, int* num_found) {
  if (handle == nullptr) return static_cast<int>(Result::kNotInitialized);
  if (num_found != nullptr) *num_found = 0;
  if (preference == nullptr || capacity <= 0 || found == nullptr || num_found == nullptr) {
    return static_cast<int>(Result::kInvalidValue);
  }
  blas::Product product;
  const Result result = blas::describe(static_cast<const blas::Operation*>(operation),
                                       blas::layouts_of(a, b, c, d), &product);
  if (result != Result::kSuccess) return static_cast<int>(result);
  *found = {};
  found->algorithm.data[0] = blas::kAlgorithmMark;
  found->num_waves = 1;
  *num_found = 1;
  return static_cast<int>(Result::kSuccess);
}

SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmul(void* handle, const void* operation, const void* alpha,
                                            const void* a, const void* a_layout, const void* b,
                                            const void* b_layout, const void* beta, const void* c,
                                            const void* c_layout, void* d, const void* d_layout,
                                            const blas::Algorithm* algorithm, void* /*workspace*/,
                                            std::size_t /*bytes*/, void* stream) {
  if (handle == nullptr) return static_cast<int>(Result::kNotInitialized);
  const auto* const asked = static_cast<const blas::Operation*>(operation);
  blas::Product product;
  Result result =
      blas::describe(asked, blas::layouts_of(a_layout, b_layout, c_layout, d_layout), &product);
  if (result != Result::kSuccess) return static_cast<int>(result);
  if (alpha == nullptr || beta == nullptr) return static_cast<int>(Result::kInvalidValue);
  product.alpha = *static_cast<const float*>(alpha);
  product.beta = *static_cast<const float*>(beta);
  product.a.data = a;
  product.b.data = b;
  product.c.data = c;
  product.d.data = d;
  result = blas::check_call(*asked, product, algorithm);
  if (result != Result::kSuccess) return static_cast<int>(result);
  if (blas::epilogue_of(*asked)->has_bias) product.bias = asked->bias;
  return static_cast<int>(blas::multiply(stream, product));
}

// Sizes of attributes are checked as cuBLASLt checks them: another size is an invalid value.
#include "plugin/libraries/testing/fake_cublaslt.h"

#include <cstring>
#include <map>
#include <vector>

#include "plugin/libraries/testing/numbers.h"

// NOLINTBEGIN(readability-identifier-naming): the names of cuBLAS

namespace sluice::cuda {

struct LtHandleObject {};
struct LtMatmulObject {
  LtCompute compute;
  std::map<LtMatmulAttribute, std::uint64_t> values;
};
struct LtLayoutObject {
  LtType type;
  std::int64_t rows, columns, leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct LtPreferenceObject {
  std::map<LtPreferenceAttribute, std::uint64_t> values;
};

namespace {

testing::FakeCublasLt fake;

template <typename Object, typename Handle>
LtStatus make(Object object, Handle* handle) {
  *handle = new Object(std::move(object));
  ++fake.num_descriptors;
  return LtStatus::kSuccess;
}
template <typename Handle>
LtStatus end(Handle handle) {
  delete handle;
  --fake.num_descriptors;
  return LtStatus::kSuccess;
}

LtStatus take(const void* value, std::size_t bytes, std::size_t expected, std::uint64_t* target) {
  if (value == nullptr || bytes != expected) return LtStatus::kInvalidValue;
  std::memcpy(target, value, bytes);
  return LtStatus::kSuccess;
}

sluice_element_type element_type(LtType type) {
  if (type == LtType::kF16) return plugin::kF16;
  return type == LtType::kBf16 ? plugin::kBf16 : plugin::kF32;
}

std::size_t elements_of(const LtLayoutObject& layout) {
  return static_cast<std::size_t>(layout.stride * (layout.batch - 1) +
                                  layout.leading * layout.columns);
}

std::size_t bytes_of(const LtLayoutObject& layout) {
  return elements_of(layout) *
         static_cast<std::size_t>(plugin::element_bits(element_type(layout.type)) / 8);
}

std::vector<float> fetch(const void* address, LtType type, std::size_t bytes, CuStream stream) {
  std::vector<std::byte> raw(bytes);
  fake.driver->memcpy_dtoh_async(raw.data(), reinterpret_cast<CuDevicePointer>(address), bytes,
                                 stream);
  fake.driver->stream_synchronize(stream);
  return testing::decode(element_type(type), raw);
}

float at(const std::vector<float>& values, const LtLayoutObject& layout, std::int64_t batch,
         std::int64_t row, std::int64_t column, bool turns) {
  if (turns) std::swap(row, column);
  return values.at(static_cast<std::size_t>(batch * layout.stride + column * layout.leading + row));
}

struct Product {
  float alpha;
  const void* a;
  const LtLayoutObject& a_layout;
  const void* b;
  const LtLayoutObject& b_layout;
  float beta;
  const void* c;
  const LtLayoutObject& c_layout;
  const LtLayoutObject& d_layout;
  std::int64_t depth;
  CuStream stream;
};

std::vector<float> multiply(LtMatmulObject& matmul, const Product& product) {
  using enum LtMatmulAttribute;
  const LtLayoutObject& d = product.d_layout;
  const bool turns_a = matmul.values[kTransposeA] != 0;
  const bool turns_b = matmul.values[kTransposeB] != 0;
  const auto fetch_matrix = [&](const void* address, const LtLayoutObject& layout) {
    return fetch(address, layout.type, bytes_of(layout), product.stream);
  };
  const auto a = fetch_matrix(product.a, product.a_layout);
  const auto b = fetch_matrix(product.b, product.b_layout);
  const auto c = fetch_matrix(product.c, product.c_layout);
  std::vector<float> bias(static_cast<std::size_t>(d.rows));
  if (matmul.values[kEpilogue] == static_cast<std::uint64_t>(LtEpilogue::kBias)) {
    bias = fetch_matrix(reinterpret_cast<const void*>(matmul.values[kBiasPointer]),
                        {d.type, d.rows, 1, d.rows});
  }
  std::vector<float> results(elements_of(d));
  for (std::int64_t i = 0; i < d.batch * d.columns * d.rows; ++i) {
    const std::int64_t row = i % d.rows;
    const std::int64_t column = i / d.rows % d.columns;
    const std::int64_t batch = i / d.rows / d.columns;
    float sum = 0;
    for (std::int64_t k = 0; k < product.depth; ++k) {
      sum += at(a, product.a_layout, batch, row, k, turns_a) *
             at(b, product.b_layout, batch, k, column, turns_b);
    }
    sum = product.alpha * sum + bias[static_cast<std::size_t>(row)];
    if (product.beta != 0) {
      sum += product.beta * at(c, product.c_layout, batch, row, column, false);
    }
    results.at(static_cast<std::size_t>(batch * d.stride + column * d.leading + row)) = sum;
  }
  return results;
}

}  // namespace
}  // namespace sluice::cuda

using namespace sluice::cuda;  // NOLINT(google-build-using-namespace)

extern "C" {

testing::FakeCublasLt* sluice_fake_cublaslt() { return &fake; }

std::size_t cublasLtGetVersion() { return fake.version; }
const char* cublasLtGetStatusString(LtStatus /*status*/) { return "a made-up failure"; }
LtStatus cublasLtCreate(LtHandle* handle) {
  *handle = new LtHandleObject;
  ++fake.num_handles;
  return LtStatus::kSuccess;
}
LtStatus cublasLtDestroy(LtHandle handle) {
  delete handle;
  --fake.num_handles;
  return LtStatus::kSuccess;
}

LtStatus cublasLtMatmulDescCreate(LtMatmul* matmul, LtCompute compute, LtType scale) {
  if (scale != LtType::kF32) return LtStatus::kNotSupported;
  return make(LtMatmulObject{compute, {}}, matmul);
}
LtStatus cublasLtMatmulDescDestroy(LtMatmul matmul) { return end(matmul); }
LtStatus cublasLtMatmulDescSetAttribute(LtMatmul matmul, LtMatmulAttribute attribute,
                                        const void* value, std::size_t bytes) {
  const std::size_t expected = attribute == LtMatmulAttribute::kBiasPointer ? 8 : 4;
  return take(value, bytes, expected, &matmul->values[attribute]);
}

LtStatus cublasLtMatrixLayoutCreate(LtLayout* layout, LtType type, std::uint64_t rows,
                                    std::uint64_t columns, std::int64_t leading) {
  if (leading < static_cast<std::int64_t>(rows)) return LtStatus::kInvalidValue;
  return make(LtLayoutObject{type, static_cast<std::int64_t>(rows),
                             static_cast<std::int64_t>(columns), leading},
              layout);
}
LtStatus cublasLtMatrixLayoutDestroy(LtLayout layout) { return end(layout); }
LtStatus cublasLtMatrixLayoutSetAttribute(LtLayout layout, LtLayoutAttribute attribute,
                                          const void* value, std::size_t bytes) {
  const bool is_count = attribute == LtLayoutAttribute::kBatchCount;
  std::uint64_t taken = 0;
  const LtStatus status = take(value, bytes, is_count ? 4 : 8, &taken);
  if (is_count) {
    layout->batch = static_cast<std::int32_t>(taken);
  } else {
    layout->stride = static_cast<std::int64_t>(taken);
  }
  return status;
}

LtStatus cublasLtMatmulPreferenceCreate(LtPreference* preference) {
  return make(LtPreferenceObject{}, preference);
}
LtStatus cublasLtMatmulPreferenceDestroy(LtPreference preference) { return end(preference); }
LtStatus cublasLtMatmulPreferenceSetAttribute(LtPreference preference,
                                              LtPreferenceAttribute attribute, const void* value,
                                              std::size_t bytes) {
  const bool is_long = attribute == LtPreferenceAttribute::kMaxWorkspaceBytes;
  return take(value, bytes, is_long ? 8 : 4, &preference->values[attribute]);
}

LtStatus cublasLtMatmulAlgoGetHeuristic(LtHandle /*handle*/, LtMatmul matmul, LtLayout a,
                                        LtLayout b, LtLayout c, LtLayout d, LtPreference preference,
                                        int capacity, LtHeuristic* found, int* num_found) {
  *num_found = 0;
  const bool wants_bias = matmul->values.contains(LtMatmulAttribute::kBiasPointer);
  if (fake.heuristic != LtStatus::kSuccess || (wants_bias && !fake.has_bias)) {
    return fake.heuristic == LtStatus::kSuccess ? LtStatus::kNotSupported : fake.heuristic;
  }
  if (capacity < 1 || a == nullptr || b == nullptr || c == nullptr || d == nullptr ||
      preference->values[LtPreferenceAttribute::kMaxWorkspaceBytes] == 0) {
    return LtStatus::kInvalidValue;
  }
  *found = {};
  found->algorithm.data[0] = matmul->values[LtMatmulAttribute::kMultiprocessorTarget];
  found->workspace_bytes = 1000;
  *num_found = 1;
  return LtStatus::kSuccess;
}

LtStatus cublasLtMatmul(LtHandle /*handle*/, LtMatmul matmul, const void* alpha, const void* a,
                        LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta,
                        const void* c, LtLayout c_layout, void* d, LtLayout d_layout,
                        const LtAlgorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                        CuStream stream) {
  if (fake.matmul != LtStatus::kSuccess) return fake.matmul;
  using enum LtMatmulAttribute;
  const auto target = matmul->values[kMultiprocessorTarget];
  if (workspace == nullptr || workspace_bytes < 1000 || algorithm->data[0] != target)
    return LtStatus::kInvalidValue;
  const bool turns_a = matmul->values[kTransposeA] != 0;
  const bool turns_b = matmul->values[kTransposeB] != 0;
  const std::int64_t depth = turns_a ? a_layout->rows : a_layout->columns;
  if (depth != (turns_b ? b_layout->columns : b_layout->rows)) return LtStatus::kInvalidValue;
  const auto results =
      multiply(*matmul, {*static_cast<const float*>(alpha), a, *a_layout, b, *b_layout,
                         *static_cast<const float*>(beta), c, *c_layout, *d_layout, depth, stream});
  const auto raw = testing::encode(element_type(d_layout->type), results);
  fake.driver->memcpy_htod_async(reinterpret_cast<CuDevicePointer>(d), raw.data(), raw.size(),
                                 stream);
  fake.driver->stream_synchronize(stream);
  ++fake.num_products;
  fake.multiprocessors = static_cast<std::int32_t>(target);
  fake.compute = matmul->compute;
  return LtStatus::kSuccess;
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)

#include "ops/matrix/packed_matrix.h"

#include <algorithm>
#include <cstdio>

#include "kernels/matrix/gemm.h"
#include "ops/matrix/byte_panels.h"

namespace sluice::cpu {
namespace {

std::int64_t packed_count(const MatrixConstant& matrix, Isa isa) {
  if (matrix.cut.levels > 0) {
    return SLUICE_CPU_PICK(isa, packed_strassen_b_floats)(matrix.cut, matrix.k, matrix.n);
  }
  return SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(matrix.k, matrix.n);
}

BytePanels byte_panels(const MatrixConstant& matrix, Isa isa) {
  return {matrix.k, matrix.n, byte_tiles(isa).width};
}

void pack_floats(const MatrixConstant& matrix, const float* data, Isa isa, float* packed) {
  if (matrix.cut.levels > 0) {
    SLUICE_CPU_PICK(isa, pack_strassen_b)
    (matrix.cut, data, matrix.step, matrix.column, matrix.k, matrix.n, matrix.scale, packed);
    return;
  }
  SLUICE_CPU_PICK(isa, pack_gemm_b)
  (data, matrix.step, matrix.column, matrix.k, matrix.n, matrix.scale, packed);
}

/// A multiple of every instruction set's width of a panel.
constexpr std::int64_t kColumnsAtOnce = 64;
constexpr std::int64_t kCacheLineBytes = 64;

/// `columns` columns of the matrix from `first` on, as floats: [k][columns].
void load_columns(const MatrixConstant& matrix, const std::byte* data, std::int64_t first,
                  std::int64_t columns, Isa isa, float* floats) {
  const std::int64_t size = storage_bytes(matrix.source);
  const std::byte* begin = data + first * matrix.column * size;
  const auto read = SLUICE_CPU_PICK(isa, to_floats);
  if (matrix.column == 1) {
    for (std::int64_t p = 0; p < matrix.k; ++p) {
      read(matrix.source, begin + p * matrix.step * size, columns, floats + p * columns);
    }
    return;
  }
  FloatBuffer column(matrix.k);
  for (std::int64_t j = 0; j < columns; ++j) {
    read(matrix.source, begin + j * matrix.column * size, matrix.k, column.data());
    for (std::int64_t p = 0; p < matrix.k; ++p) floats[p * columns + j] = column.data()[p];
  }
}

/// A few columns at a time: a matrix of 16 bits is never there as floats.
void pack_sixteen_bits(const MatrixConstant& matrix, const std::byte* data, Isa isa,
                       std::byte* packed) {
  const Storage target = matrix.type == WeightType::kF16 ? Storage::kF16 : Storage::kBf16;
  FloatBuffer floats(matrix.k * kColumnsAtOnce);
  FloatBuffer panels(matrix.k * kColumnsAtOnce);
  for (std::int64_t first = 0; first < matrix.n; first += kColumnsAtOnce) {
    const std::int64_t columns = std::min(kColumnsAtOnce, matrix.n - first);
    load_columns(matrix, data, first, columns, isa, floats.data());
    SLUICE_CPU_PICK(isa, pack_gemm_b)
    (floats.data(), columns, 1, matrix.k, columns, matrix.scale, panels.data());
    const std::int64_t count = SLUICE_CPU_PICK(isa, packed_gemm_b_floats)(matrix.k, columns);
    // `first` is a multiple of the panel's width, so all panels before it are full: they hold
    // `first` * k numbers.
    std::byte* to = packed + first * matrix.k * storage_bytes(target);
    SLUICE_CPU_PICK(isa, from_floats)(target, panels.data(), count, to);
    if (target != Storage::kBf16) continue;
    SLUICE_CPU_PICK(isa, pair_gemm_b)(matrix.k, columns, reinterpret_cast<std::uint16_t*>(to));
  }
}

std::int64_t bytes_of_one(const MatrixConstant& matrix, Isa isa) {
  if (matrix.type == WeightType::kInt8) return byte_panels(matrix, isa).bytes();
  const std::int64_t size = matrix.type == WeightType::kF32 ? 4 : 2;
  return packed_count(matrix, isa) * size;
}

/// From a matrix to the next: each begins a line of the cache.
std::int64_t bytes_between(const MatrixConstant& matrix, Isa isa) {
  return divide_up(bytes_of_one(matrix, isa), kCacheLineBytes) * kCacheLineBytes;
}

/// Weights of 16 bits go through floats a few columns at a time, i8 is kept as it is, and all else
/// is there as floats at once.
void pack_one(const MatrixConstant& matrix, const void* data, Isa isa, void* packed) {
  if (matrix.type == WeightType::kBf16 || matrix.type == WeightType::kF16) {
    pack_sixteen_bits(matrix, static_cast<const std::byte*>(data), isa,
                      static_cast<std::byte*>(packed));
    return;
  }
  if (matrix.source == Storage::kI8) {
    pack_bytes(byte_panels(matrix, isa), static_cast<const std::int8_t*>(data), matrix.step,
               matrix.column, matrix.column_scales, packed);
    return;
  }
  FloatBuffer widened;
  const auto* floats = static_cast<const float*>(data);
  if (matrix.source != Storage::kF32) {
    widened = FloatBuffer(matrix.k * matrix.n);
    SLUICE_CPU_PICK(isa, to_floats)(matrix.source, data, matrix.k * matrix.n, widened.data());
    floats = widened.data();
  }
  if (matrix.type == WeightType::kF32) {
    pack_floats(matrix, floats, isa, static_cast<float*>(packed));
  } else {
    pack_byte_panels(byte_panels(matrix, isa), floats, matrix.step, matrix.column, matrix.scale,
                     packed);
  }
}

}  // namespace

std::int64_t packed_bytes(const MatrixConstant& matrix, Isa isa) {
  if (matrix.count == 1) return bytes_of_one(matrix, isa);
  return matrix.count * bytes_between(matrix, isa);
}

sluice_packing describe_packing(const MatrixConstant& matrix, Isa isa) {
  sluice_packing packing = {};
  packing.size_bytes = packed_bytes(matrix, isa);
  char form[40] = "panels";
  if (matrix.type == WeightType::kInt8) {
    std::snprintf(form, sizeof form, "panels_int8");
  } else if (matrix.type == WeightType::kBf16) {
    std::snprintf(form, sizeof form, "pairs_bf16");
  } else if (matrix.type == WeightType::kF16) {
    std::snprintf(form, sizeof form, "panels_f16");
  } else if (matrix.cut.levels > 0) {
    std::snprintf(form, sizeof form, "strassen%d_pairs_%lld", matrix.cut.levels,
                  static_cast<long long>(matrix.cut.stretches));
  }
  // Everything but the weights that the packed bytes depend on.
  const int length =
      std::snprintf(packing.format, sizeof packing.format, "%s/%s/%lldx%lld/%g", form,
                    isa_name(isa), static_cast<long long>(matrix.k),
                    static_cast<long long>(matrix.n), static_cast<double>(matrix.scale));
  if (matrix.count != 1 && length > 0 && static_cast<std::size_t>(length) < sizeof packing.format) {
    std::snprintf(packing.format + length, sizeof packing.format - static_cast<std::size_t>(length),
                  "/%lld", static_cast<long long>(matrix.count));
  }
  return packing;
}

bool is_packable(const sluice_operand& b, std::int32_t rank) {
  return b.is_constant != 0 && b.tensor.rank == rank && plugin::is_static(b.tensor) &&
         (b.tensor.data != nullptr || b.packed != nullptr);
}

void pack_matrix(const MatrixConstant& matrix, const void* data, Isa isa, void* packed) {
  const std::int64_t given = matrix.k * matrix.n * storage_bytes(matrix.source);
  const std::int64_t between = bytes_between(matrix, isa);
  for (std::int64_t i = 0; i < matrix.count; ++i) {
    pack_one(matrix, static_cast<const std::byte*>(data) + i * given, isa,
             static_cast<std::byte*>(packed) + i * between);
  }
}

PackedMatrix::PackedMatrix(const sluice_operand& operand, const MatrixConstant& matrix, Isa isa)
    : data_(operand.packed) {
  // Bytes of another size were packed in another form: the values are packed again.
  if (data_ != nullptr && operand.packed_bytes == packed_bytes(matrix, isa)) return;
  own_ = FloatBuffer((packed_bytes(matrix, isa) + 3) / 4);
  pack_matrix(matrix, operand.tensor.data, isa, own_.data());
  data_ = own_.data();
}

}  // namespace sluice::cpu

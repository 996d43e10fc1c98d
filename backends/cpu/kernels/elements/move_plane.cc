#include "kernels/elements/move_plane.h"

#include "core/transpose_lanes.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Rows or columns that stay in the nearest cache while the others pass.
constexpr std::int64_t kBlock = 16;
/// Elements of a row that stay there while the other rows of few are filled.
constexpr std::int64_t kChunk = 1024;

struct Wide {
  std::uint64_t half[2];
};

SLUICE_CPU_INLINE std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// Elements [row0, row1) x [col0, col1), one by one.
template <typename T>
SLUICE_CPU_INLINE void move_part(const PlaneMove& p, std::int64_t row0, std::int64_t row1,
                                 std::int64_t col0, std::int64_t col1) {
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  for (std::int64_t r = row0; r < row1; ++r) {
    for (std::int64_t c = col0; c < col1; ++c) {
      to[r * p.to_row + c * p.to_col] = from[r * p.from_row + c * p.from_col];
    }
  }
}

template <typename T>
SLUICE_CPU_INLINE void move_blocks(const PlaneMove& p) {
  for (std::int64_t r = 0; r < p.rows; r += kBlock) {
    for (std::int64_t c = 0; c < p.cols; c += kBlock) {
      move_part<T>(p, r, least(r + kBlock, p.rows), c, least(c + kBlock, p.cols));
    }
  }
}

template <typename T>
SLUICE_CPU_INLINE void copy_rows(const PlaneMove& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    __builtin_memcpy(static_cast<T*>(p.to) + r * p.to_row,
                     static_cast<const T*>(p.from) + r * p.from_row,
                     static_cast<std::size_t>(p.cols) * sizeof(T));
  }
}

template <typename T>
SLUICE_CPU_INLINE void fill_rows(const PlaneMove& p) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T value = static_cast<const T*>(p.from)[r * p.from_row];
    T* to = static_cast<T*>(p.to) + r * p.to_row;
    for (std::int64_t c = 0; c < p.cols; ++c) to[c] = value;
  }
}

/// Columns `from_step` or `to_step` apart, known to the compiler, which shuffles vectors.
template <typename T, std::int64_t from_step, std::int64_t to_step>
SLUICE_CPU_INLINE void move_steps(const PlaneMove& p) {
  for (std::int64_t c = 0; c < p.cols; c += kChunk) {
    const std::int64_t count = least(kChunk, p.cols - c);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      const T* __restrict from = static_cast<const T*>(p.from) + r * p.from_row + c * from_step;
      T* __restrict to = static_cast<T*>(p.to) + r * p.to_row + c * to_step;
      for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
    }
  }
}

/// Few columns become neighbours: channel planes become pixels.
template <typename T, int cols>
SLUICE_CPU_INLINE void interleave_columns(const PlaneMove& p) {
  const T* __restrict from = static_cast<const T*>(p.from);
  T* __restrict to = static_cast<T*>(p.to);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (int c = 0; c < cols; ++c) to[r * cols + c] = from[c * p.from_col + r];
  }
}

/// A row of a square that is transposed in registers.
template <typename T>
struct RowOf;
template <>
struct RowOf<std::uint8_t> {
  using Row = std::uint8_t __attribute__((vector_size(16)));
};
template <>
struct RowOf<std::uint16_t> {
  using Row = std::uint16_t __attribute__((vector_size(16)));
};
template <>
struct RowOf<float> {
  using Row = Vec;
};
template <>
struct RowOf<std::uint64_t> {
  using Row = std::uint64_t __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));
};

template <typename T>
SLUICE_CPU_INLINE void transpose_square(const T* from, std::int64_t from_col, T* to,
                                        std::int64_t to_row) {
  using Row = typename RowOf<T>::Row;
  constexpr int kSide = sizeof(Row) / sizeof(T);
  Row rows[kSide];
  SLUICE_CPU_UNROLL for (int i = 0; i < kSide; ++i) {
    __builtin_memcpy(&rows[i], from + i * from_col, sizeof(Row));
  }
  transpose_rows<Row>(rows);
  SLUICE_CPU_UNROLL for (int i = 0; i < kSide; ++i) {
    __builtin_memcpy(to + i * to_row, &rows[i], sizeof(Row));
  }
}

SLUICE_CPU_INLINE void transpose_square(const float* from, std::int64_t from_col, float* to,
                                        std::int64_t to_row) {
  Vec rows[kLanes];
  SLUICE_CPU_UNROLL for (int i = 0; i < kLanes; ++i) rows[i] = load(from + i * from_col);
  transpose_lanes(rows);
  SLUICE_CPU_UNROLL for (int i = 0; i < kLanes; ++i) store(to + i * to_row, rows[i]);
}

/// Rows are neighbours in the source, columns in the target.
template <typename T>
SLUICE_CPU_INLINE void transpose(const PlaneMove& p, std::int64_t side) {
  const T* from = static_cast<const T*>(p.from);
  T* to = static_cast<T*>(p.to);
  const std::int64_t rows = p.rows - p.rows % side;
  const std::int64_t cols = p.cols - p.cols % side;
  // A block of rows reads whole lines of the source, of which a square may take a part.
  const std::int64_t block = side < kBlock ? kBlock : side;
  for (std::int64_t r0 = 0; r0 < rows; r0 += block) {
    for (std::int64_t c = 0; c < cols; c += side) {
      for (std::int64_t r = r0; r < least(r0 + block, rows); r += side) {
        transpose_square(from + c * p.from_col + r, p.from_col, to + r * p.to_row + c, p.to_row);
      }
    }
  }
  move_part<T>(p, 0, rows, cols, p.cols);
  move_part<T>(p, rows, p.rows, 0, p.cols);
}

/// Picks the way by the strides of columns, the inner loop: fill, copy, steps of 2 to 4 that the
/// compiler shuffles, squares in registers, and blocks in the cache for the rest. The plane is a
/// copy: elements of 1 or 8 bytes might change the caller's, so every loop would read it again.
template <typename T>
SLUICE_CPU_INLINE void move_elements(const PlaneMove p) {
  if (p.to_col == 1) {
    if (p.from_col == 0) return fill_rows<T>(p);
    if (p.from_col == 1) return copy_rows<T>(p);
    if (p.from_col == 2) return move_steps<T, 2, 1>(p);
    if (p.from_col == 3) return move_steps<T, 3, 1>(p);
    if (p.from_col == 4) return move_steps<T, 4, 1>(p);
    if (p.from_row == 1 && p.to_row == p.cols) {
      if (p.cols == 2) return interleave_columns<T, 2>(p);
      if (p.cols == 3) return interleave_columns<T, 3>(p);
      if (p.cols == 4) return interleave_columns<T, 4>(p);
    }
    if constexpr (sizeof(T) <= 8) {
      constexpr std::int64_t kSide = sizeof(typename RowOf<T>::Row) / sizeof(T);
      if (p.from_row == 1 && p.rows >= kSide && p.cols >= kSide) return transpose<T>(p, kSide);
    }
  }
  if (p.from_col == 1) {
    if (p.to_col == 2) return move_steps<T, 1, 2>(p);
    if (p.to_col == 3) return move_steps<T, 1, 3>(p);
    if (p.to_col == 4) return move_steps<T, 1, 4>(p);
  }
  move_blocks<T>(p);
}

}  // namespace

void move_plane(const PlaneMove& plane, std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1: return move_elements<std::uint8_t>(plane);
    case 2: return move_elements<std::uint16_t>(plane);
    case 4: return move_elements<float>(plane);  // no bit changes on the way
    case 8: return move_elements<std::uint64_t>(plane);
    default: return move_elements<Wide>(plane);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA

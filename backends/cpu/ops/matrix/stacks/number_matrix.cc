#include "ops/matrix/stacks/number_matrix.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/divide.h"
#include "kernels/matrix/number_tile.h"
#include "ops/matrix/stacks/stacks.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Rows that meet a packed panel, and the most depth of a panel: it stays in the first cache.
constexpr std::int64_t kRows = 192;
constexpr std::int64_t kDepth = 224;

struct NumberProduct : MatrixStacks {
  std::int64_t a_row = 0, a_step = 1, b_row = 0, b_step = 1;
  double alpha = 1, beta = 1;
  Dims c_strides = {0, 0};  ///< of Gemm's C
};

/// A panel is packed for some rows at a time, in pieces of its depth, each of which adds to C.
template <typename T>
class NumberMatrix : public Kernel {
 public:
  NumberMatrix(const sluice_op& op, NumberProduct product, Isa isa)
      : Kernel(op),
        p_(std::move(product)),
        items_(p_.items()),
        panels_(divide_up(p_.n, kPanel)),
        blocks_(divide_up(p_.m, kRows)),
        depth_(divide_up(p_.k, divide_up(p_.k, kDepth))),
        multiply_(SLUICE_CPU_PICK(isa, multiply_numbers<T>)),
        scale_(SLUICE_CPU_PICK(isa, scale_doubles)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(items_ * blocks_ * panels_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      multiply(run, i / panels_ / blocks_, i / panels_ % blocks_ * kRows, i % panels_ * kPanel,
               reinterpret_cast<T*>(worker.scratch));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {p_.matrices(p_.a_strides), p_.m, p_.k, sizeof(T)});
    extents.reads(1, {p_.matrices(p_.b_strides), p_.k, p_.n, sizeof(T)});
    extents.writes(0, {items_, p_.m, p_.n, sizeof(T)});
  }
  std::int64_t scratch_bytes() const override {
    return depth_ * kPanel * static_cast<std::int64_t>(sizeof(T));
  }
  double cost_ns() const override {
    return static_cast<double>(items_ * p_.m * p_.n) * static_cast<double>(p_.k) *
           static_cast<double>(sizeof(T)) / 64;
  }

 private:
  void multiply(const Run& run, std::int64_t item, std::int64_t row, std::int64_t column,
                T* panel) const {
    const T* a = run.input<T>(0) + p_.matrix_of(p_.a_strides, item) * p_.m * p_.k;
    const T* b = run.input<T>(1) + p_.matrix_of(p_.b_strides, item) * p_.k * p_.n;
    NumberTile<T> tile;
    tile.a_row = p_.a_row;
    tile.a_step = p_.a_step;
    tile.b = panel;
    tile.c = run.output<T>(0) + (item * p_.m + row) * p_.n + column;
    tile.c_row = p_.n;
    tile.rows = std::min(kRows, p_.m - row);
    tile.columns = std::min(kPanel, p_.n - column);
    for (std::int64_t depth = 0; depth < p_.k; depth += depth_) {
      tile.a = a + row * p_.a_row + depth * p_.a_step;
      tile.k = std::min(depth_, p_.k - depth);
      tile.adds = depth > 0;
      pack(b + depth * p_.b_row + column * p_.b_step, tile.k, tile.columns, panel);
      multiply_(tile);
    }
    if constexpr (std::is_same_v<T, double>) finish(run, tile, row, column);
  }

  /// Zeros fill the last panel.
  void pack(const T* b, std::int64_t k, std::int64_t columns, T* panel) const {
    for (std::int64_t p = 0; p < k; ++p) {
      if (p_.b_step == 1 && columns == kPanel) {
        std::memcpy(panel + p * kPanel, b + p * p_.b_row, kPanel * sizeof(T));
        continue;
      }
      for (std::int64_t j = 0; j < kPanel; ++j) {
        panel[p * kPanel + j] = j < columns ? b[p * p_.b_row + j * p_.b_step] : 0;
      }
    }
  }

  /// alpha and beta * C of Gemm.
  void finish(const Run& run, const NumberTile<double>& tile, std::int64_t row,
              std::int64_t column) const {
    const double* c = has_input(op(), 2) ? run.input<double>(2) : nullptr;
    if (c == nullptr && p_.alpha == 1) return;
    if (c != nullptr) c += row * p_.c_strides[0] + column * p_.c_strides[1];
    scale_(tile, {p_.alpha, p_.beta, c, p_.c_strides[0], p_.c_strides[1]});
  }

  static constexpr std::int64_t kPanel = kNumberPanel<T>;

  NumberProduct p_;
  std::int64_t items_, panels_, blocks_, depth_;
  decltype(&portable::multiply_numbers<T>) multiply_;
  decltype(&portable::scale_doubles) scale_;
};

Status read_number_matmul(const sluice_op& op, NumberProduct* p) {
  if (Status status = read_stacks(op, p); !status.is_ok()) return status;
  p->a_row = p->k;
  p->b_row = p->n;
  return plugin::ok();
}

Status read_double_gemm(const sluice_op& op, NumberProduct* p) {
  const plugin::Attributes attributes(op);
  const bool flips_a = attributes.get_int("transA") != 0;
  const bool flips_b = attributes.get_int("transB") != 0;
  const auto a = dims_of(op.inputs[0].tensor);
  const auto b = dims_of(op.inputs[1].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  p->m = a[flips_a ? 1 : 0];
  p->k = a[flips_a ? 0 : 1];
  p->n = b[flips_b ? 0 : 1];
  p->a_row = flips_a ? 1 : p->k;
  p->a_step = flips_a ? p->m : 1;
  p->b_row = flips_b ? 1 : p->n;
  p->b_step = flips_b ? p->k : 1;
  p->alpha = attributes.get_float("alpha", 1);
  p->beta = attributes.get_float("beta", 1);
  if (b[flips_b ? 1 : 0] != p->k || y[0] != p->m || y[1] != p->n) {
    return unimplemented("shapes that do not fit");
  }
  if (!has_input(op, 2)) return plugin::ok();
  const auto c = dims_of(op.inputs[2].tensor);
  if (!broadcasts_to(c, y)) return unimplemented("C does not broadcast");
  p->c_strides = broadcast_strides(c, y);
  return plugin::ok();
}

bool is_gemm(const sluice_op& op) { return std::string_view(op.kind) == "Gemm"; }

}  // namespace

bool is_number_product(const sluice_op& op) {
  switch (op.inputs[0].tensor.element_type) {
    case plugin::kF64: return true;
    case plugin::kI32:
    case plugin::kU32:
    case plugin::kI64:
    case plugin::kU64: return !is_gemm(op);
    default: return false;
  }
}

Status check_number_product(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const auto type = op.inputs[0].tensor.element_type;
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      if (operand.tensor.element_type != type) return unimplemented("mixed types");
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
    }
  }
  const std::int32_t a = op.inputs[0].tensor.rank;
  const std::int32_t b = op.inputs[1].tensor.rank;
  const bool fits =
      is_gemm(op) ? a == 2 && b == 2 && op.outputs[0].tensor.rank == 2 : a >= 1 && b >= 1;
  return fits ? plugin::ok() : unimplemented("other ranks");
}

Status make_number_product(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  NumberProduct product;
  const Status status =
      is_gemm(op) ? read_double_gemm(op, &product) : read_number_matmul(op, &product);
  if (!status.is_ok()) return status;
  if (product.k == 0 || plugin::num_elements(op.outputs[0].tensor) < 1) {
    return unimplemented("a product of nothing");
  }
  const auto type = op.inputs[0].tensor.element_type;
  if (type == plugin::kF64) {
    *kernel = std::make_unique<NumberMatrix<double>>(op, std::move(product), isa);
  } else if (type == plugin::kI32 || type == plugin::kU32) {
    *kernel = std::make_unique<NumberMatrix<std::uint32_t>>(op, std::move(product), isa);
  } else {
    *kernel = std::make_unique<NumberMatrix<std::uint64_t>>(op, std::move(product), isa);
  }
  return plugin::ok();
}

}  // namespace sluice::cpu

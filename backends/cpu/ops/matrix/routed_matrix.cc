// sluice::RoutedMatMul: rows of one matrix are brought together, multiplied as a product of its
// own, and brought back. A row that is alone with its matrix stays where it is. Rows without a
// matrix, whose route is kNoMatrix, stand behind those of the last one.

#include "ops/matrix/routed_matrix.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/stop.h"
#include "kernels/matrix/gemm.h"
#include "ops/matrix/block_form.h"
#include "ops/matrix/byte_matrix.h"
#include "ops/matrix/packed_matrix.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

constexpr std::int64_t kNoMatrix = -1;

enum RoutedInput { kRoutedA, kRoutedB, kRoutedScales, kRoutedZeros, kRoutes, kNumRoutedInputs };

bool has_float_matrices(const sluice_op& op) {
  const sluice_element_type type = op.inputs[kRoutedB].tensor.element_type;
  return type == plugin::kF32 || type == plugin::kF16 || type == plugin::kBf16;
}

/// The rows of B [matrices, n, k] are the columns of each product.
MatrixConstant routed_constant(const sluice_op& op) {
  const sluice_tensor& b = op.inputs[kRoutedB].tensor;
  MatrixConstant constant;
  constant.count = b.dims[0];
  constant.n = b.dims[1];
  constant.k = b.dims[2];
  constant.step = 1;
  constant.column = constant.k;
  switch (b.element_type) {
    case plugin::kF16:
      constant.source = Storage::kF16;
      constant.type = WeightType::kF16;
      break;
    case plugin::kBf16:
      constant.source = Storage::kBf16;
      constant.type = WeightType::kBf16;
      break;
    default: break;
  }
  const bool is_rounded = plugin::Attributes(op).get_text("sluice_weights", "") == "int8";
  if (is_rounded) constant.type = WeightType::kInt8;
  return constant;
}

Status check_routed(const sluice_op& op) {
  if (op.body != nullptr || op.num_inputs != kNumRoutedInputs) {
    return unimplemented("RoutedMatMul: a fused body");
  }
  const sluice_operand& b = op.inputs[kRoutedB];
  if (b.is_constant == 0 || b.tensor.rank != 3 || !plugin::is_static(b.tensor) ||
      b.tensor.dims[2] == 0) {
    return unimplemented("RoutedMatMul: B is not a constant stack of matrices");
  }
  const sluice_tensor& a = op.inputs[kRoutedA].tensor;
  const sluice_tensor& routes = op.inputs[kRoutes].tensor;
  if (a.element_type != plugin::kF32 || (a.rank != 2 && a.rank != 3) || routes.rank != 2 ||
      routes.element_type != plugin::kI64 || op.outputs[0].tensor.rank != 3 ||
      a.layout != SLUICE_LAYOUT_ROW_MAJOR ||
      op.outputs[0].tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("RoutedMatMul: A is not row-major f32, or routes are not i64");
  }
  if (has_float_matrices(op)) return plugin::ok();
  const auto zeros = dims_of(op.inputs[kRoutedZeros].tensor);
  const bool has_nibbles = op.inputs[kRoutedZeros].tensor.element_type == plugin::kU4;
  if (has_nibbles && zeros.size() == 3 && zeros[1] * zeros[2] % 2 != 0) {
    return unimplemented("RoutedMatMul: zero points of a matrix that end within a byte");
  }
  return check_blocks(op, true);
}

/// Pairs of a token and one of its matrices, those of one matrix together.
struct RouteOrder {
  const std::int32_t* pairs = nullptr;
  const std::int64_t* begins = nullptr;  ///< of each matrix, and the end

  std::int64_t count(std::int64_t matrix) const { return begins[matrix + 1] - begins[matrix]; }
};

class RoutedProduct : public Kernel, public LooksAtStop {
 public:
  RoutedProduct(const sluice_op& op, Isa isa) : Kernel(op), isa_(isa) {
    const auto a = dims_of(op.inputs[kRoutedA].tensor);
    const auto routes = dims_of(op.inputs[kRoutes].tensor);
    const auto b = dims_of(op.inputs[kRoutedB].tensor);
    has_own_rows_ = a.size() == 3;
    each_ = routes[1];
    matrices_ = b[0];
    plan_ = GemmPlan::of(routes[0] * routes[1], b[1], b[2]);
    if (!has_float_matrices(op)) {
      plan_.b_form = GemmB::kBlocks;
      plan_.b_row = plan_.k;
      blocks_ = read_block_form(op);
      plan_.rounds_rows = blocks_->rounds_rows;
      return;
    }
    const MatrixConstant constant = routed_constant(op);
    if (constant.type == WeightType::kF16) plan_.b_form = GemmB::kPackedF16;
    if (constant.type == WeightType::kBf16) plan_.b_form = GemmB::kPackedBf16;
    is_bytes_ = constant.type == WeightType::kInt8;
    matrix_bytes_ = packed_bytes(constant, isa) / std::max<std::int64_t>(matrices_, 1);
    packed_.emplace(op.inputs[kRoutedB], constant, isa);
  }

  /// Rows are brought together, multiplied, and brought back.
  int phases() const override { return 3; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    const auto* routes = run.input<std::int64_t>(kRoutes);
    // Each worker by itself: none touches a matrix before it knows that all numbers are in range.
    for (std::int64_t i = 0; i < plan_.m; ++i) {
      if (routes[i] >= kNoMatrix && routes[i] < matrices_) continue;
      if (worker.index == 0) run.fail(plugin::index_outside(routes[i], 0, matrices_));
      return;
    }
    const RouteOrder order = sorted(routes, worker);
    if (phase == 0) clear_rest(run, order, worker);
    for (std::int64_t matrix = 0; matrix < matrices_; ++matrix) {
      if (order.count(matrix) == 0) continue;
      if (is_stopped()) return;
      if (phase == 1) {
        multiply(run, order, matrix, worker);
      } else {
        move(run, order, matrix, phase == 0, worker);
      }
    }
  }

  void extents(Extents& extents) const override {
    const std::int64_t rows = has_own_rows_ ? plan_.m : plan_.m / std::max<std::int64_t>(each_, 1);
    extents.reads(kRoutedA, {rows, plan_.k, sizeof(float)});
    extents.reads(kRoutes, {plan_.m, sizeof(std::int64_t)});
    if (blocks_) blocks_->tell(extents, matrices_ * plan_.n);
    extents.writes(0, {plan_.m, plan_.n, sizeof(float)});
  }

  std::int64_t shared_bytes() const override {
    const std::int64_t floats = plan_.m * (plan_.k + plan_.n);
    return floats * static_cast<std::int64_t>(sizeof(float)) + plan_.m * rounded_bytes();
  }
  std::int64_t scratch_bytes() const override {
    const std::int64_t order =
        plan_.m * static_cast<std::int64_t>(sizeof(std::int32_t)) +
        (2 * matrices_ + 2) * static_cast<std::int64_t>(sizeof(std::int64_t));
    return product_scratch_bytes() + order;
  }

  /// The larger of the time to compute and the time to read the matrices, as of other products.
  double cost_ns() const override {
    const double numbers = static_cast<double>(plan_.n) * static_cast<double>(plan_.k);
    const double products = numbers * static_cast<double>(plan_.m);
    const double bytes = blocks_                          ? blocks_->matrix.bits / 8.0 + 0.1
                         : is_bytes_                      ? 1
                         : plan_.b_form == GemmB::kPacked ? 4
                                                          : 2;
    const double read = numbers * bytes * static_cast<double>(std::min(plan_.m, matrices_));
    return std::max(products / (is_bytes_ || plan_.rounds_rows ? 240 : 80), read / 40);
  }

 private:
  /// Bytes of a row in 8 bits with its scale, which begins a line of the cache.
  std::int64_t rounded_bytes() const {
    return is_bytes_ ? 64 + (plan_.k + kByteGroup - 1) / kByteGroup * kByteGroup : 0;
  }
  std::int64_t product_scratch_bytes() const {
    const std::int64_t bytes = is_bytes_ ? 0 : SLUICE_CPU_PICK(isa_, gemm_scratch_bytes)(plan_);
    return (bytes + 63) / 64 * 64;
  }

  /// In the worker's scratch, behind that of the product.
  RouteOrder sorted(const std::int64_t* routes, const Worker& worker) const {
    auto* begins = reinterpret_cast<std::int64_t*>(worker.scratch + product_scratch_bytes());
    std::int64_t* next = begins + matrices_ + 1;
    auto* pairs = reinterpret_cast<std::int32_t*>(next + matrices_ + 1);
    for (std::int64_t i = 0; i <= matrices_; ++i) begins[i] = 0;
    const auto place = [&](std::int64_t route) { return route == kNoMatrix ? matrices_ : route; };
    for (std::int64_t i = 0; i < plan_.m; ++i) {
      if (routes[i] != kNoMatrix) ++begins[routes[i] + 1];
    }
    for (std::int64_t i = 0; i < matrices_; ++i) begins[i + 1] += begins[i];
    for (std::int64_t i = 0; i <= matrices_; ++i) next[i] = begins[i];
    for (std::int64_t i = 0; i < plan_.m; ++i) {
      pairs[next[place(routes[i])]++] = static_cast<std::int32_t>(i);
    }
    return {pairs, begins};
  }

  /// This worker's part of the results without a matrix.
  void clear_rest(const Run& run, const RouteOrder& order, const Worker& worker) const {
    const std::int64_t begin = order.begins[matrices_];
    const Share share = share_of(plan_.m - begin, 1, worker);
    for (std::int64_t i = begin + share.begin; i < begin + share.end; ++i) {
      std::memset(run.output<float>(0) + order.pairs[i] * plan_.n, 0, bytes_of(plan_.n));
    }
  }

  const float* row_of(const Run& run, std::int64_t pair) const {
    return run.input<float>(kRoutedA) + (has_own_rows_ ? pair : pair / each_) * plan_.k;
  }
  float* gathered(const Run& run, std::int64_t place) const {
    return reinterpret_cast<float*>(run.shared()) + place * plan_.k;
  }
  float* sums(const Run& run, std::int64_t place) const {
    return gathered(run, plan_.m) + place * plan_.n;
  }
  std::byte* rounded(const Run& run, std::int64_t place) const {
    return reinterpret_cast<std::byte*>(sums(run, plan_.m)) + place * rounded_bytes();
  }

  /// The product of one matrix: where its rows and results are.
  struct Product {
    GemmPlan plan;
    GemmArgs args;
  };
  Product product_of(const Run& run, const RouteOrder& order, std::int64_t matrix) const {
    const std::int64_t begin = order.begins[matrix];
    Product product = {plan_, {}};
    product.plan.m = order.count(matrix);
    const std::int64_t first = order.pairs[begin];
    const bool is_alone = product.plan.m == 1;
    product.args.a = is_alone ? row_of(run, first) : gathered(run, begin);
    product.args.c = is_alone ? run.output<float>(0) + first * plan_.n : sums(run, begin);
    return product;
  }

  /// This worker's rows of one matrix, before the product or behind it. The turn of workers goes
  /// on with each matrix: most have one row.
  void move(const Run& run, const RouteOrder& order, std::int64_t matrix, bool is_before,
            const Worker& worker) const {
    const Worker turn = {static_cast<int>((worker.index + matrix) % worker.count), worker.count,
                         worker.scratch};
    const std::int64_t begin = order.begins[matrix];
    const Product product = product_of(run, order, matrix);
    const Share share = share_of(product.plan.m, 1, turn);
    for (std::int64_t i = share.begin; i < share.end && product.plan.m > 1; ++i) {
      const std::int64_t pair = order.pairs[begin + i];
      if (is_before) {
        std::memcpy(gathered(run, begin + i), row_of(run, pair), bytes_of(plan_.k));
      } else {
        std::memcpy(run.output<float>(0) + pair * plan_.n, sums(run, begin + i), bytes_of(plan_.n));
      }
    }
    if (is_bytes_ && is_before) {
      ByteProduct(product.plan, isa_).round(product.args, rounded(run, begin), turn);
    }
  }
  static std::size_t bytes_of(std::int64_t floats) {
    return static_cast<std::size_t>(floats) * sizeof(float);
  }

  void multiply(const Run& run, const RouteOrder& order, std::int64_t matrix,
                const Worker& worker) const {
    Product product = product_of(run, order, matrix);
    GemmArgs& args = product.args;
    if (blocks_) {
      args.blocks = blocks_->at(run, matrix * plan_.n);
      args.block_kernels = &block_kernels(args.blocks, plan_.rounds_rows, isa_);
    } else {
      const std::byte* b = packed_->data<std::byte>() + matrix * matrix_bytes_;
      if (is_bytes_) {
        std::byte* rows = rounded(run, order.begins[matrix]);
        return ByteProduct(product.plan, isa_).multiply(args, b, nullptr, rows, worker);
      }
      args.b = reinterpret_cast<const float*>(b);
      args.half_b = reinterpret_cast<const std::uint16_t*>(b);
    }
    SLUICE_CPU_PICK(isa_, run_gemm)(product.plan, args, worker);
  }

  Isa isa_;
  bool has_own_rows_ = false;
  bool is_bytes_ = false;
  std::int64_t each_ = 0;
  std::int64_t matrices_ = 0;
  std::int64_t matrix_bytes_ = 0;  ///< of a packed one
  GemmPlan plan_;                  ///< of all pairs
  std::optional<BlockForm> blocks_;
  std::optional<PackedMatrix> packed_;
};

sluice_packing routed_packing(const sluice_op& op, int input, Isa isa) {
  if (input != kRoutedB || !has_float_matrices(op) || !is_packable(op.inputs[kRoutedB], 3))
    return {};
  return describe_packing(routed_constant(op), isa);
}

void pack_routed(const sluice_op& op, int, Isa isa, void* packed) {
  pack_matrix(routed_constant(op), op.inputs[kRoutedB].tensor.data, isa, packed);
}

Status make_routed(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto a = dims_of(op.inputs[kRoutedA].tensor);
  const auto b = dims_of(op.inputs[kRoutedB].tensor);
  const auto routes = dims_of(op.inputs[kRoutes].tensor);
  const auto y = dims_of(op.outputs[0].tensor);
  const bool fits = a[0] == routes[0] && (a.size() == 2 || a[1] == routes[1]) && a.back() == b[2] &&
                    y[0] == routes[0] && y[1] == routes[1] && y[2] == b[1];
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t pairs = 0, numbers = 0;
  const bool is_far = __builtin_mul_overflow(routes[0], routes[1], &pairs) || pairs > kMost ||
                      __builtin_mul_overflow(pairs, 16 * (b[1] + b[2]), &numbers);
  if (!fits || is_far) return unimplemented("RoutedMatMul: shapes that do not fit");
  const sluice_operand& given = op.inputs[kRoutedB];
  if (has_float_matrices(op) && given.tensor.data == nullptr &&
      given.packed_bytes != packed_bytes(routed_constant(op), isa)) {
    return plugin::invalid_argument("RoutedMatMul: packed weights of " +
                                    std::to_string(given.packed_bytes) + " bytes");
  }
  *kernel = std::make_unique<RoutedProduct>(op, isa);
  return plugin::ok();
}

}  // namespace

OpEntry routed_matrix_entry() {
  return {.domain = "sluice",
          .kind = "RoutedMatMul",
          .check = check_routed,
          .make = make_routed,
          .packing = routed_packing,
          .pack = pack_routed,
          .num_required_inputs = 2};
}

}  // namespace sluice::cpu

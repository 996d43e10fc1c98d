// MatMulInteger.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/matrix/byte_sums.h"
#include "ops/matrix/packed_matrix.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

enum Input { kA, kB, kAZero, kBZero };

/// Stacks of matrices [batch, m, k] and [batch, k, n]. A vector is a row on the left, a column on
/// the right.
struct Sizes {
  explicit Sizes(const sluice_op& op) {
    const auto a = dims_of(op.inputs[kA].tensor);
    const auto b = dims_of(op.inputs[kB].tensor);
    m = a.size() < 2 ? 1 : a[a.size() - 2];
    k = a.back();
    n = b.size() < 2 ? 1 : b.back();
    b_depth = b.size() < 2 ? b[0] : b[b.size() - 2];
    if (a.size() > 2) a_batch.assign(a.begin(), a.end() - 2);
    if (b.size() > 2) b_batch.assign(b.begin(), b.end() - 2);
    const auto y = dims_of(op.outputs[0].tensor);
    const std::size_t own = (a.size() < 2 ? 0U : 1U) + (b.size() < 2 ? 0U : 1U);
    if (y.size() > own) batch.assign(y.begin(), y.end() - static_cast<std::ptrdiff_t>(own));
  }

  static std::int64_t count(const Dims& dims) { return plugin::num_elements(dims); }

  std::int64_t m, k, n, b_depth;
  Dims a_batch, b_batch, batch;
};

bool is_byte(const sluice_tensor& tensor) {
  return tensor.element_type == plugin::kU8 || tensor.element_type == plugin::kI8;
}

Status check_integer_product(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& a = op.inputs[kA].tensor;
  const sluice_tensor& b = op.inputs[kB].tensor;
  if (!is_byte(a) || !is_byte(b) || op.outputs[0].tensor.element_type != plugin::kI32) {
    return unimplemented("not a product of bytes");
  }
  if (a.rank < 1 || b.rank < 1) return unimplemented("a scalar");
  const Sizes sizes(op);
  if (sizes.k >= 0 && sizes.b_depth >= 0 && sizes.k != sizes.b_depth) {
    return plugin::invalid_argument("MatMulInteger: " + plugin::to_string(dims_of(a)) + " times " +
                                    plugin::to_string(dims_of(b)));
  }
  if (!broadcasts_to(sizes.a_batch, sizes.batch) || !broadcasts_to(sizes.b_batch, sizes.batch)) {
    return unimplemented("stacks that do not fit the result's");
  }
  if (Status status = check_byte_zeros(op, kA, kAZero, sizes.m); !status.is_ok()) return status;
  return check_byte_zeros(op, kB, kBZero, sizes.n);
}

ByteZeros zeros_of(const sluice_op& op, int input, const void* data, std::uint8_t flip) {
  ByteZeros zeros;
  zeros.flip = flip;
  if (!has_input(op, input)) return zeros;
  zeros.data = static_cast<const std::uint8_t*>(data);
  zeros.is_one = plugin::num_elements(op.inputs[input].tensor) == 1;
  return zeros;
}

BytePanels panels_of(const Sizes& sizes, Isa isa) {
  return {sizes.k, sizes.n, byte_tiles(isa).width};
}

/// Panels [first, end) of one matrix B.
void pack_panels(const BytePanels& panels, const std::uint8_t* b, const ByteZeros& zeros, Isa isa,
                 Share share, std::byte* packed) {
  for (std::int64_t j = share.begin; j < share.end; ++j) {
    const std::int64_t first = j * panels.width;
    pack_sum_panel(
        panels,
        {b + first, panels.n, panels.k, std::min(panels.width, panels.n - first), zeros.flip},
        zeros, first, isa, packed + j * panels.panel_bytes());
  }
}

/// Whether B and its zero points are known when the model is compiled.
bool has_constant_panels(const sluice_op& op) {
  return is_packable(op.inputs[kB]) &&
         (!has_input(op, kBZero) ||
          (op.inputs[kBZero].is_constant != 0 && op.inputs[kBZero].tensor.data != nullptr));
}

/// The panels of a B that is known.
BytePanels constant_panels(const sluice_op& op, Isa isa) {
  const auto b = dims_of(op.inputs[kB].tensor);
  return {b[0], b[1], byte_tiles(isa).width};
}

sluice_packing integer_packing(const sluice_op& op, int input, Isa isa) {
  sluice_packing packing = {};
  if (input != kB || !has_constant_panels(op)) return packing;
  const BytePanels panels = constant_panels(op, isa);
  if (panels.k == 0 || panels.n == 0) return packing;
  packing.size_bytes = panels.bytes();
  std::snprintf(packing.format, sizeof packing.format, "panels_sums/%s/%lldx%lld", isa_name(isa),
                static_cast<long long>(panels.k), static_cast<long long>(panels.n));
  return packing;
}

void pack_integer(const sluice_op& op, int, Isa isa, void* packed) {
  const BytePanels panels = constant_panels(op, isa);
  const sluice_tensor& b = op.inputs[kB].tensor;
  std::memset(packed, 0, static_cast<std::size_t>(panels.bytes()));
  const ByteZeros zeros =
      zeros_of(op, kBZero, has_input(op, kBZero) ? op.inputs[kBZero].tensor.data : nullptr,
               flip_of_columns(b));
  pack_panels(panels, static_cast<const std::uint8_t*>(b.data), zeros, isa, {0, panels.count()},
              static_cast<std::byte*>(packed));
}

/// First the rows of A are copied beside their sums, and the panels of B are packed if the package
/// has none; then all workers multiply.
class IntegerProduct : public Kernel {
 public:
  IntegerProduct(const sluice_op& op, Isa isa)
      : Kernel(op),
        isa_(isa),
        sizes_(op),
        panels_(panels_of(sizes_, isa)),
        constant_(static_cast<const std::byte*>(op.inputs[kB].packed)),
        a_rows_(Sizes::count(sizes_.a_batch) * sizes_.m),
        a_strides_(broadcast_strides(sizes_.a_batch, sizes_.batch)),
        b_strides_(broadcast_strides(sizes_.b_batch, sizes_.batch)) {
    if (constant_ != nullptr)
      narrow_ = find_narrow_panels(panels_, constant_, panels_.count(), isa);
  }

  int phases() const override { return 2; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    if (phase == 0) {
      prepare_rows(run, worker);
      if (constant_ == nullptr) prepare_panels(run, worker);
      return;
    }
    const std::int64_t blocks = divide_up(sizes_.m, kRowsAtOnce);
    const std::int64_t per_item = blocks * panels_.count();
    const Share share = share_of(Sizes::count(sizes_.batch) * per_item, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      // Panels change first: the rows of A stay in the cache while the panels of B pass by.
      multiply(run, i / per_item, i / panels_.count() % blocks * kRowsAtOnce, i % panels_.count());
    }
  }

  std::int64_t shared_bytes() const override {
    const std::int64_t copies = constant_ == nullptr ? Sizes::count(sizes_.b_batch) : 0;
    return panels_begin() + copies * panels_.bytes();
  }
  void extents(Extents& extents) const override {
    extents.reads(kA, {a_rows_, sizes_.k});
    if (constant_ == nullptr) extents.reads(kB, {Sizes::count(sizes_.b_batch), sizes_.k, sizes_.n});
    if (has_input(op(), kAZero)) extents.reads(kAZero, {num_zeros(kAZero)});
    if (has_input(op(), kBZero)) extents.reads(kBZero, {num_zeros(kBZero)});
    extents.writes(0, {Sizes::count(sizes_.batch), sizes_.m, sizes_.n, sizeof(std::int32_t)});
  }
  double cost_ns() const override {
    return static_cast<double>(Sizes::count(sizes_.batch) * sizes_.m * sizes_.n) *
           static_cast<double>(sizes_.k) / 60;
  }

 private:
  static constexpr std::int64_t kRowsAtOnce = 120;  // stay in the second-level cache

  std::int64_t num_zeros(int input) const {
    return plugin::num_elements(op().inputs[input].tensor);
  }
  std::int64_t row_bytes() const { return panels_.groups() * kByteGroup; }
  /// Sums and zero points of the rows, the rows, and the panels lie behind each other.
  std::int64_t rows_begin() const { return divide_up(a_rows_ * 8, 64) * 64; }
  std::int64_t panels_begin() const {
    return rows_begin() + divide_up(a_rows_ * row_bytes(), 64) * 64;
  }

  void prepare_rows(const Run& run, const Worker& worker) const {
    auto* sums = reinterpret_cast<std::int32_t*>(run.shared());
    auto* bytes = reinterpret_cast<std::uint8_t*>(run.shared() + rows_begin());
    const ByteZeros zeros =
        zeros_of(op(), kAZero, has_input(op(), kAZero) ? run.input<void>(kAZero) : nullptr,
                 flip_of_rows(op().inputs[kA].tensor));
    const Share share = share_of(a_rows_, 16, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      sums[i] =
          SLUICE_CPU_PICK(isa_, copy_byte_row)(run.input<std::uint8_t>(kA) + i * sizes_.k, sizes_.k,
                                               row_bytes(), zeros.flip, bytes + i * row_bytes());
      sums[a_rows_ + i] = zeros.of_row(i % sizes_.m);
    }
  }

  void prepare_panels(const Run& run, const Worker& worker) const {
    const ByteZeros zeros =
        zeros_of(op(), kBZero, has_input(op(), kBZero) ? run.input<void>(kBZero) : nullptr,
                 flip_of_columns(op().inputs[kB].tensor));
    const std::int64_t count = panels_.count();
    const Share share = share_of(Sizes::count(sizes_.b_batch) * count, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t item = i / count;
      pack_panels(panels_, run.input<std::uint8_t>(kB) + item * sizes_.k * sizes_.n, zeros, isa_,
                  {i % count, i % count + 1},
                  run.shared() + panels_begin() + item * panels_.bytes());
    }
  }

  /// Which matrix of a factor's stack meets item `i` of the result's.
  std::int64_t item_of(const Dims& strides, std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t d = sizes_.batch.size(); d-- > 0; i /= sizes_.batch[d]) {
      at += i % sizes_.batch[d] * strides[d];
    }
    return at;
  }

  void multiply(const Run& run, std::int64_t item, std::int64_t row, std::int64_t panel) const {
    const std::int64_t first = item_of(a_strides_, item) * sizes_.m + row;
    const auto* sums = reinterpret_cast<const std::int32_t*>(run.shared());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(run.shared() + rows_begin());
    const ByteRows rows = {bytes + first * row_bytes(), sums + first, sums + a_rows_ + first,
                           std::min(kRowsAtOnce, sizes_.m - row)};
    const std::byte* panels =
        constant_ != nullptr
            ? constant_
            : run.shared() + panels_begin() + item_of(b_strides_, item) * panels_.bytes();
    const std::int64_t column = panel * panels_.width;
    const bool is_narrow = !narrow_.empty() && narrow_[static_cast<std::size_t>(panel)] != 0;
    multiply_sum_panel(panels_, rows, panels + panel * panels_.panel_bytes(), is_narrow,
                       std::min(panels_.width, sizes_.n - column), isa_,
                       run.output<std::int32_t>(0) + (item * sizes_.m + row) * sizes_.n + column,
                       sizes_.n);
  }

  Isa isa_;
  Sizes sizes_;
  BytePanels panels_;
  const std::byte* constant_;
  std::vector<std::uint8_t> narrow_;  ///< of a constant B
  std::int64_t a_rows_;
  Dims a_strides_;
  Dims b_strides_;
};

Status make_integer_product(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const Sizes sizes(op);
  if (sizes.k == 0 || plugin::num_elements(op.outputs[0].tensor) == 0) {
    return unimplemented("a product of nothing");
  }
  const sluice_operand& b = op.inputs[kB];
  const bool has_data = b.tensor.data != nullptr || b.is_constant == 0;
  if (b.packed != nullptr ? b.packed_bytes != panels_of(sizes, isa).bytes() : !has_data) {
    return plugin::invalid_argument("MatMulInteger: packed weights of " +
                                    std::to_string(b.packed_bytes) + " bytes, not " +
                                    std::to_string(panels_of(sizes, isa).bytes()));
  }
  *kernel = std::make_unique<IntegerProduct>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> integer_matrix_entries() {
  return {{.kind = "MatMulInteger",
           .check = check_integer_product,
           .make = make_integer_product,
           .packing = integer_packing,
           .pack = pack_integer,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu

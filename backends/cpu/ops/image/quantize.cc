// QuantizeLinear and DequantizeLinear between floats and integers of 8 or 16 bits with one scale,
// and tables of bytes, in any layout; DynamicQuantizeLinear.

#include <algorithm>
#include <cmath>

#include "kernels/bytes/bytes.h"
#include "ops/rows/dequantize_rows.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

bool is_byte(sluice_element_type type) { return type == plugin::kU8 || type == plugin::kI8; }
bool is_short(sluice_element_type type) { return type == plugin::kU16 || type == plugin::kI16; }

/// Ok if the operand is one constant number.
Status check_number(const sluice_operand& operand, const char* what) {
  const bool fits = operand.is_constant != 0 && plugin::is_static(operand.tensor) &&
                    plugin::num_elements(operand.tensor) == 1;
  return fits ? plugin::ok() : unimplemented(what);
}

Status check(const sluice_op& op, const sluice_tensor& floats, const sluice_tensor& bytes) {
  if (op.body != nullptr) return unimplemented("fused body");
  if (floats.element_type != plugin::kF32 ||
      (!is_byte(bytes.element_type) && !is_short(bytes.element_type))) {
    return unimplemented("not between f32 and integers of 8 or 16 bits");
  }
  if (floats.layout != bytes.layout) return unimplemented("operands of unlike layouts");
  if (plugin::Attributes(op).get_int("block_size") != 0) return unimplemented("blocks");
  if (op.inputs[1].tensor.element_type != plugin::kF32) return unimplemented("another scale");
  if (Status status = check_number(op.inputs[1], "more than one scale"); !status.is_ok()) {
    return status;
  }
  if (op.num_inputs < 3 || plugin::is_absent(op.inputs[2].tensor)) return plugin::ok();
  if (op.inputs[2].tensor.element_type != bytes.element_type) {
    return unimplemented("a zero point of another type");
  }
  return check_number(op.inputs[2], "more than one zero point");
}

Status check_quantize(const sluice_op& op) {
  const auto precision = plugin::Attributes(op).get_int("precision");
  if (precision != 0 && precision != plugin::kF32) return unimplemented("another precision");
  return check(op, op.inputs[0].tensor, op.outputs[0].tensor);
}

/// Whether one constant scale serves all numbers, of any layout.
bool has_constant_scale(const sluice_op& op) {
  return check(op, op.outputs[0].tensor, op.inputs[0].tensor).is_ok();
}

Status check_dequantize(const sluice_op& op) {
  return has_constant_scale(op) ? plugin::ok() : check_dequantize_rows(op);
}

ByteScale read_scale(const sluice_op& op, const sluice_tensor& bytes) {
  ByteScale scale;
  scale.scale = *static_cast<const float*>(op.inputs[1].tensor.data);
  scale.has_sign = bytes.element_type == plugin::kI8 || bytes.element_type == plugin::kI16;
  if (op.num_inputs < 3 || plugin::is_absent(op.inputs[2].tensor)) return scale;
  const void* zero = op.inputs[2].tensor.data;
  switch (bytes.element_type) {
    case plugin::kI8: scale.zero = *static_cast<const std::int8_t*>(zero); break;
    case plugin::kI16: scale.zero = *static_cast<const std::int16_t*>(zero); break;
    case plugin::kU16: scale.zero = *static_cast<const std::uint16_t*>(zero); break;
    default: scale.zero = *static_cast<const std::uint8_t*>(zero); break;
  }
  return scale;
}

/// Both ways: what differs is the function.
template <typename From, typename To>
class Conversion : public Kernel {
 public:
  using Function = void (*)(const From*, std::int64_t, const ByteScale&, To*);

  Conversion(const sluice_op& op, const ByteScale& scale, Function function)
      : Kernel(op),
        scale_(scale),
        function_(function),
        count_(op.outputs[0].tensor.size_bytes / static_cast<std::int64_t>(sizeof(To))) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(count_, 64, worker);
    function_(run.input<From>(0) + share.begin, share.end - share.begin, scale_,
              run.output<To>(0) + share.begin);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {count_, sizeof(From)});
    extents.writes(0, {count_, sizeof(To)});
  }
  double cost_ns() const override { return static_cast<double>(count_) * 0.15; }

 private:
  ByteScale scale_;
  Function function_;
  std::int64_t count_;
};

/// Finds the range of each piece, then rounds all to its 255 steps.
class DynamicQuantize : public Kernel {
 public:
  DynamicQuantize(const sluice_op& op, Isa isa)
      : Kernel(op),
        range_of_(SLUICE_CPU_PICK(isa, range_of)),
        quantize_(SLUICE_CPU_PICK(isa, quantize_bytes)),
        count_(plugin::num_elements(op.inputs[0].tensor)) {}

  int phases() const override { return 2; }
  void run(const Run& run, int phase, const Worker& worker) const override {
    auto* ranges = reinterpret_cast<Range*>(run.shared());
    const float* x = run.input<float>(0);
    if (phase == 0) {
      const Share share = share_of(kPieces, 1, worker);
      for (std::int64_t i = share.begin; i < share.end; ++i) {
        const Share piece = share_of(count_, 64, {static_cast<int>(i), kPieces});
        range_of_(x + piece.begin, piece.end - piece.begin, &ranges[i].least, &ranges[i].largest);
      }
      return;
    }
    const ByteScale scale = scale_of(ranges);
    const Share share = share_of(count_, 64, worker);
    quantize_(x + share.begin, share.end - share.begin, scale,
              run.output<std::uint8_t>(0) + share.begin);
    if (worker.index != 0) return;
    *run.output<float>(1) = scale.scale;
    *run.output<std::uint8_t>(2) = static_cast<std::uint8_t>(scale.zero);
  }
  std::int64_t shared_bytes() const override { return kPieces * sizeof(Range); }
  void extents(Extents& extents) const override {
    extents.reads(0, {count_, sizeof(float)});
    extents.writes(0, {count_});
    extents.writes(1, {sizeof(float)});
    extents.writes(2, {1});
  }
  double cost_ns() const override { return static_cast<double>(count_) * 0.2; }

 private:
  struct Range {
    float least, largest;
  };
  // shared_bytes does not know the number of workers, so the number of pieces is fixed.
  static constexpr int kPieces = 64;

  /// scale = (largest - least) / 255 and zero = round(-least / scale), over a range that contains
  /// 0, as ONNX has it.
  static ByteScale scale_of(const Range* ranges) {
    Range all = {0, 0};
    for (int i = 0; i < kPieces; ++i) {
      all.least = std::min(all.least, ranges[i].least);
      all.largest = std::max(all.largest, ranges[i].largest);
    }
    ByteScale scale;
    if (all.largest != all.least) scale.scale = (all.largest - all.least) / 255;
    // Infinity over infinity is a NaN, of which fmax makes 0.
    const float zero = std::nearbyint(-all.least / scale.scale);
    scale.zero = static_cast<std::int32_t>(std::fmin(std::fmax(zero, 0.0F), 255.0F));
    return scale;
  }

  decltype(&portable::range_of) range_of_;
  decltype(&portable::quantize_bytes) quantize_;
  std::int64_t count_;
};

Status check_dynamic(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  if (op.num_outputs != 3) return unimplemented("other outputs");
  for (const sluice_operand& output : plugin::outputs_of(op)) {
    if (plugin::is_absent(output.tensor)) return unimplemented("an absent output");
  }
  const bool fits = op.inputs[0].tensor.element_type == plugin::kF32 &&
                    op.outputs[0].tensor.element_type == plugin::kU8 &&
                    op.inputs[0].tensor.layout == SLUICE_LAYOUT_ROW_MAJOR &&
                    op.outputs[0].tensor.layout == SLUICE_LAYOUT_ROW_MAJOR;
  return fits ? plugin::ok() : unimplemented("not from f32 to u8 in rows");
}

Status make_dynamic(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<DynamicQuantize>(op, isa);
  return plugin::ok();
}

/// Padding lanes of a layout are mapped like any others: nobody reads them.
class Table : public Kernel {
 public:
  Table(const sluice_op& op, Isa isa)
      : Kernel(op),
        map_(SLUICE_CPU_PICK(isa, map_bytes)),
        count_(op.outputs[0].tensor.size_bytes) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(count_, 64, worker);
    map_(static_cast<const std::uint8_t*>(op().inputs[1].tensor.data),
         run.input<std::uint8_t>(0) + share.begin, share.end - share.begin,
         run.output<std::uint8_t>(0) + share.begin);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {count_});
    extents.writes(0, {count_});
  }
  double cost_ns() const override { return static_cast<double>(count_) * 0.05; }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  void (*map_)(const std::uint8_t*, const std::uint8_t*, std::int64_t, std::uint8_t*);
  std::int64_t count_;
};

Status check_table(const sluice_op& op) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  const sluice_operand& table = op.inputs[1];
  if (op.body != nullptr) return unimplemented("fused body");
  const bool fits = x.element_type == plugin::kU8 && y.element_type == plugin::kU8 &&
                    table.is_constant != 0 && table.tensor.element_type == plugin::kU8 &&
                    table.tensor.rank == 1 && table.tensor.dims[0] == 256;
  if (!fits) return unimplemented("not a constant table of bytes");
  return x.layout == y.layout ? plugin::ok() : unimplemented("operands of unlike layouts");
}

Status make_table(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  *kernel = std::make_unique<Table>(op, isa);
  return plugin::ok();
}

Status make_quantize(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (is_short(op.outputs[0].tensor.element_type)) {
    *kernel = std::make_unique<Conversion<float, std::uint16_t>>(
        op, read_scale(op, op.outputs[0].tensor), SLUICE_CPU_PICK(isa, quantize_shorts));
    return plugin::ok();
  }
  *kernel = std::make_unique<Conversion<float, std::uint8_t>>(
      op, read_scale(op, op.outputs[0].tensor), SLUICE_CPU_PICK(isa, quantize_bytes));
  return plugin::ok();
}

Status make_dequantize(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (!has_constant_scale(op)) return make_dequantize_rows(op, isa, kernel);
  if (is_short(op.inputs[0].tensor.element_type)) {
    *kernel = std::make_unique<Conversion<std::uint16_t, float>>(
        op, read_scale(op, op.inputs[0].tensor), SLUICE_CPU_PICK(isa, dequantize_shorts));
    return plugin::ok();
  }
  *kernel = std::make_unique<Conversion<std::uint8_t, float>>(
      op, read_scale(op, op.inputs[0].tensor), SLUICE_CPU_PICK(isa, dequantize_bytes));
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> quantize_entries() {
  return {{.kind = "QuantizeLinear",
           .check = check_quantize,
           .make = make_quantize,
           .num_required_inputs = 2},
          {.kind = "DequantizeLinear",
           .check = check_dequantize,
           .make = make_dequantize,
           .num_required_inputs = 2},
          {.kind = "DynamicQuantizeLinear", .check = check_dynamic, .make = make_dynamic},
          {.domain = "sluice",
           .kind = "ByteTable",
           .check = check_table,
           .make = make_table,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu

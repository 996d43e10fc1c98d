#include "ops/elementwise/casts.h"

#include <algorithm>
#include <optional>

#include "kernels/convert/convert.h"
#include "kernels/elements/typed.h"
#include "ops/elementwise/numbers_of.h"
#include "ops/elementwise/types.h"
#include "ops/operands/checks.h"

namespace sluice::cpu {
namespace {

/// Elements that a worker takes at a time.
constexpr std::int64_t kShare = 4096;

/// Between types that are computed in themselves.
class NumberCast : public Kernel {
 public:
  NumberCast(const sluice_op& op, ConvertLoop loop)
      : Kernel(op), loop_(loop), elements_(plugin::num_elements(op.outputs[0].tensor)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(elements_, kShare, worker);
    const std::int64_t from = element_bytes(op().inputs[0].tensor);
    const std::int64_t to = element_bytes(op().outputs[0].tensor);
    loop_(run.input<std::byte>(0) + share.begin * from, run.output<std::byte>(0) + share.begin * to,
          share.end - share.begin);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {elements_, element_bytes(op().inputs[0].tensor)});
    extents.writes(0, {elements_, element_bytes(op().outputs[0].tensor)});
  }
  double cost_ns() const override { return static_cast<double>(elements_) * 0.3; }

 private:
  ConvertLoop loop_;
  std::int64_t elements_;
};

/// From or to floats of 16 bits, by way of f32, which holds every value of theirs. What becomes one
/// is rounded once: integers that f32 rounds are too large for f16, and doubles are cut.
class HalfCast : public Kernel {
 public:
  HalfCast(const sluice_op& op, Isa isa)
      : Kernel(op),
        to_floats_(SLUICE_CPU_PICK(isa, to_floats)),
        from_floats_(SLUICE_CPU_PICK(isa, from_floats)),
        cut_to_floats_(SLUICE_CPU_PICK(isa, cut_to_floats)),
        elements_(plugin::num_elements(op.outputs[0].tensor)),
        from_(op.inputs[0].tensor.element_type),
        to_(op.outputs[0].tensor.element_type) {
    const auto loop = SLUICE_CPU_PICK(isa, convert_loop);
    if (!is_half(from_)) widen_ = loop(*number_of(from_), Number::kF32, false);
    if (!is_half(to_)) narrow_ = loop(Number::kF32, *number_of(to_), to_ == plugin::kBool);
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(elements_, kShare, worker);
    const std::int64_t from = element_bytes(op().inputs[0].tensor);
    const std::int64_t to = element_bytes(op().outputs[0].tensor);
    for (std::int64_t i = share.begin; i < share.end; i += kBlock) {
      convert(run.input<std::byte>(0) + i * from, run.output<std::byte>(0) + i * to,
              std::min(kBlock, share.end - i));
    }
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {elements_, element_bytes(op().inputs[0].tensor)});
    extents.writes(0, {elements_, element_bytes(op().outputs[0].tensor)});
  }
  double cost_ns() const override { return static_cast<double>(elements_) * 0.15; }

 private:
  static constexpr std::int64_t kBlock = 2048;  ///< their floats stay in the first cache

  void convert(const std::byte* x, std::byte* y, std::int64_t count) const {
    if (to_ == plugin::kF32) {
      return to_floats_(*storage_of(from_), x, count, reinterpret_cast<float*>(y));
    }
    float block[kBlock];
    const float* floats = block;
    if (from_ == plugin::kF32) {
      floats = reinterpret_cast<const float*>(x);
    } else if (from_ == plugin::kF64) {
      cut_to_floats_(reinterpret_cast<const double*>(x), count, block);
    } else if (is_half(from_)) {
      to_floats_(*storage_of(from_), x, count, block);
    } else {
      widen_(x, block, count);
    }
    is_half(to_) ? from_floats_(*storage_of(to_), floats, count, y) : narrow_(floats, y, count);
  }

  decltype(&portable::to_floats) to_floats_;
  decltype(&portable::from_floats) from_floats_;
  decltype(&portable::cut_to_floats) cut_to_floats_;
  ConvertLoop widen_ = nullptr;
  ConvertLoop narrow_ = nullptr;
  std::int64_t elements_;
  sluice_element_type from_;
  sluice_element_type to_;
};

}  // namespace

bool has_cast(const sluice_op& op) {
  const sluice_element_type from = op.inputs[0].tensor.element_type;
  const sluice_element_type to = op.outputs[0].tensor.element_type;
  const auto is_known = [](sluice_element_type type) { return is_half(type) || number_of(type); };
  if (!is_known(from) || !is_known(to)) return false;
  // A copy keeps every bit.
  return from != to || (!is_half(from) && from != plugin::kBool);
}

std::unique_ptr<Kernel> make_cast(const sluice_op& op, Isa isa) {
  const sluice_element_type from = op.inputs[0].tensor.element_type;
  const sluice_element_type to = op.outputs[0].tensor.element_type;
  if (is_half(from) || is_half(to)) return std::make_unique<HalfCast>(op, isa);
  const ConvertLoop loop =
      SLUICE_CPU_PICK(isa, convert_loop)(*number_of(from), *number_of(to), to == plugin::kBool);
  return std::make_unique<NumberCast>(op, loop);
}

}  // namespace sluice::cpu

#include "ops/elementwise/typed.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "kernels/elements/typed.h"
#include "ops/elementwise/casts.h"
#include "ops/elementwise/numbers_of.h"
#include "ops/elementwise/types.h"
#include "ops/operands/broadcast.h"
#include "ops/operands/checks.h"
#include "ops/operands/constants.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Elements that one call of a loop takes, so that what several steps pass on stays near.
constexpr std::int64_t kTypedColumns = 8192;

enum class Arity : std::uint8_t { kUnary, kBinary, kVariadic, kClip };

struct TypedMeaning {
  TypedOp op;
  Arity shape = Arity::kBinary;
  bool is_swapped = false;
};

const std::map<std::string_view, TypedMeaning>& typed_meanings() {
  static const std::map<std::string_view, TypedMeaning> kMeanings = {
      {"Abs", {TypedOp::kAbs, Arity::kUnary}},
      {"Add", {TypedOp::kAdd}},
      {"And", {TypedOp::kBoth}},
      {"BitShift", {TypedOp::kShiftLeft}},
      {"BitwiseAnd", {TypedOp::kAnd}},
      {"BitwiseNot", {TypedOp::kInvert, Arity::kUnary}},
      {"BitwiseOr", {TypedOp::kOr}},
      {"BitwiseXor", {TypedOp::kXor}},
      {"Ceil", {TypedOp::kCeil, Arity::kUnary}},
      {"Clip", {TypedOp::kAtLeast, Arity::kClip}},
      {"Cos", {TypedOp::kCos, Arity::kUnary}},
      {"Div", {TypedOp::kDiv}},
      {"Equal", {TypedOp::kEqual}},
      {"Exp", {TypedOp::kExp, Arity::kUnary}},
      {"Floor", {TypedOp::kFloor, Arity::kUnary}},
      {"Greater", {TypedOp::kLess, Arity::kBinary, true}},
      {"GreaterOrEqual", {TypedOp::kLessOrEqual, Arity::kBinary, true}},
      {"IsInf", {TypedOp::kIsInfinite, Arity::kUnary}},
      {"IsNaN", {TypedOp::kIsNan, Arity::kUnary}},
      {"Less", {TypedOp::kLess}},
      {"LessOrEqual", {TypedOp::kLessOrEqual}},
      {"Log", {TypedOp::kLog, Arity::kUnary}},
      {"Max", {TypedOp::kMax, Arity::kVariadic}},
      {"Min", {TypedOp::kMin, Arity::kVariadic}},
      {"Mod", {TypedOp::kMod}},
      {"Mul", {TypedOp::kMul}},
      {"Neg", {TypedOp::kNeg, Arity::kUnary}},
      {"Not", {TypedOp::kIsZero, Arity::kUnary}},
      {"Or", {TypedOp::kEither}},
      {"Pow", {TypedOp::kPower}},
      {"Reciprocal", {TypedOp::kReciprocal, Arity::kUnary}},
      {"Relu", {TypedOp::kRelu, Arity::kUnary}},
      {"Round", {TypedOp::kRound, Arity::kUnary}},
      {"Sigmoid", {TypedOp::kSigmoid, Arity::kUnary}},
      {"Sign", {TypedOp::kSign, Arity::kUnary}},
      {"Sin", {TypedOp::kSin, Arity::kUnary}},
      {"Sqrt", {TypedOp::kSqrt, Arity::kUnary}},
      {"Sub", {TypedOp::kSub}},
      {"Sum", {TypedOp::kAdd, Arity::kVariadic}},
      {"Tanh", {TypedOp::kTanh, Arity::kUnary}},
      {"Xor", {TypedOp::kUnlike}},
  };
  return kMeanings;
}

/// How the loops know a type: floats of 16 bits by their bits. None if they have no form for it.
std::optional<Number> loop_number(sluice_element_type type) {
  return is_half(type) ? Number::kU16 : number_of(type);
}

/// The operation's meaning for its attributes and type; none if it has no form.
std::optional<TypedMeaning> meaning_of(const sluice_op& op) {
  const auto found = typed_meanings().find(op.kind);
  if (found == typed_meanings().end()) return std::nullopt;
  TypedMeaning meaning = found->second;
  const plugin::Attributes attributes(op);
  const bool is_sum = meaning.op == TypedOp::kAdd && meaning.shape == Arity::kVariadic;
  if (is_sum && op.inputs[0].tensor.element_type != plugin::kF64) return std::nullopt;
  if (meaning.op == TypedOp::kMod && attributes.get_int("fmod") != 0)
    meaning.op = TypedOp::kRemainder;
  if (meaning.op == TypedOp::kPower &&
      op.inputs[0].tensor.element_type != op.inputs[1].tensor.element_type) {
    return std::nullopt;
  }
  const bool has_one_sign = attributes.get_int("detect_negative", 1) == 0 ||
                            attributes.get_int("detect_positive", 1) == 0;
  if (meaning.op == TypedOp::kIsInfinite && has_one_sign) return std::nullopt;
  if (meaning.op == TypedOp::kShiftLeft && attributes.get_text("direction") != "LEFT") {
    if (attributes.get_text("direction") != "RIGHT") return std::nullopt;
    meaning.op = TypedOp::kShiftRight;
  }
  if (is_half(op.inputs[0].tensor.element_type)) {
    const bool is_f16 = op.inputs[0].tensor.element_type == plugin::kF16;
    const bool is_nan = meaning.op == TypedOp::kIsNan;
    if (!is_nan && meaning.op != TypedOp::kIsInfinite) return std::nullopt;
    meaning.op = is_f16 ? (is_nan ? TypedOp::kIsF16Nan : TypedOp::kIsF16Infinite)
                        : (is_nan ? TypedOp::kIsBf16Nan : TypedOp::kIsBf16Infinite);
  }
  if (op.inputs[0].tensor.element_type == plugin::kBool) {
    if (meaning.op == TypedOp::kEqual) meaning.op = TypedOp::kAlike;
    const bool is_logic = meaning.op >= TypedOp::kBoth && meaning.op <= TypedOp::kAlike;
    if (!is_logic && meaning.op != TypedOp::kIsZero) return std::nullopt;
  }
  return meaning;
}

bool gives_flags(TypedOp op) {
  return (op >= TypedOp::kEqual && op <= TypedOp::kAlike) ||
         (op >= TypedOp::kIsZero && op <= TypedOp::kIsBf16Infinite);
}

bool is_where(const sluice_op& op) { return std::string_view(op.kind) == "Where"; }
bool is_mod(const sluice_op& op) { return std::string_view(op.kind) == "Mod"; }

bool divides(TypedOp op) {
  return op == TypedOp::kDiv || op == TypedOp::kMod || op == TypedOp::kRemainder;
}

/// The output and its operands, walked together along the last dimension.
class TypedWalk {
 public:
  explicit TypedWalk(const sluice_op& op) {
    const auto out = dims_of(op.outputs[0].tensor);
    std::vector<Dims> strides = {broadcast_strides(out, out)};
    bytes_.push_back(element_bytes(op.outputs[0].tensor));
    for (const sluice_operand& input : plugin::inputs_of(op)) {
      const bool is_there = !plugin::is_absent(input.tensor);
      strides.push_back(is_there ? broadcast_strides(dims_of(input.tensor), out)
                                 : Dims(out.size(), 0));
      bytes_.push_back(is_there ? element_bytes(input.tensor) : 0);
    }
    walk_ = collapse(out, std::move(strides));
    elements_ = product(out, 0, static_cast<std::int64_t>(out.size()));
    columns_ = std::max<std::int64_t>(walk_.dims.back(), 1);
    pieces_ = (columns_ + kTypedColumns - 1) / kTypedColumns;
    for (const Dims& operand : walk_.strides) steps_.push_back(operand.back());
  }

  std::int64_t elements() const { return elements_; }
  std::int64_t step(int operand) const { return steps_[static_cast<std::size_t>(operand) + 1]; }
  Reach reach(int operand) const {
    return reach_of(walk_.dims, walk_.strides[static_cast<std::size_t>(operand) + 1]);
  }

  /// Calls `visit(offsets, count)` with the byte offsets of the output and the operands, for this
  /// worker's pieces.
  template <typename Visit>
  void run(const Worker& worker, const Visit& visit) const {
    if (elements_ == 0) return;
    const Share share = share_of(elements_ / columns_ * pieces_, 1, worker);
    std::vector<std::int64_t> offsets(steps_.size());
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % pieces_ * kTypedColumns;
      std::int64_t row = i / pieces_;
      for (std::size_t o = 0; o < offsets.size(); ++o) offsets[o] = first * steps_[o];
      for (std::size_t d = walk_.dims.size() - 1; d-- > 0; row /= walk_.dims[d]) {
        const std::int64_t at = row % walk_.dims[d];
        for (std::size_t o = 0; o < offsets.size(); ++o) offsets[o] += at * walk_.strides[o][d];
      }
      for (std::size_t o = 0; o < offsets.size(); ++o) offsets[o] *= bytes_[o];
      visit(offsets, std::min(kTypedColumns, columns_ - first));
    }
  }

 private:
  Walk walk_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> steps_;
  std::int64_t elements_ = 0;
  std::int64_t columns_ = 1;
  std::int64_t pieces_ = 1;
};

/// A base of operations that walk their operands.
class TypedKernel : public Kernel {
 public:
  explicit TypedKernel(const sluice_op& op) : Kernel(op), walk_(op) {}

  void extents(Extents& extents) const override {
    for (int i = 0; i < op().num_inputs; ++i) {
      if (plugin::is_absent(op().inputs[i].tensor)) continue;
      extents.reads(i, {walk_.reach(i).end, element_bytes(op().inputs[i].tensor)});
    }
    extents.writes(0, {walk_.elements(), element_bytes(op().outputs[0].tensor)});
  }

 protected:
  TypedWalk walk_;
};

/// Input 0, and a loop with each of the others behind it.
class TypedFold : public TypedKernel {
 public:
  TypedFold(const sluice_op& op, const TypedMeaning& meaning, Isa isa)
      : TypedKernel(op), meaning_(meaning), has_zero_(SLUICE_CPU_PICK(isa, has_zero)) {
    const Number type = *loop_number(op.inputs[0].tensor.element_type);
    loop_ = SLUICE_CPU_PICK(isa, typed_loop)(meaning.op, type);
    // Clip folds its lower bound with kAtLeast and its upper one with kAtMost.
    lower_ = SLUICE_CPU_PICK(isa, typed_loop)(TypedOp::kAtMost, type);
    checks_divisors_ = divides(meaning.op) && type != Number::kF32 && type != Number::kF64;
    if (!checks_divisors_) return;
    divisors_ = plugin::num_elements(op.inputs[1].tensor);
    if (divisors_ > kFewDivisors) pieces_ = kPieces;
  }

  int phases() const override { return pieces_ > 1 ? 2 : 1; }
  std::int64_t shared_bytes() const override { return pieces_ > 1 ? pieces_ : 0; }

  void run(const Run& run, int phase, const Worker& worker) const override {
    // An integer divided by 0 does not trap, so what finds one may come later. All workers look at
    // many divisors, and the first one says in the second phase what they have found.
    auto* found = reinterpret_cast<std::uint8_t*>(run.shared());
    if (phase == 1) {
      if (worker.index == 0 && std::find(found, found + pieces_, 1) != found + pieces_) refuse(run);
      return;
    }
    if (pieces_ > 1) {
      const Share share = share_of(pieces_, 1, worker);
      for (std::int64_t i = share.begin; i < share.end; ++i) {
        found[i] = has_zero(run, share_of(divisors_, 1, {static_cast<int>(i), kPieces})) ? 1 : 0;
      }
    } else if (checks_divisors_ && worker.index == 0 && has_zero(run, {0, divisors_})) {
      refuse(run);
    }
    walk_.run(worker, [&](const std::vector<std::int64_t>& offsets, std::int64_t count) {
      // What a loop passes on to the next one stays in the first cache.
      const std::int64_t piece = op().num_inputs > 2 ? kNear : count;
      for (std::int64_t first = 0; first < count; first += piece) {
        fold(run, offsets, first, std::min(piece, count - first));
      }
    });
  }

  double cost_ns() const override {
    const bool is_function = meaning_.op >= TypedOp::kExp;
    const double each = checks_divisors_ ? 2 : is_function ? 1 : 0.3;
    return static_cast<double>(walk_.elements()) * each * std::max(op().num_inputs - 1, 1);
  }

 private:
  static constexpr std::int64_t kNear = 2048;  ///< elements
  static constexpr std::int64_t kFewDivisors = 4096;
  static constexpr int kPieces = 64;

  /// The elements from `first` on, behind `offsets`.
  void fold(const Run& run, const std::vector<std::int64_t>& offsets, std::int64_t first,
            std::int64_t count) const {
    const std::int64_t bytes = element_bytes(op().outputs[0].tensor);
    std::byte* out = run.output<std::byte>(0) + offsets[0] + first * bytes;
    const auto input = [&](int i) {
      return run.input<std::byte>(i) + offsets[static_cast<std::size_t>(i) + 1] +
             first * walk_.step(i) * element_bytes(op().inputs[i].tensor);
    };
    if (meaning_.shape == Arity::kUnary) {
      return loop_(input(0), walk_.step(0), input(0), walk_.step(0), out, count);
    }
    if (meaning_.is_swapped) {
      return loop_(input(1), walk_.step(1), input(0), walk_.step(0), out, count);
    }
    // The first loop reads the inputs. Each further one reads what the last one wrote, in place.
    const std::byte* from = input(0);
    std::int64_t step = walk_.step(0);
    for (int i = 1; i < op().num_inputs; ++i) {
      if (plugin::is_absent(op().inputs[i].tensor)) continue;
      const bool is_upper = meaning_.shape == Arity::kClip && i == 2;
      (is_upper ? lower_ : loop_)(from, step, input(i), walk_.step(i), out, count);
      from = out;
      step = 1;
    }
    if (from != out) copy(from, step, out, count, bytes);
  }

  /// Copies elements, for an operation without a second operand.
  static void copy(const std::byte* from, std::int64_t step, std::byte* out, std::int64_t count,
                   std::int64_t bytes) {
    for (std::int64_t i = 0; step == 0 && i < count; ++i) {
      std::memcpy(out + i * bytes, from, static_cast<std::size_t>(bytes));
    }
    if (step != 0) std::memmove(out, from, static_cast<std::size_t>(count * bytes));
  }

  /// Whether one of those divisors is 0.
  bool has_zero(const Run& run, Share divisors) const {
    const std::int64_t bytes = element_bytes(op().inputs[1].tensor);
    return has_zero_(run.input<std::byte>(1) + divisors.begin * bytes, bytes,
                     divisors.end - divisors.begin);
  }

  void refuse(const Run& run) const {
    run.fail(plugin::invalid_argument(plugin::kind_of(op()) + ": integer division by zero"));
  }

  TypedMeaning meaning_;
  TypedLoop loop_;
  TypedLoop lower_;
  decltype(&portable::has_zero) has_zero_;
  bool checks_divisors_;
  std::int64_t divisors_ = 0;
  int pieces_ = 1;  ///< in which all workers look at the divisors
};

class TypedWhere : public TypedKernel {
 public:
  TypedWhere(const sluice_op& op, Isa isa)
      : TypedKernel(op),
        loop_(SLUICE_CPU_PICK(isa, where_loop)(element_bytes(op.outputs[0].tensor))) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t steps[] = {walk_.step(0), walk_.step(1), walk_.step(2)};
    walk_.run(worker, [&](const std::vector<std::int64_t>& offsets, std::int64_t count) {
      loop_(run.input<std::uint8_t>(0) + offsets[1], run.input<std::byte>(1) + offsets[2],
            run.input<std::byte>(2) + offsets[3], steps, run.output<std::byte>(0) + offsets[0],
            count);
    });
  }
  double cost_ns() const override { return static_cast<double>(walk_.elements()) * 0.5; }

 private:
  WhereLoop loop_;
};

bool is_cast(const sluice_op& op) { return std::string_view(op.kind) == "Cast"; }

bool is_own_type(sluice_element_type type) { return number_of(type) && type != plugin::kF32; }

Status check_broadcasts(const sluice_op& op) {
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
      if (!broadcasts_to(dims_of(operand.tensor), dims_of(op.outputs[0].tensor))) {
        return plugin::invalid_argument(
            plugin::kind_of(op) + ": operand " + plugin::to_string(dims_of(operand.tensor)) +
            " does not broadcast to " + plugin::to_string(dims_of(op.outputs[0].tensor)));
      }
    }
  }
  return plugin::ok();
}

Status check_types(const sluice_op& op, const TypedMeaning& meaning) {
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    if (!plugin::is_absent(input.tensor) && input.tensor.element_type != type) {
      return unimplemented("operands of unlike types");
    }
  }
  const sluice_element_type result = gives_flags(meaning.op) ? plugin::kBool : type;
  if (op.outputs[0].tensor.element_type != result) return unimplemented("a result of another type");
  const bool is_one = meaning.shape == Arity::kUnary;
  const bool is_two = meaning.shape == Arity::kBinary;
  if ((is_one && op.num_inputs != 1) || (is_two && op.num_inputs != 2)) {
    return unimplemented("another number of operands");
  }
  if (SLUICE_CPU_PICK(Isa::kPortable, typed_loop)(meaning.op, *loop_number(type)) == nullptr) {
    return unimplemented("no form for the type");
  }
  return plugin::ok();
}

}  // namespace

bool is_typed(const sluice_op& op) {
  if (op.body != nullptr || op.num_inputs < 1 || op.num_outputs != 1) return false;
  for (const sluice_operand& operand : plugin::outputs_of(op)) {
    if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) return false;
  }
  if (is_cast(op)) return has_cast(op);
  if (is_where(op)) {
    return op.num_inputs == 3 && loop_number(op.inputs[1].tensor.element_type).has_value();
  }
  const auto meaning = meaning_of(op);
  const sluice_element_type type = op.inputs[0].tensor.element_type;
  if (!meaning) return false;
  const bool is_float = type == plugin::kF32 || type == plugin::kF64;
  if (is_mod(op) && is_float && meaning->op != TypedOp::kRemainder) return false;
  // A body would widen flags to floats, and narrow them again.
  const bool is_test_of_floats =
      (type == plugin::kF32 || is_half(type)) && gives_flags(meaning->op);
  return (is_own_type(type) || is_test_of_floats || (is_mod(op) && is_float)) &&
         check_types(op, *meaning).is_ok();
}

Status check_typed(const sluice_op& op) {
  if (is_cast(op)) {
    return same_dims(op.inputs[0].tensor, op.outputs[0].tensor) ? plugin::ok()
                                                                : unimplemented("another shape");
  }
  if (is_where(op)) {
    const sluice_element_type type = op.outputs[0].tensor.element_type;
    const bool fits = op.inputs[0].tensor.element_type == plugin::kBool &&
                      op.inputs[1].tensor.element_type == type &&
                      op.inputs[2].tensor.element_type == type;
    return fits ? check_broadcasts(op) : unimplemented("operands of unlike types");
  }
  const auto meaning = meaning_of(op);
  if (!meaning) return unimplemented("attributes");
  if (Status status = check_types(op, *meaning); !status.is_ok()) return status;
  if (meaning->shape == Arity::kClip) {
    for (int i = 1; i < op.num_inputs; ++i) {
      const sluice_tensor& bound = op.inputs[i].tensor;
      if (!plugin::is_absent(bound) && bound.rank != 0) return unimplemented("bounds with axes");
    }
  } else {
    for (const sluice_operand& input : plugin::inputs_of(op)) {
      if (plugin::is_absent(input.tensor)) return unimplemented("an operand is missing");
    }
  }
  return check_broadcasts(op);
}

Status make_typed(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (is_cast(op)) {
    *kernel = make_cast(op, isa);
  } else if (is_where(op)) {
    *kernel = std::make_unique<TypedWhere>(op, isa);
  } else {
    *kernel = std::make_unique<TypedFold>(op, *meaning_of(op), isa);
  }
  return plugin::ok();
}

std::vector<const char*> typed_kinds() {
  return {"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Mod"};
}

}  // namespace sluice::cpu

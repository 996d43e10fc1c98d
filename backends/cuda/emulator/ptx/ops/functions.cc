// Roots, powers, logarithms, sines. The host's library computes them: a device's approximations
// differ by units in the last place.
#include "emulator/ptx/ops/families.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/ops/select_type.h"

namespace sluice::cuda::ptx {
namespace {

/// What a float leaves of the exact root or reciprocal; its sign counts.
struct Sqrt {
  template <class T>
  static T plain(T a) {
    return std::sqrt(a);
  }
  static double error(double a, double result) { return std::fma(-result, result, a); }
};
struct Reciprocal {
  template <class T>
  static T plain(T a) {
    return T{1} / a;
  }
  static double error(double a, double result) {
    return std::copysign(1.0, a) * std::fma(-result, a, 1.0);
  }
};
struct ReciprocalRoot {
  template <class T>
  static T plain(T a) {
    return T{1} / std::sqrt(a);
  }
};
struct Exp2 {
  template <class T>
  static T plain(T a) {
    return std::exp2(a);
  }
};
struct Log2 {
  template <class T>
  static T plain(T a) {
    return std::log2(a);
  }
};
struct Sine {
  template <class T>
  static T plain(T a) {
    return std::sin(a);
  }
};
struct Cosine {
  template <class T>
  static T plain(T a) {
    return std::cos(a);
  }
};
struct Tanh {
  template <class T>
  static T plain(T a) {
    return std::tanh(a);
  }
};

template <class F>
struct Function {
  template <class T>
  static T apply(Modifiers m, T a) {
    if (m.has(kFlush)) a = flush(a);
    return finish_float(m, F::plain(a));
  }
};

/// In the direction that the modifiers ask for, f32 alone.
template <class F>
float directed_function(Modifiers m, float a) {
  if (m.has(kFlush)) a = flush(a);
  const double result = F::plain(double{a});
  return finish_float(m, round_directed(result, F::error(a, result), rounding_of(m)));
}

struct HExp2 {
  template <class H>
  static H one(H a) {
    H result;
    from_float(std::exp2(to_float(a)), &result);
    return result;
  }
};
struct HTanh {
  template <class H>
  static H one(H a) {
    H result;
    from_float(std::tanh(to_float(a)), &result);
    return result;
  }
};
template <class F, class H>
Pair<H> both(Pair<H> a) {
  return {F::one(a.low), F::one(a.high)};
}

template <class F>
Step half_function(Type type) {
  switch (type) {
    case Type::kF16: return lanewise<&F::template one<Half>>;
    case Type::kBf16: return lanewise<&F::template one<Brain>>;
    case Type::kF16x2: return lanewise<&both<F, Half>>;
    case Type::kBf16x2: return lanewise<&both<F, Brain>>;
    default: return nullptr;
  }
}

void read(Decoder& d, Step step, Type type) {
  if (step == nullptr) d.refuse_form();
  d.need_operands(2, 2);
  d.instruction.step = step;
  d.instruction.out = d.target(0, type);
  d.instruction.in[0] = d.source(1, type);
  d.finish();
}

template <class F>
void decode_function(Decoder& d) {
  d.instruction.modifiers = take_float_modifiers(d);
  d.take("approx");
  if ((d.instruction.modifiers & kRoundingBits) != 0) d.refuse_form();
  const Type type = d.need_type();
  read(d, float_step<Function<F>>(type), type);
}

template <class F>
void decode_rounded(Decoder& d) {
  d.instruction.modifiers = take_float_modifiers(d);
  d.take("approx");
  const Type type = d.need_type();
  const bool is_directed = (d.instruction.modifiers & kRoundingBits) != 0;
  if (is_directed && type != Type::kF32) d.refuse_form();
  read(d, is_directed ? lanewise<&directed_function<F>> : float_step<Function<F>>(type), type);
}

/// Decodes a function that takes halves too.
template <class F, class H>
void decode_with_half(Decoder& d) {
  Decoder look = d;
  const Type type = look.need_type();
  if (type == Type::kF32) return decode_function<F>(d);
  d.take("approx");
  d.take("ftz");  // bf16 alone has it: what is flushed is smaller than any result's last bit
  read(d, half_function<H>(d.need_type()), type);
}

}  // namespace

void add_functions(Opcodes* opcodes) {
  const std::pair<std::string_view, Decode> rows[] = {{"sqrt", decode_rounded<Sqrt>},
                                                      {"rcp", decode_rounded<Reciprocal>},
                                                      {"rsqrt", decode_function<ReciprocalRoot>},
                                                      {"ex2", decode_with_half<Exp2, HExp2>},
                                                      {"lg2", decode_function<Log2>},
                                                      {"sin", decode_function<Sine>},
                                                      {"cos", decode_function<Cosine>},
                                                      {"tanh", decode_with_half<Tanh, HTanh>}};
  opcodes->insert(std::begin(rows), std::end(rows));
}

}  // namespace sluice::cuda::ptx

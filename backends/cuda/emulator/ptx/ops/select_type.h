// The step of an operation for a type: `Op::apply` instantiated for what the type means in C++.
#pragma once

#include "emulator/ptx/code/types.h"
#include "emulator/ptx/ops/lanewise.h"

namespace sluice::cuda::ptx {

/// Null for types that are no signed integers of 16 bits or more.
template <class Op>
Step signed_step(Type type) {
  switch (type) {
    case Type::kS16: return lanewise<&Op::template apply<std::int16_t>>;
    case Type::kS32: return lanewise<&Op::template apply<std::int32_t>>;
    case Type::kS64: return lanewise<&Op::template apply<std::int64_t>>;
    default: return nullptr;
  }
}

/// Null for types that are no unsigned integers, or plain bits, of 16 bits or more.
template <class Op>
Step bits_step(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kU16: return lanewise<&Op::template apply<std::uint16_t>>;
    case Type::kB32:
    case Type::kU32: return lanewise<&Op::template apply<std::uint32_t>>;
    case Type::kB64:
    case Type::kU64: return lanewise<&Op::template apply<std::uint64_t>>;
    default: return nullptr;
  }
}

template <class Op>
Step integer_step(Type type) {
  const Step step = signed_step<Op>(type);
  return step != nullptr ? step : bits_step<Op>(type);
}

template <class Op>
Step float_step(Type type) {
  switch (type) {
    case Type::kF32: return lanewise<&Op::template apply<float>>;
    case Type::kF64: return lanewise<&Op::template apply<double>>;
    default: return nullptr;
  }
}

}  // namespace sluice::cuda::ptx

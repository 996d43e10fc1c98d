#include "plugin/generate/text/narrow_numbers.h"

#include <algorithm>

#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kReadText = R"(
template <typename E, int kBits>
static __device__ __forceinline__ float number(const E* values, Index at) {
  if constexpr (kBits != 4) {
    return float(values[at]);
  } else {
    const int two = reinterpret_cast<const unsigned char*>(values)[at / 2];
    const int four = at % 2 != 0 ? two >> 4 : two & 15;
    return float(E(-1) < E(0) ? (four ^ 8) - 8 : four);
  }
}
template <int kCount, typename E, int kBits>
static __device__ __forceinline__ void weights(const E* b, Index at, float (&w)[kCount]) {
  constexpr int kBytes = kCount * kBits / 8;
  if constexpr (kBytes == 0) {
    w[0] = number<E, kBits>(b, at);
  } else {
    struct alignas(kBytes) Load {
      unsigned char bytes[kBytes];
    };
    const char* const from = reinterpret_cast<const char*>(b) + at * kBits / 8;
    const Load load = *reinterpret_cast<const Load*>(from);
#pragma unroll
    for (int i = 0; i < kCount; ++i) w[i] = number<E, kBits>(reinterpret_cast<const E*>(&load), i);
  }
}
)";

}  // namespace

bool is_narrow(sluice_element_type type) {
  return type == plugin::kF16 || type == plugin::kBf16 || type == plugin::kU8 ||
         type == plugin::kI8 || type == plugin::kU4 || type == plugin::kI4;
}

std::string narrow_type_name(sluice_element_type type) {
  switch (type) {
    case plugin::kU4: return "unsigned char";
    case plugin::kI4: return "signed char";
    default: return std::string(type_name(type));
  }
}

bool has_operand(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

std::int64_t numbers_of_a_load(std::int64_t neighbours, int bits) {
  std::int64_t count = bits == 4 ? 8 : std::min(128 / bits, 16);  // more take too many registers
  while (count > 1 && neighbours % count != 0) count /= 2;
  return count;
}

const char* narrow_functions() { return kReadText; }

std::string zero_text(const sluice_op& op, int zeros, Parameters* parameters) {
  if (!has_operand(op, zeros)) return "const auto zero = [](Index) { return 0.0f; };\n";
  const sluice_tensor& tensor = op.inputs[zeros].tensor;
  const std::string at = plugin::num_elements(tensor) == 1 ? "0" : "at";
  return "const auto zero = [&](Index at) { return number<" +
         narrow_type_name(tensor.element_type) + ", " +
         std::to_string(plugin::element_bits(tensor.element_type)) + ">(" + parameters->add(zeros) +
         ", " + at + "); };\n";
}

}  // namespace sluice::cuda

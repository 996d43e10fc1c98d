#include "plugin/generate/text/types.h"

#include <algorithm>

#include "sluice/element_types.hpp"

namespace sluice::cuda {
namespace {

// Without the vendor's header, which NVRTC finds only where a toolkit is installed.
constexpr const char* kF16 = R"(struct F16 {
  unsigned short bits;
  __device__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  __device__ void operator=(float value) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
};
)";

// Architectures before 8.0 have no instruction for it.
constexpr const char* kBf16 = R"(struct BF16 {
  unsigned short bits;
  __device__ operator float() const { return __uint_as_float(unsigned(bits) << 16); }
  __device__ void operator=(float value) {
    const unsigned u = __float_as_uint(value);
    bits = value != value ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
  }
};
)";

bool uses(const sluice_op& op, sluice_element_type type) {
  const auto has_type = [&](const sluice_operand& operand) {
    return operand.tensor.element_type == type;
  };
  return std::ranges::any_of(plugin::inputs_of(op), has_type) ||
         std::ranges::any_of(plugin::body_inputs_of(op), has_type) ||
         std::ranges::any_of(plugin::outputs_of(op), has_type);
}

}  // namespace

std::string_view type_name(sluice_element_type type) {
  switch (type) {
    case plugin::kF32: return "float";
    case plugin::kF64: return "double";
    case plugin::kF16: return "F16";
    case plugin::kBf16: return "BF16";
    case plugin::kBool: return "bool";
    case plugin::kI8: return "signed char";
    case plugin::kU8: return "unsigned char";
    case plugin::kI16: return "short";
    case plugin::kU16: return "unsigned short";
    case plugin::kI32: return "int";
    case plugin::kU32: return "unsigned";
    case plugin::kI64: return "long long";
    case plugin::kU64: return "unsigned long long";
    default: return "";
  }
}

bool is_real(sluice_element_type type) {
  return type == plugin::kF32 || type == plugin::kF16 || type == plugin::kBf16;
}

bool is_integer(sluice_element_type type) {
  return (type >= plugin::kU8 && type <= plugin::kI64) || type == plugin::kU32 ||
         type == plugin::kU64;
}

std::string types_text(const sluice_op& op) {
  std::string text;
  if (uses(op, plugin::kF16)) text += kF16;
  if (uses(op, plugin::kBf16)) text += kBf16;
  return text;
}

float real_at(const sluice_tensor& constant, std::size_t index) {
  if (constant.element_type == plugin::kF16) {
    return static_cast<float>(plugin::elements<const Half>(constant)[index]);
  }
  if (constant.element_type == plugin::kBf16) {
    return static_cast<float>(plugin::elements<const BFloat16>(constant)[index]);
  }
  return plugin::elements<const float>(constant)[index];
}

}  // namespace sluice::cuda

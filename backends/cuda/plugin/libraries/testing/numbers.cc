#include "plugin/libraries/testing/numbers.h"

#include <cstring>

#include "emulator/ptx/ops/half_numbers.h"

namespace sluice::cuda::testing {
namespace {

template <typename Half>
float widen(std::uint16_t bits) {
  return ptx::to_float(Half{bits});
}
template <typename Half>
std::uint16_t narrow(float value) {
  Half half;
  ptx::from_float(value, &half);
  return half.bits;
}

/// Numbers of 4 bits, two in a byte, the low half first.
std::vector<std::byte> encode_nibbles(const std::vector<float>& values) {
  std::vector<std::byte> bytes((values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto four = static_cast<unsigned>(static_cast<int>(values[i])) & 15U;
    bytes[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? four : four << 4);
  }
  return bytes;
}

}  // namespace

std::vector<std::byte> encode(sluice_element_type type, const std::vector<float>& values) {
  if (plugin::element_bits(type) == 4) return encode_nibbles(values);
  const auto size = static_cast<std::size_t>(plugin::element_bits(type)) / 8;
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == plugin::kBool) {
      bytes[i] = std::byte{values[i] != 0};
      continue;
    }
    if (type == plugin::kI8 || type == plugin::kU8 || type == plugin::kI64) {
      const auto whole = static_cast<std::int64_t>(values[i]);
      std::memcpy(bytes.data() + i * size, &whole, size);  // the low bytes come first
      continue;
    }
    const std::uint16_t half =
        type == plugin::kF16 ? narrow<ptx::Half>(values[i]) : narrow<ptx::Brain>(values[i]);
    const void* const from = type == plugin::kF32 ? static_cast<const void*>(&values[i]) : &half;
    std::memcpy(bytes.data() + i * size, from, size);
  }
  return bytes;
}

std::vector<float> decode(sluice_element_type type, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::size_t>(plugin::element_bits(type)) / 8;
  std::vector<float> values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t half = 0;
    void* const to = type == plugin::kF32 ? static_cast<void*>(&values[i]) : &half;
    std::memcpy(to, bytes.data() + i * size, size);
    if (type == plugin::kF16) values[i] = widen<ptx::Half>(half);
    if (type == plugin::kBf16) values[i] = widen<ptx::Brain>(half);
    if (type == plugin::kI8) values[i] = static_cast<signed char>(bytes[i]);
    if (type == plugin::kBool) values[i] = bytes[i] == std::byte{0} ? 0 : 1;
  }
  return values;
}

std::vector<float> some_numbers(const sluice_tensor& tensor, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(plugin::num_elements(tensor)));
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1;
  }
  return decode(tensor.element_type, encode(tensor.element_type, values));
}

}  // namespace sluice::cuda::testing

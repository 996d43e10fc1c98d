#include "fuzz/operators/values.h"

#include <cstring>
#include <limits>
#include <string>

namespace sluice::fuzz {
namespace {

using ir::ElementType;

float random_float(Random& random) {
  switch (random.below(40)) {
    case 0: return std::numeric_limits<float>::quiet_NaN();
    case 1: return std::numeric_limits<float>::infinity();
    case 2: return -std::numeric_limits<float>::infinity();
    case 3: return std::numeric_limits<float>::max();
    case 4: return -1e30F;
    case 5: return 0.0F;
    default: return static_cast<float>(random.below(65) - 32) / 8.0F;
  }
}

template <typename T>
void write_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// One element of whole bytes.
void write_element(ElementType element, std::byte* to, std::size_t bytes, Random& random) {
  switch (element) {
    case ElementType::kF32: return write_as(to, random_float(random));
    case ElementType::kF64: return write_as(to, static_cast<double>(random_float(random)));
    case ElementType::kBool: return write_as(to, static_cast<std::uint8_t>(random.below(2)));
    case ElementType::kC64:
    case ElementType::kC128: {
      const std::size_t half = bytes / 2;
      const ElementType part = half == 4 ? ElementType::kF32 : ElementType::kF64;
      write_element(part, to, half, random);
      return write_element(part, to + half, half, random);
    }
    case ElementType::kI8:
    case ElementType::kI16:
    case ElementType::kI32:
    case ElementType::kI64:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64: {
      const std::int64_t value = random_integer(random);
      std::memcpy(to, &value, bytes);  // the low bytes
      return;
    }
    default: {  // short floats and bytes: any bits
      const std::uint64_t value = random.bits();
      std::memcpy(to, &value, bytes);
    }
  }
}

ir::Constant random_texts(const ir::Type& type, std::int64_t count, Random& random) {
  static const std::vector<std::string> kTexts = {
      "", "a", "A b", "1", "-2.5", "cd", "1e30", "\xC3\xA4\xFF", "a b c a b", "\xF0\x9F"};
  std::vector<std::int64_t> offsets = {0};
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    bytes += random.pick(kTexts);
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
  }
  std::vector<std::byte> data(offsets.size() * 8 + bytes.size());
  std::memcpy(data.data(), offsets.data(), offsets.size() * 8);
  if (!bytes.empty()) std::memcpy(data.data() + offsets.size() * 8, bytes.data(), bytes.size());
  return {type, Bytes::own(std::move(data))};
}

}  // namespace

std::int64_t random_integer(Random& random) {
  switch (random.below(24)) {
    case 0: return std::numeric_limits<std::int64_t>::max();
    case 1: return std::numeric_limits<std::int64_t>::min();
    case 2: return std::int64_t{1} << random.below(63);
    case 3: return -(std::int64_t{1} << random.below(63));
    case 4: return random.below(100);
    case 5:
    case 6:
    case 7: return -1 - random.below(4);
    default: return random.below(5);
  }
}

ir::Constant random_constant(const ir::Type& type, Random& random) {
  const std::int64_t count = ir::num_elements(*type.shape()).value_or(0);
  if (type.element() == ElementType::kString) return random_texts(type, count, random);
  std::vector<std::byte> data(
      static_cast<std::size_t>(ir::storage_bytes(type.element(), count).value_or(0)));
  const int bits = ir::element_bits(type.element());
  const auto size = static_cast<std::size_t>(bits < 8 ? 1 : bits / 8);
  for (std::size_t at = 0; at + size <= data.size(); at += size) {
    write_element(bits < 8 ? ElementType::kU8 : type.element(), &data[at], size, random);
  }
  return {type, Bytes::own(std::move(data))};
}

ops::OperandFacts facts_of(const ir::Constant& contents) {
  ops::OperandFacts facts = {contents.type, std::nullopt, ir::float_values(contents)};
  if (const auto integers = ir::integer_values(contents)) {
    facts.values.emplace(integers->begin(), integers->end());
  }
  return facts;
}

}  // namespace sluice::fuzz

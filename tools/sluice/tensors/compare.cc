#include "sluice/tensors/compare.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "ir/numbers/short_float.h"

namespace sluice::tool {
namespace {

template <typename T, typename Widen>
std::vector<double> widen_all(const void* data, std::int64_t size_bytes, const Widen& widen) {
  std::vector<double> values(static_cast<std::size_t>(size_bytes) / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    // Bytes of a file may lie at any address.
    std::memcpy(&element, static_cast<const std::byte*>(data) + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(widen(element));
  }
  return values;
}

/// Elements of float tensors; nullopt for other types.
std::optional<std::vector<double>> floats_of(ir::ElementType type, const void* data,
                                             std::int64_t size_bytes) {
  const auto keep = [](auto value) { return value; };
  switch (type) {
    case ir::ElementType::kF32: return widen_all<float>(data, size_bytes, keep);
    case ir::ElementType::kF64: return widen_all<double>(data, size_bytes, keep);
    case ir::ElementType::kF16: return widen_all<std::uint16_t>(data, size_bytes, ir::widen_f16);
    case ir::ElementType::kBf16: return widen_all<std::uint16_t>(data, size_bytes, ir::widen_bf16);
    default: return std::nullopt;
  }
}

bool agree(double got, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::string compare_floats(const std::vector<double>& got, const std::vector<double>& expected,
                           const Tolerance& tolerance) {
  std::size_t count = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!agree(got[i], expected[i], tolerance) && count++ == 0) first = i;
  }
  if (count == 0) return "";
  return fmt::format("{} of {} elements differ; element {} is {}, should be {}", count, got.size(),
                     first, got[first], expected[first]);
}

/// The number that fills `text` from behind `separator` up to `end`.
bool read_number(std::string_view text, std::size_t separator, std::size_t end, double& number) {
  if (separator + 1 >= end) return false;
  const char* const last = text.data() + end;
  const auto [stop, error] = std::from_chars(text.data() + separator + 1, last, number);
  return error == std::errc() && stop == last && number >= 0;
}

}  // namespace

/// f32 and f64 as ONNX's own runner compares. Types of 16 bits, of 11 and 8 bits of precision, get
/// two units in the last place.
Tolerances default_tolerances() {
  return {{ir::ElementType::kF64, {1e-3, 1e-7}},
          {ir::ElementType::kF32, {1e-3, 1e-7}},
          {ir::ElementType::kF16, {std::ldexp(1.0, -9), 1e-7}},
          {ir::ElementType::kBf16, {std::ldexp(1.0, -6), 1e-7}}};
}

Result<Tolerances> parse_tolerances(const std::vector<std::string>& overrides) {
  Tolerances tolerances = default_tolerances();
  for (const std::string& text : overrides) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::size_t comma = std::min(text.find(',', equals), text.size());
    const auto element = ir::find_element_type(std::string_view(text).substr(0, equals));
    const auto row = element ? tolerances.find(*element) : tolerances.end();
    if (row == tolerances.end() || !read_number(text, equals, comma, row->second.relative) ||
        !read_number(text, comma, text.size(), row->second.absolute)) {
      return invalid_argument("--tolerance {}: write it as f32=1e-4,1e-6 (relative, absolute)",
                              text);
    }
  }
  return tolerances;
}

std::string find_difference(const terms::TensorView& got, const ir::Constant& expected,
                            const Tolerances& tolerances) {
  const ir::Type type = ir::Type::tensor(got.element, ir::Shape(got.dims.begin(), got.dims.end()));
  if (!(type == expected.type)) {
    return fmt::format("got {}, should be {}", type.to_string(), expected.type.to_string());
  }
  const auto size = static_cast<std::int64_t>(expected.data.size());
  if (got.size_bytes != size)
    return fmt::format("got {} bytes, should be {}", got.size_bytes, size);
  if (const auto values = floats_of(got.element, got.data, size)) {
    return compare_floats(*values, *floats_of(got.element, expected.data.data(), size),
                          tolerances.at(got.element));
  }
  const bool is_equal =
      size == 0 || std::memcmp(got.data, expected.data.data(), expected.data.size()) == 0;
  return is_equal ? "" : "elements differ";
}

}  // namespace sluice::tool

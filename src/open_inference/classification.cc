#include "open_inference/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "base/checked.h"
#include "terms/runtime_code.h"

namespace sluice::open_inference {
namespace {

using ir::ElementType;

/// Limit of an answer: a text takes more memory than the number it stands for.
constexpr std::int64_t kMaxTexts = 1 << 16;

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

/// The order is total, so that std::partial_sort may use it: equal values in order of their index.
template <typename T>
void add_row(std::span<const T> row, std::size_t count, std::vector<std::size_t>& order,
             std::span<const std::string> labels, std::vector<std::string>& texts) {
  order.resize(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_before = [&](std::size_t a, std::size_t b) {
    const bool no_a = is_nan(row[a]);
    const bool no_b = is_nan(row[b]);
    if (no_a != no_b) return no_b;
    if (no_a || row[a] == row[b]) return a < b;
    return row[a] > row[b];
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    is_before);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      texts.push_back(fmt::format("{:f}:{}", row[order[i]], order[i]));
    } else {
      texts.push_back(fmt::format("{}:{}", row[order[i]], order[i]));
    }
    if (order[i] < labels.size() && !labels[order[i]].empty()) {
      texts.back() += ":" + labels[order[i]];
    }
  }
}

template <typename T>
Classes classify_rows(const terms::TensorView& view, Classes classes, std::size_t width,
                      std::span<const std::string> labels) {
  const auto count = static_cast<std::size_t>(classes.shape.back());
  const std::size_t total = static_cast<std::size_t>(view.size_bytes) / sizeof(T);
  std::vector<T> row(width);
  std::vector<std::size_t> order;
  for (std::size_t begin = 0; begin < total; begin += width) {
    std::memcpy(row.data(), static_cast<const T*>(view.data) + begin, width * sizeof(T));
    add_row(std::span<const T>(row), count, order, labels, classes.texts);
  }
  return classes;
}

}  // namespace

Result<Classes> classify(const terms::TensorView& view, bool has_rows, std::int64_t num_classes,
                         std::span<const std::string> labels) {
  has_rows = has_rows && !view.dims.empty();
  const std::int64_t num_rows = has_rows ? view.dims.front() : 1;
  const std::span<const std::int64_t> dims = view.dims;
  // No overflow: the tensor is in memory.
  const std::int64_t width = checked_product(has_rows ? dims.subspan(1) : dims).value_or(0);
  const std::int64_t count = std::min(width, num_classes);
  if (num_rows > kMaxTexts / std::max<std::int64_t>(count, 1)) {
    return terms::runtime_error(RuntimeCode::kBadInput,
                                "{} classes of each of {} rows: at most {} in all are given",
                                num_classes, num_rows, kMaxTexts);
  }
  Classes classes;
  if (has_rows) classes.shape.push_back(num_rows);
  classes.shape.push_back(count);
  const auto size = static_cast<std::size_t>(width);
  switch (view.element) {
    case ElementType::kF32: return classify_rows<float>(view, std::move(classes), size, labels);
    case ElementType::kF64: return classify_rows<double>(view, std::move(classes), size, labels);
    case ElementType::kU8:
      return classify_rows<std::uint8_t>(view, std::move(classes), size, labels);
    case ElementType::kI8:
      return classify_rows<std::int8_t>(view, std::move(classes), size, labels);
    case ElementType::kU16:
      return classify_rows<std::uint16_t>(view, std::move(classes), size, labels);
    case ElementType::kI16:
      return classify_rows<std::int16_t>(view, std::move(classes), size, labels);
    case ElementType::kU32:
      return classify_rows<std::uint32_t>(view, std::move(classes), size, labels);
    case ElementType::kI32:
      return classify_rows<std::int32_t>(view, std::move(classes), size, labels);
    case ElementType::kU64:
      return classify_rows<std::uint64_t>(view, std::move(classes), size, labels);
    case ElementType::kI64:
      return classify_rows<std::int64_t>(view, std::move(classes), size, labels);
    default: break;
  }
  return terms::runtime_error(RuntimeCode::kBadInput, "classes of {}: ask for the tensor",
                              ir::element_type_name(view.element));
}

}  // namespace sluice::open_inference

#include "sluice/tensors/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace sluice::tool {
namespace {

std::span<const float> floats_of(const terms::TensorView& view) {
  return {static_cast<const float*>(view.data),
          static_cast<std::size_t>(view.size_bytes) / sizeof(float)};
}

std::ptrdiff_t place_of_largest(std::span<const float> row) {
  return std::ranges::max_element(row) - row.begin();
}

}  // namespace

void Agreement::add(const terms::TensorView& got, const terms::TensorView& expected) {
  const std::span<const float> a = floats_of(got);
  const std::span<const float> b = floats_of(expected);
  ++samples_;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    largest_difference_ = std::max(largest_difference_, std::abs(difference));
    largest_expected_ = std::max(largest_expected_, std::abs(static_cast<double>(b[i])));
    signal_ += static_cast<double>(b[i]) * b[i];
    noise_ += difference * difference;
  }
  // A row of the last dimension is what a classifier ranks.
  const std::size_t width =
      expected.dims.empty() ? 1 : static_cast<std::size_t>(expected.dims.back());
  for (std::size_t at = 0; width > 0 && at + width <= b.size(); at += width) {
    ++rows_;
    const bool same =
        place_of_largest(a.subspan(at, width)) == place_of_largest(b.subspan(at, width));
    same_largest_ += same ? 1 : 0;
  }
}

double Agreement::largest_error() const {
  return largest_expected_ > 0 ? largest_difference_ / largest_expected_ : largest_difference_;
}

double Agreement::signal_to_noise() const {
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal_ / noise_);
}

}  // namespace sluice::tool

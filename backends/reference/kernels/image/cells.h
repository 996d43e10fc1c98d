// Where the cells of MaxRoiPool lie: for the reference kernel, and for backends with one of their
// own.
#pragma once

#include <cmath>
#include <cstdint>

namespace sluice::reference {

/// Elements [begin, end) of one axis of an image.
struct CellRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Range of cell `i` of `cells` over a region of `length` from `begin` on, within [0, limit].
/// Cells overlap where the region does not divide: floor and ceil widen each to whole elements.
inline CellRange cell_range(double begin, double length, std::int64_t i, std::int64_t cells,
                            std::int64_t limit) {
  const double step = length / static_cast<double>(cells);
  const auto bound = [&](double value) -> std::int64_t {
    const double place = value + begin;
    if (!(place > 0)) return 0;  // NaN is no place either
    return place < static_cast<double>(limit) ? static_cast<std::int64_t>(place) : limit;
  };
  return {bound(std::floor(static_cast<double>(i) * step)),
          bound(std::ceil(static_cast<double>(i + 1) * step))};
}

}  // namespace sluice::reference

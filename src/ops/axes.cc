#include "ops/axes.h"

#include <algorithm>

namespace sluice::ops {

Result<std::vector<std::size_t>> axes_attribute(const InferenceContext& context,
                                                std::string_view name, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : context.ints_attribute(name)) {
    const auto inside = normalize_axis(axis, rank);
    if (!inside.is_ok()) return context.error("{}", inside.status().message());
    const auto place = static_cast<std::size_t>(*inside);
    if (std::find(axes.begin(), axes.end(), place) != axes.end()) {
      return context.error("axis {} stands twice", axis);
    }
    axes.push_back(place);
  }
  return axes;
}

}  // namespace sluice::ops

#include "ops/axes.h"

#include <algorithm>

namespace sluice::ops {

Result<std::vector<std::size_t>> axes_attribute(const InferenceContext& context,
                                                std::string_view name, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : context.ints_attribute(name)) {
    const std::size_t place = SLUICE_TRY(context.axis(axis, rank));
    if (std::find(axes.begin(), axes.end(), place) != axes.end()) {
      return context.error("axis {} stands twice", axis);
    }
    axes.push_back(place);
  }
  return axes;
}

}  // namespace sluice::ops

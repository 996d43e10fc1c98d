#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "kernels/image/resize_row.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// One axis of a Resize; `scale` is given, or follows from the sizes.
struct ResizeAxis {
  std::int64_t in = 0;
  std::int64_t out = 0;
  double scale = 1;

  /// Whether outputs are inputs.
  bool is_identity() const { return in == out && scale == 1; }
};

/// Ok if attributes and scales are such as the functions below read. `modes` and `coordinates` are
/// those that the kernel has.
Status check_resize_attributes(const sluice_op& op, std::initializer_list<std::string_view> modes,
                               std::initializer_list<std::string_view> coordinates);

ResizeAxis resize_axis(const sluice_op& op, int dim);

/// Where output `i` lies among the inputs.
double resize_coordinate(const sluice_op& op, const ResizeAxis& axis, double i);

/// For modes "nearest" and "linear".
std::vector<ResizeTap> resize_taps(const sluice_op& op, int dim);

}  // namespace sluice::cpu

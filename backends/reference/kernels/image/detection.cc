// RoiAlign, MaxRoiPool, NonMaxSuppression.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "reference/arithmetic.h"
#include "reference/families.h"
#include "reference/kernels/image/cells.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

/// Images [N, C, H, W], regions [R, columns], output [R, C, height, width].
Status check_regions(const Call& call, std::int64_t columns) {
  const Dims x = input_dims(call, 0);
  const Dims rois = input_dims(call, 1);
  const Dims y = output_dims(call, 0);
  const bool is_fit = x.size() == 4 && rois.size() == 2 && rois[1] == columns && y.size() == 4 &&
                      y[0] == rois[0] && y[1] == x[1];
  return is_fit ? plugin::ok() : refuse(call, "images, regions and output do not fit");
}

/// One channel of one image.
struct Plane {
  const double* values;
  std::int64_t height, width;
  double at(std::int64_t y, std::int64_t x) const { return values[y * width + x]; }
};

/// The four neighbours of a point with their weights, combined by `fold`.
template <typename Fold>
double interpolate(const Plane& plane, double y, double x, const Fold& fold) {
  // One pixel beyond the border still counts, as in the standard's code; what is farther is 0.
  if (!(y >= -1 && y <= static_cast<double>(plane.height) && x >= -1 &&
        x <= static_cast<double>(plane.width))) {
    return 0;
  }
  y = std::clamp(y, 0.0, static_cast<double>(plane.height - 1));
  x = std::clamp(x, 0.0, static_cast<double>(plane.width - 1));
  const auto top = static_cast<std::int64_t>(y);
  const auto left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, plane.height - 1);
  const std::int64_t right = std::min(left + 1, plane.width - 1);
  const double down = y - static_cast<double>(top);
  const double over = x - static_cast<double>(left);
  const std::array parts = {
      (1 - down) * (1 - over) * plane.at(top, left), (1 - down) * over * plane.at(top, right),
      down * (1 - over) * plane.at(bottom, left), down * over * plane.at(bottom, right)};
  return std::accumulate(parts.begin() + 1, parts.end(), parts[0], fold);
}

struct Region {
  double top, left, cell_height, cell_width;
  std::int64_t rows, columns;  ///< samples per cell
  bool takes_largest;

  /// One output element.
  double pool(const Plane& plane, std::int64_t row, std::int64_t column) const {
    double result = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const double y = top + (static_cast<double>(row) +
                              (static_cast<double>(i) + 0.5) / static_cast<double>(rows)) *
                                 cell_height;
      for (std::int64_t j = 0; j < columns; ++j) {
        const double x = left + (static_cast<double>(column) +
                                 (static_cast<double>(j) + 0.5) / static_cast<double>(columns)) *
                                    cell_width;
        if (takes_largest) {
          const double value =
              interpolate(plane, y, x, [](double a, double b) { return largest(a, b); });
          result = i + j == 0 ? value : largest(result, value);
        } else {
          result += interpolate(plane, y, x, std::plus<>());
        }
      }
    }
    return takes_largest ? result : result / static_cast<double>(rows * columns);
  }
};

Region make_region(const Call& call, std::span<const double> roi) {
  const plugin::Attributes attributes = call.attributes();
  const Dims y = output_dims(call, 0);
  const double scale = attributes.get_float("spatial_scale", 1);
  const bool is_half_pixel =
      attributes.get_text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const double shift = is_half_pixel ? 0.5 : 0;
  double width = (roi[2] - roi[0]) * scale;
  double height = (roi[3] - roi[1]) * scale;
  if (!is_half_pixel) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  Region region = {};
  region.left = roi[0] * scale - shift;
  region.top = roi[1] * scale - shift;
  region.cell_height = height / static_cast<double>(y[2]);
  region.cell_width = width / static_cast<double>(y[3]);
  region.takes_largest = attributes.get_text("mode", "avg") == "max";
  constexpr double kMaxSamples = 1024;  // a region may be as large as floats are
  const auto samples = [&](double cell) {
    const std::int64_t given = attributes.get_int("sampling_ratio");
    const double wanted = given > 0 ? static_cast<double>(given) : std::ceil(cell);
    return static_cast<std::int64_t>(wanted >= 1 ? std::min(wanted, kMaxSamples) : 1);
  };
  region.rows = samples(region.cell_height);
  region.columns = samples(region.cell_width);
  return region;
}

Status run_roi_align(const Call& call) {
  if (Status status = check_regions(call, 4); !status.is_ok()) return status;
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const Doubles images = read_doubles(call.input(0));
  const Doubles rois = read_doubles(call.input(1));
  const std::vector<std::int64_t> batch = read_ints(call.input(2));
  if (images.size() != index(size_of(x)) || rois.size() != index(y[0] * 4) ||
      batch.size() != index(y[0])) {
    return refuse(call, "regions and batch indices do not fit");
  }
  Doubles result;
  for (std::int64_t r = 0; r < y[0]; ++r) {
    const std::int64_t n = batch[index(r)];
    if (n < 0 || n >= x[0]) return plugin::index_outside(n, 0, x[0]);
    if (x[2] * x[3] == 0) return refuse(call, "a region of no image");
    const Region region = make_region(call, std::span(rois).subspan(index(r) * 4, 4));
    for (std::int64_t c = 0; c < y[1]; ++c) {
      const Plane plane = {images.data() + (n * x[1] + c) * x[2] * x[3], x[2], x[3]};
      for (std::int64_t i = 0; i < y[2] * y[3]; ++i) {
        result.push_back(region.pool(plane, i / y[3], i % y[3]));
      }
    }
  }
  return write_doubles(call, 0, result);
}

Status run_max_roi_pool(const Call& call) {
  if (Status status = check_regions(call, 5); !status.is_ok()) return status;
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const Doubles images = read_doubles(call.input(0));
  const Doubles rois = read_doubles(call.input(1));
  if (images.size() != index(size_of(x)) || rois.size() != index(y[0] * 5)) {
    return refuse_model(call, "unknown element type");
  }
  const double scale = call.attributes().get_float("spatial_scale", 1);
  Doubles result;
  for (std::int64_t r = 0; r < y[0]; ++r) {
    const double* roi = rois.data() + r * 5;
    // `!(...)` also refuses a NaN, which no comparison would.
    if (!(roi[0] >= 0 && roi[0] < static_cast<double>(x[0]))) {
      const bool is_huge = !(std::fabs(roi[0]) < 0x1p62);
      return plugin::index_outside(is_huge ? -1 : static_cast<std::int64_t>(roi[0]), 0, x[0]);
    }
    std::array<double, 5> at = {};
    for (std::size_t k = 1; k < 5; ++k) at[k] = std::round(roi[k] * scale);
    const double width = std::max(at[3] - at[1] + 1, 1.0);
    const double height = std::max(at[4] - at[2] + 1, 1.0);
    const auto image = static_cast<std::int64_t>(roi[0]);
    for (std::int64_t i = 0; i < y[1] * y[2] * y[3]; ++i) {
      const Plane plane = {images.data() + (image * x[1] + i / (y[2] * y[3])) * x[2] * x[3], x[2],
                           x[3]};
      const auto rows = cell_range(at[2], height, i / y[3] % y[2], y[2], x[2]);
      const auto columns = cell_range(at[1], width, i % y[3], y[3], x[3]);
      const bool is_empty = rows.begin >= rows.end || columns.begin >= columns.end;
      double best = is_empty ? 0 : plane.at(rows.begin, columns.begin);
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        for (std::int64_t w = columns.begin; w < columns.end; ++w) {
          best = largest(best, plane.at(h, w));
        }
      }
      result.push_back(best);
    }
  }
  return write_doubles(call, 0, result);
}

/// Corners in order, whichever way round a box was given.
struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box make_box(const float* values, bool is_centre) {
  const double a = values[0], b = values[1], c = values[2], d = values[3];
  if (is_centre) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

/// Intersection over union.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double shared = height * width;
  return shared / (a.area() + b.area() - shared);
}

/// Boxes whose score is NaN follow all others.
bool is_better(float a, float b) { return a > b || (a == a && b != b); }

/// Best first; a box that overlaps a chosen one too much is passed over.
std::vector<std::int64_t> choose(const std::vector<Box>& boxes, std::span<const float> scores,
                                 std::int64_t limit, double max_overlap,
                                 std::optional<double> least_score) {
  std::vector<std::int64_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return is_better(scores[index(a)], scores[index(b)]);
  });
  std::vector<std::int64_t> chosen;
  for (const std::int64_t candidate : order) {
    if (static_cast<std::int64_t>(chosen.size()) >= limit) break;
    // The rest has lower scores.
    if (least_score && !(scores[index(candidate)] > *least_score)) break;
    const bool is_free = std::ranges::none_of(chosen, [&](std::int64_t other) {
      return overlap(boxes[index(candidate)], boxes[index(other)]) > max_overlap;
    });
    if (is_free) chosen.push_back(candidate);
  }
  return chosen;
}

Status run_non_max_suppression(const Call& call) {
  const Dims boxes = input_dims(call, 0);
  const Dims scores = input_dims(call, 1);
  const Dims y = output_dims(call, 0);
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2] || y.size() != 2 || y[1] != 3 ||
      call.input(0).element_type != plugin::kF32 || call.input(1).element_type != plugin::kF32 ||
      call.output(0).element_type != plugin::kI64) {
    return refuse(call, "boxes, scores and output do not fit");
  }
  const auto limits = read_ints(call.input(2));
  const Doubles overlaps = read_doubles(call.input(3));
  const Doubles least = read_doubles(call.input(4));
  const std::int64_t limit = limits.size() == 1 ? limits[0] : 0;
  const double max_overlap = overlaps.size() == 1 ? overlaps[0] : 0;
  std::optional<double> least_score;
  if (least.size() == 1) least_score = least[0];
  const bool is_centre = call.attributes().get_int("center_point_box") != 0;
  const auto box_values = call.input_elements<float>(0);
  const auto score_values = call.input_elements<float>(1);
  const auto result = call.output_elements<std::int64_t>(0);
  std::int64_t rows = 0;
  for (std::int64_t nc = 0; nc < scores[0] * scores[1]; ++nc) {
    const std::int64_t n = nc / scores[1];
    std::vector<Box> candidates;
    for (std::int64_t i = 0; i < boxes[1]; ++i) {
      candidates.push_back(make_box(box_values.data() + (n * boxes[1] + i) * 4, is_centre));
    }
    const auto own = score_values.subspan(index(nc * boxes[1]), index(boxes[1]));
    for (const std::int64_t box : choose(candidates, own, limit, max_overlap, least_score)) {
      if (rows >= y[0]) return refuse(call, "the output is too small for its boxes");
      const std::array row = {n, nc % scores[1], box};
      std::ranges::copy(row, result.begin() + 3 * rows++);
    }
  }
  call.set_actual_dims(0, std::array<std::int64_t, 2>{rows, 3});
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> detection_kernels() {
  return {{.kind = "RoiAlign", .run = run_roi_align},
          {.kind = "MaxRoiPool", .run = run_max_roi_pool},
          {.kind = "NonMaxSuppression", .run = run_non_max_suppression}};
}

}  // namespace sluice::reference

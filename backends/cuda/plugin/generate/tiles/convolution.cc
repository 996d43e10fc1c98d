#include "plugin/generate/tiles/convolution.h"

#include <algorithm>

#include "plugin/generate/text/text.h"

namespace sluice::cuda {
namespace {

// A tile has no fewer rows; groups with less leave most of it empty.
constexpr std::int64_t kMinGroupRows = 8;

std::string number(std::int64_t value) { return std::to_string(value); }

/// Whether b is the image itself.
bool is_pointwise(std::span<const WindowAxis> axes) {
  return std::ranges::all_of(axes, [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad == 0 && axis.input == axis.output;
  });
}

/// `locate`, for a window: the place p of its first tap along each axis, and by axes from the inner
/// one on, which taps are inside.
std::string locate_text(std::span<const WindowAxis> axes, std::int64_t image) {
  std::string places;
  std::string offset = "0";
  std::string masks;
  std::string inner = "1";
  std::int64_t below = 1;
  std::int64_t taps = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const WindowAxis& axis = axes[i];
    const std::string n = number(static_cast<std::int64_t>(i));
    places += fill("    const int p$0 = int(o / $1 % $2) * $3 - $4;\n",
                   {n, number(below), number(axis.output), number(axis.stride), number(axis.pad)});
    masks += fill(
        "    Taps inside$0 = 0;\n#pragma unroll\n    for (int k = 0; k < $1; ++k) {\n"
        "      if (unsigned(p$0 + k * $2) < $3u) inside$0 |= Taps($4) << k * $5;\n    }\n",
        {n, number(axis.kernel), number(axis.dilation), number(axis.input), inner, number(taps)});
    inner = "inside" + n;
    below *= axis.output;
    taps *= axis.kernel;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    offset = fill("($0) * $1 + p$2",
                  {offset, number(axes[i].input), number(static_cast<std::int64_t>(i))});
  }
  return "  static __device__ void locate(Index o, Offset& offset, Taps& taps) {\n" + places +
         masks + "    offset = Offset(o / " + number(below) + ") * " + number(image) +
         " + Offset(" + offset + ");\n    taps = inside0;\n  }\n";
}

/// `step`: channels lie one image plane apart.
std::string step_text(std::span<const WindowAxis> axes, std::int64_t taps, std::int64_t plane) {
  std::string sum = "Offset(k / " + number(taps) + ") * " + number(plane);
  std::int64_t below = 1;
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const WindowAxis& axis = axes[i];
    sum += " + k / " + number(below) + " % " + number(axis.kernel) + " * " +
           number(axis.dilation * stride);
    below *= axis.kernel;
    stride *= axis.input;
  }
  return "  static __device__ Offset step(int k) { return " + sum + "; }\n";
}

Gathering gathering_of(std::span<const WindowAxis> axes, std::int64_t taps, std::int64_t channels,
                       std::int64_t num_elements) {
  Gathering gathering;
  gathering.taps = taps;
  std::int64_t plane = 1;
  for (const WindowAxis& axis : axes) plane *= axis.input;
  gathering.members = "  static constexpr int kTaps = " + number(taps) + ";\n  typedef " +
                      (taps > 32 ? "unsigned long long" : "unsigned") + " Taps;\n  typedef " +
                      // Padding reaches a little beyond both ends.
                      (num_elements < INT32_MAX / 2 ? "int" : "long long") + " Offset;\n" +
                      locate_text(axes, channels * plane) + step_text(axes, taps, plane);
  return gathering;
}

}  // namespace

bool convolution_product(const sluice_op& op, std::span<const WindowAxis> axes, Product* product,
                         Finish* finish) {
  const Dims x = plugin::dims_of(op.inputs[0].tensor);
  const Dims w = plugin::dims_of(op.inputs[1].tensor);
  const int bytes = static_cast<int>(plugin::element_bits(op.outputs[0].tensor.element_type) / 8);
  const std::int64_t groups = plugin::Attributes(op).get_int("group", 1);
  const std::int64_t taps = plugin::num_elements(w.subspan(2));
  const std::int64_t pixels =
      plugin::num_elements(plugin::dims_of(op.outputs[0].tensor).subspan(2));
  product->m = w[0] / groups;
  product->n = x[0] * pixels;
  product->k = w[1] * taps;
  if (groups > 1 && product->m < kMinGroupRows) return false;
  if (taps < 1 || taps > Gathering::kMaxTaps || product->k > INT32_MAX / 2) return false;
  product->a = {1,
                product->m,
                true,
                product->k,
                vector_of(product->k, product->m == 1 ? 0 : product->k, bytes),
                product->m * product->k,
                {groups}};
  product->b = {0,       product->n, false, pixels, 1, w[1] * plugin::num_elements(x.subspan(2)),
                {groups}};
  if (is_pointwise(axes)) {
    product->b.vector = vector_of(pixels, pixels, bytes);
    if (x[0] > 1) {
      product->column_offset =
          fill("o / $0 * $1 + o % $0", {number(pixels), number(x[1] * pixels)});
    }
  } else {
    product->gathering = gathering_of(axes, taps, x[1], plugin::num_elements(x));
  }
  product->batch = {groups};
  if (x[0] > 1) {
    product->result_index = fill("(column / $0 * $1 + place.batch * kM + row) * $0 + column % $0",
                                 {number(pixels), number(w[0])});
  }
  product->unbroken = pixels;
  if (op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor)) {
    finish->added_by_row = 2;
    finish->value = "sum + added";
  }
  return true;
}

}  // namespace sluice::cuda

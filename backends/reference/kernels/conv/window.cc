#include "reference/kernels/conv/window.h"

#include <algorithm>

namespace sluice::reference {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 30;  // products of two stay far from 2^63

Status read_numbers(const Call& call, const char* name, std::size_t count, std::int64_t fallback,
                    std::vector<std::int64_t>* values) {
  const auto given = call.attributes().get_ints(name);
  values->assign(given.begin(), given.end());
  if (values->empty()) values->assign(count, fallback);
  const bool is_fit =
      values->size() == count && std::ranges::all_of(*values, [&](std::int64_t value) {
        return value >= fallback && value <= kLargest;
      });
  return is_fit ? plugin::ok()
                : refuse_model(call, std::string("attribute ") + name + " " +
                                         plugin::to_string(*values) + " does not fit");
}

/// Padding that makes the windows cover the image, the odd one after or before.
void pad_same(Window* window, bool is_upper) {
  for (std::size_t d = 0; d < window->image.size(); ++d) {
    const std::int64_t extent = (window->kernel[d] - 1) * window->dilations[d] + 1;
    const std::int64_t covered = (window->windows[d] - 1) * window->strides[d] + extent;
    const std::int64_t total = std::max<std::int64_t>(0, covered - window->image[d]);
    window->pads_before[d] = is_upper ? total / 2 : (total + 1) / 2;
    window->pads_after[d] = total - window->pads_before[d];
  }
}

/// One axis: where window `p` has tap `t`.
std::int64_t place(const Window& window, std::size_t d, std::int64_t p, std::int64_t t) {
  return p * window.strides[d] + t * window.dilations[d] - window.pads_before[d];
}

/// The offset of the element at these coordinates, or kPadding or kBeyondPadding.
std::int64_t offset_at(const Window& window, const std::vector<std::int64_t>& position,
                       const std::vector<std::int64_t>& tap) {
  std::int64_t offset = 0;
  bool is_padding = false;
  for (std::size_t d = 0; d < window.image.size(); ++d) {
    const std::int64_t at = place(window, d, position[d], tap[d]);
    // Stops at the end behind the padding, which ceil_mode may pass; before the image there is only
    // padding.
    if (at >= window.image[d] + window.pads_after[d]) return kBeyondPadding;
    is_padding = is_padding || at < 0 || at >= window.image[d];
    offset = offset * window.image[d] + at;
  }
  return is_padding ? kPadding : offset;
}

/// The next index in row-major order.
void next_index(std::vector<std::int64_t>& index, Dims dims) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return;
    index[d] = 0;
  }
}

std::vector<std::int64_t> unravel(std::int64_t flat, Dims dims) {
  std::vector<std::int64_t> index(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    index[d] = flat % dims[d];
    flat /= dims[d];
  }
  return index;
}

}  // namespace

Status make_window(const Call& call, Dims kernel, Dims windows, Dims image, Window* window) {
  const std::size_t rank = image.size();
  if (rank == 0 || kernel.size() != rank || windows.size() != rank) {
    return refuse(call, "window " + plugin::to_string(kernel) + " does not fit image " +
                            plugin::to_string(image));
  }
  for (const Dims dims : {kernel, windows, image}) {
    if (std::ranges::any_of(dims, [](auto dim) { return dim > kLargest; })) {
      return refuse(call, "dimensions " + plugin::to_string(dims) + " are too large");
    }
  }
  // The offsets of all taps of a few windows are kept at a time.
  if (const std::int64_t taps = size_of(kernel); taps < 0 || taps > kLargest) {
    return refuse(call, "a window of " + plugin::to_string(kernel) + " is too large");
  }
  window->kernel.assign(kernel.begin(), kernel.end());
  window->windows.assign(windows.begin(), windows.end());
  window->image.assign(image.begin(), image.end());
  Status status = read_numbers(call, "strides", rank, 1, &window->strides);
  if (status.is_ok()) status = read_numbers(call, "dilations", rank, 1, &window->dilations);
  const std::string_view auto_pad = call.attributes().get_text("auto_pad", "NOTSET");
  std::vector<std::int64_t> pads(2 * rank, 0);
  if (status.is_ok() && auto_pad == "NOTSET") {
    status = read_numbers(call, "pads", 2 * rank, 0, &pads);
  }
  if (!status.is_ok()) return status;
  window->pads_before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window->pads_after.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const bool is_upper = auto_pad == "SAME_UPPER";
  if (is_upper || auto_pad == "SAME_LOWER") pad_same(window, is_upper);
  return plugin::ok();
}

void window_offsets(const Window& window, std::int64_t first, std::int64_t count,
                    std::vector<std::int64_t>* offsets) {
  const std::int64_t taps = window.num_taps();
  offsets->resize(index(taps * count));
  std::vector<std::int64_t> position = unravel(first, window.windows);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> tap(window.kernel.size(), 0);
    for (std::int64_t t = 0; t < taps; ++t) {
      (*offsets)[index(t * count + i)] = offset_at(window, position, tap);
      next_index(tap, window.kernel);
    }
    next_index(position, window.windows);
  }
}

}  // namespace sluice::reference

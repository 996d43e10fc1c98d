// Convolutions by one kernel: tensors of any steps, windows of two or three axes, groups. A
// convolution in the strict sense is a correlation whose filter is read from its end.
#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "guest/blas/own_kernels.h"
#include "guest/dnn/convolution_code.h"
#include "guest/dnn/dnn.h"

namespace sluice::guest::dnn {
namespace {

/// Blocks of a grid along y and z, on every device.
constexpr std::int64_t kMaxBlocks = 65535;
/// Elements of a tensor: more than a device has, and a product of bytes fits 63 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 44;

std::optional<blas::Element> element_of(int type) {
  switch (static_cast<Type>(type)) {
    case Type::kF32: return blas::Element::kF32;
    case Type::kF16: return blas::Element::kF16;
    case Type::kBf16: return blas::Element::kBf16;
  }
  return std::nullopt;
}

std::int64_t bytes_of(int type) { return static_cast<Type>(type) == Type::kF32 ? 4 : 2; }

/// The axes of a window. A window of rank 2 has rows and columns.
Extent extent_of(const Sizes& sizes, int rank, std::int32_t absent) {
  const auto at = [&](int axis) {
    return axis < 0 ? absent : sizes[static_cast<std::size_t>(axis)];
  };
  return {at(rank - 3), at(rank - 2), at(rank - 1)};
}

/// The sizes behind items and channels.
Extent extent_of(const Sizes& sizes, int rank) {
  Sizes behind = {};
  std::copy(sizes.begin() + 2, sizes.end(), behind.begin());
  return extent_of(behind, rank - 2, 1);
}

Steps steps_of(const Tensor& tensor) {
  const std::int64_t bytes = bytes_of(tensor.type);
  Sizes behind = {};
  std::copy(tensor.steps.begin() + 2, tensor.steps.end(), behind.begin());
  const Extent axes = extent_of(behind, tensor.rank - 2, 0);
  return {bytes * tensor.steps[0], bytes * tensor.steps[1], bytes * axes.depth, bytes * axes.row,
          bytes * axes.column};
}

Steps steps_of(const Filter& filter) {
  const Extent window = extent_of(filter.sizes, filter.rank);
  const std::int64_t channels = filter.sizes[1];
  const std::int64_t points = window.depth * window.row * window.column;
  Steps steps;
  steps.column = static_cast<Format>(filter.format) == Format::kNhwc ? channels : 1;
  steps.row = steps.column * window.column;
  steps.depth = steps.row * window.row;
  steps.channel = static_cast<Format>(filter.format) == Format::kNhwc ? 1 : points;
  steps.item = channels * points;
  for (std::int64_t* step :
       {&steps.item, &steps.channel, &steps.depth, &steps.row, &steps.column}) {
    *step *= bytes_of(filter.type);
  }
  return steps;
}

bool has_few_elements(const Sizes& sizes, int rank) {
  std::int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
    if (size > kMaxElements / elements) return false;
    elements *= size;
  }
  return true;
}

/// Fails: kNotSupported.
Status check_kind(const Convolution& of) {
  const Window& window = *of.window;
  const Type compute = static_cast<Type>(window.compute);
  struct Limit {
    const char* name;
    std::int64_t value;
    bool is_supported;
  };
  for (const Limit& limit :
       {Limit{"cudnnDataType_t", of.x.tensor->type, element_of(of.x.tensor->type).has_value()},
        Limit{"the compute type cudnnDataType_t", window.compute,
              compute == Type::kF32 || compute == Type::kF16},
        Limit{"cudnnTensorFormat_t", of.filter->format,
              of.filter->format == static_cast<int>(Format::kNchw) ||
                  of.filter->format == static_cast<int>(Format::kNhwc)},
        Limit{"a convolution whose window has this many axes:", window.rank,
              window.rank == 2 || window.rank == 3},
        Limit{"so many items:", of.y.tensor->sizes[0], of.y.tensor->sizes[0] <= kMaxBlocks},
        Limit{"so many channels:", of.y.tensor->sizes[1], of.y.tensor->sizes[1] <= kMaxBlocks}}) {
    if (!limit.is_supported) return refuse(limit.name + (" " + std::to_string(limit.value)));
  }
  return Status::kSuccess;
}

/// Fails: kBadParameter.
Status check_sizes(const Convolution& of) {
  const Sizes& x = of.x.tensor->sizes;
  const Sizes& y = of.y.tensor->sizes;
  const Sizes& filter = of.filter->sizes;
  const Window& window = *of.window;
  const int rank = window.rank + 2;
  bool fits = of.x.tensor->rank == rank && of.y.tensor->rank == rank && of.filter->rank == rank &&
              of.y.tensor->type == of.x.tensor->type && of.filter->type == of.x.tensor->type &&
              x[0] == y[0] && y[1] == filter[0] && filter[0] % window.groups == 0 &&
              x[1] == std::int64_t{filter[1]} * window.groups && has_few_elements(x, rank) &&
              has_few_elements(y, rank) && has_few_elements(filter, rank);
  for (int axis = 0; fits && axis < window.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis + 2);
    fits = output_size(x[at], filter[at], window, axis) == y[at];
  }
  if (of.beta != 0) {
    const Tensor& z = *of.z.tensor;
    fits = fits && z.type == of.y.tensor->type && z.rank == rank && z.sizes == y;
  }
  if (of.bias != nullptr) {
    Sizes wanted = {1, y[1]};
    std::fill_n(wanted.begin() + 2, std::max(0, window.rank), 1);
    fits = fits && of.bias->type == of.y.tensor->type && of.bias->rank == rank &&
           of.bias->sizes == wanted;
  }
  return fits ? Status::kSuccess : Status::kBadParameter;
}

ConvolutionArguments arguments_of(const Convolution& of) {
  const Window& window = *of.window;
  ConvolutionArguments to;
  to.x = of.x.data;
  to.weights = of.weights;
  to.z = of.z.data;
  to.y = const_cast<void*>(of.y.data);
  to.x_steps = steps_of(*of.x.tensor);
  if (of.beta != 0) to.z_steps = steps_of(*of.z.tensor);
  to.y_steps = steps_of(*of.y.tensor);
  to.weight_steps = steps_of(*of.filter);
  to.output = extent_of(of.y.tensor->sizes, of.y.tensor->rank);
  to.input = extent_of(of.x.tensor->sizes, of.x.tensor->rank);
  to.filter = extent_of(of.filter->sizes, of.filter->rank);
  to.points = to.output.depth * to.output.row * to.output.column;
  to.stride = extent_of(window.strides, window.rank, 1);
  to.dilation = extent_of(window.dilations, window.rank, 1);
  to.pad = extent_of(window.pads, window.rank, 0);
  to.group_inputs = of.filter->sizes[1];
  to.group_outputs = of.filter->sizes[0] / window.groups;
  return to;
}

/// Lets the kernel read the filter from its end.
void mirror(ConvolutionArguments& of) {
  auto last = reinterpret_cast<std::intptr_t>(of.weights);
  Steps& steps = of.weight_steps;
  for (const auto& [step, size] :
       {std::pair{&steps.depth, of.filter.depth}, std::pair{&steps.row, of.filter.row},
        std::pair{&steps.column, of.filter.column}}) {
    last += *step * (size - 1);
    *step = -*step;
  }
  of.weights = reinterpret_cast<const void*>(last);
}

void register_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::array names = {kernel_name(blas::Element::kF32), kernel_name(blas::Element::kF16),
                              kernel_name(blas::Element::kBf16)};
    blas::register_own(convolution_fatbin(), names);
  });
}

}  // namespace

std::optional<std::int64_t> output_size(std::int64_t input, std::int64_t filter,
                                        const Window& window, int axis) {
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t reach = (filter - 1) * window.dilations[at] + 1;
  const std::int64_t room = input + 2 * std::int64_t{window.pads[at]} - reach;
  if (room < 0) return std::nullopt;
  return room / window.strides[at] + 1;
}

Status check(const Convolution& of) {
  const bool is_whole = of.x.tensor != nullptr && of.y.tensor != nullptr && of.filter != nullptr &&
                        of.window != nullptr && (of.beta == 0 || of.z.tensor != nullptr);
  if (!is_whole) return Status::kBadParameter;
  const Status status = check_kind(of);
  return status == Status::kSuccess ? check_sizes(of) : status;
}

Status convolve(void* stream, const Convolution& of) {
  const Status status = check(of);
  if (status != Status::kSuccess) return status;
  const bool has_memory = of.x.data != nullptr && of.y.data != nullptr && of.weights != nullptr &&
                          (of.beta == 0 || of.z.data != nullptr) &&
                          (of.bias == nullptr || of.bias_data != nullptr);
  if (!has_memory) return Status::kBadParameter;
  register_kernels();
  ConvolutionArguments arguments = arguments_of(of);
  if (static_cast<Mode>(of.window->mode) == Mode::kConvolution) mirror(arguments);
  const void* bias = of.bias != nullptr ? of.bias_data : nullptr;
  float alpha = of.alpha;
  float beta = of.beta;
  auto activation = static_cast<std::uint32_t>(of.activation);
  const std::int64_t blocks = (arguments.points + kBlockThreads - 1) / kBlockThreads;
  if (blocks > std::numeric_limits<std::int32_t>::max()) return Status::kBadParameter;
  std::array<void*, 5> places = {&bias, &alpha, &beta, &activation, &arguments};
  const bool is_launched =
      blas::launch_own(kernel_name(*element_of(of.y.tensor->type)),
                       {static_cast<unsigned>(blocks), static_cast<unsigned>(of.y.tensor->sizes[1]),
                        static_cast<unsigned>(of.y.tensor->sizes[0])},
                       {static_cast<unsigned>(kBlockThreads), 1, 1}, places, stream);
  return is_launched ? Status::kSuccess : Status::kExecutionFailed;
}

}  // namespace sluice::guest::dnn

// Descriptions of tensors, filters, windows and activations: what a program sets, checked alone.
#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include "guest/dnn/dnn.h"

namespace sluice::guest::dnn {
namespace {

/// Calls `use` with what a program holds. Fails: kBadParameter for null.
template <typename T, typename Use>
int with(void* of, const Use& use) {
  if (of == nullptr) return static_cast<int>(Status::kBadParameter);
  return static_cast<int>(use(*static_cast<T*>(of)));
}

template <typename T>
int create(void** to) {
  if (to == nullptr) return static_cast<int>(Status::kBadParameter);
  *to = new (std::nothrow) T;
  return static_cast<int>(*to != nullptr ? Status::kSuccess : Status::kAllocationFailed);
}

template <typename T>
int destroy(void* of) {
  delete static_cast<T*>(of);
  return static_cast<int>(Status::kSuccess);
}

/// Copies `count` numbers of at least `least`. False: one is missing, or lower.
bool take(const int* from, int count, int least, Sizes& to) {
  if (from == nullptr || std::any_of(from, from + count, [least](int of) { return of < least; })) {
    return false;
  }
  to = {};
  std::copy_n(from, count, to.begin());
  return true;
}

Status set(Tensor& to, int type, int rank, const int* sizes, const int* steps) {
  if (rank < 3 || rank > kMaxRank) return Status::kBadParameter;
  Tensor made = {.type = type, .rank = rank};
  if (!take(sizes, rank, 1, made.sizes) || !take(steps, rank, 0, made.steps)) {
    return Status::kBadParameter;
  }
  to = made;
  return Status::kSuccess;
}

Status set(Filter& to, int type, int format, int rank, const int* sizes) {
  if (rank < 3 || rank > kMaxRank) return Status::kBadParameter;
  Filter made = {.type = type, .format = format, .rank = rank};
  if (!take(sizes, rank, 1, made.sizes)) return Status::kBadParameter;
  to = made;
  return Status::kSuccess;
}

struct WindowNumbers {
  int rank;
  const int* pads;
  const int* strides;
  const int* dilations;
};

Status set(Window& to, const WindowNumbers& numbers, int mode, int compute) {
  if (numbers.rank < 1 || numbers.rank > kMaxRank - 2 || mode < 0 || mode > 1) {
    return Status::kBadParameter;
  }
  Window made = {.rank = numbers.rank, .mode = mode, .compute = compute};
  if (!take(numbers.pads, numbers.rank, 0, made.pads) ||
      !take(numbers.strides, numbers.rank, 1, made.strides) ||
      !take(numbers.dilations, numbers.rank, 1, made.dilations)) {
    return Status::kBadParameter;
  }
  made.math = to.math;
  made.groups = to.groups;
  to = made;
  return Status::kSuccess;
}

/// Sizes of an output: items, channels, and each axis of the window.
Status output_sizes(const void* window, const void* input, const void* filter, int rank,
                    int* sizes) {
  if (window == nullptr || input == nullptr || filter == nullptr || sizes == nullptr) {
    return Status::kBadParameter;
  }
  const auto& by = *static_cast<const Window*>(window);
  const auto& x = *static_cast<const Tensor*>(input);
  const auto& w = *static_cast<const Filter*>(filter);
  if (by.rank + 2 != rank || x.rank != rank || w.rank != rank) return Status::kBadParameter;
  sizes[0] = x.sizes[0];
  sizes[1] = w.sizes[0];
  for (int axis = 0; axis < by.rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis + 2);
    const auto size = output_size(x.sizes[at], w.sizes[at], by, axis);
    if (!size || *size > std::numeric_limits<int>::max()) return Status::kBadParameter;
    sizes[at] = static_cast<int>(*size);
  }
  return Status::kSuccess;
}

}  // namespace
}  // namespace sluice::guest::dnn

using sluice::guest::dnn::ActivationKind;
using sluice::guest::dnn::Filter;
using sluice::guest::dnn::Format;
using sluice::guest::dnn::give;
using sluice::guest::dnn::refuse;
using sluice::guest::dnn::Status;
using sluice::guest::dnn::Tensor;
using sluice::guest::dnn::Window;

SLUICE_GUEST_DNN_EXPORT int cudnnCreateTensorDescriptor(void** to) {
  return sluice::guest::dnn::create<Tensor>(to);
}
SLUICE_GUEST_DNN_EXPORT int cudnnDestroyTensorDescriptor(void* of) {
  return sluice::guest::dnn::destroy<Tensor>(of);
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetTensorNdDescriptor(void* of, int type, int rank,
                                                       const int* sizes, const int* steps) {
  return sluice::guest::dnn::with<Tensor>(
      of, [&](Tensor& to) { return sluice::guest::dnn::set(to, type, rank, sizes, steps); });
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetTensor4dDescriptor(void* of, int format, int type, int items,
                                                       int channels, int rows, int columns) {
  const int sizes[] = {items, channels, rows, columns};
  const bool is_nchw = static_cast<Format>(format) == Format::kNchw;
  if (!is_nchw && static_cast<Format>(format) != Format::kNhwc) {
    return static_cast<int>(refuse("cudnnTensorFormat_t " + std::to_string(format)));
  }
  const std::int64_t plane = std::int64_t{rows} * columns;
  const std::int64_t item = plane * channels;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (rows < 1 || columns < 1 || channels < 1 || plane > kMost || item > kMost) {
    return static_cast<int>(Status::kBadParameter);
  }
  const int by_planes[] = {static_cast<int>(item), static_cast<int>(plane), columns, 1};
  const int by_points[] = {static_cast<int>(item), 1, columns * channels, channels};
  return cudnnSetTensorNdDescriptor(of, type, 4, sizes, is_nchw ? by_planes : by_points);
}
SLUICE_GUEST_DNN_EXPORT int cudnnGetTensorNdDescriptor(const void* of, int room, int* type,
                                                       int* rank, int* sizes, int* steps) {
  const auto* const tensor = static_cast<const Tensor*>(of);
  if (tensor == nullptr || room < 0 || sizes == nullptr || steps == nullptr) {
    return static_cast<int>(Status::kBadParameter);
  }
  std::copy_n(tensor->sizes.begin(), std::min(room, tensor->rank), sizes);
  std::copy_n(tensor->steps.begin(), std::min(room, tensor->rank), steps);
  give(tensor->type, type);
  return static_cast<int>(give(tensor->rank, rank));
}

SLUICE_GUEST_DNN_EXPORT int cudnnCreateFilterDescriptor(void** to) {
  return sluice::guest::dnn::create<Filter>(to);
}
SLUICE_GUEST_DNN_EXPORT int cudnnDestroyFilterDescriptor(void* of) {
  return sluice::guest::dnn::destroy<Filter>(of);
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetFilterNdDescriptor(void* of, int type, int format, int rank,
                                                       const int* sizes) {
  return sluice::guest::dnn::with<Filter>(
      of, [&](Filter& to) { return sluice::guest::dnn::set(to, type, format, rank, sizes); });
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetFilter4dDescriptor(void* of, int type, int format, int outputs,
                                                       int inputs, int rows, int columns) {
  const int sizes[] = {outputs, inputs, rows, columns};
  return cudnnSetFilterNdDescriptor(of, type, format, 4, sizes);
}
SLUICE_GUEST_DNN_EXPORT int cudnnGetFilterNdDescriptor(const void* of, int room, int* type,
                                                       int* format, int* rank, int* sizes) {
  const auto* const filter = static_cast<const Filter*>(of);
  if (filter == nullptr || room < 0 || sizes == nullptr) {
    return static_cast<int>(Status::kBadParameter);
  }
  std::copy_n(filter->sizes.begin(), std::min(room, filter->rank), sizes);
  give(filter->type, type);
  give(filter->format, format);
  return static_cast<int>(give(filter->rank, rank));
}

SLUICE_GUEST_DNN_EXPORT int cudnnCreateConvolutionDescriptor(void** to) {
  return sluice::guest::dnn::create<Window>(to);
}
SLUICE_GUEST_DNN_EXPORT int cudnnDestroyConvolutionDescriptor(void* of) {
  return sluice::guest::dnn::destroy<Window>(of);
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetConvolutionNdDescriptor(void* of, int rank, const int* pads,
                                                            const int* strides,
                                                            const int* dilations, int mode,
                                                            int compute) {
  return sluice::guest::dnn::with<Window>(of, [&](Window& to) {
    return sluice::guest::dnn::set(to, {rank, pads, strides, dilations}, mode, compute);
  });
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetConvolution2dDescriptor(void* of, int pad_rows, int pad_columns,
                                                            int row_stride, int column_stride,
                                                            int row_dilation, int column_dilation,
                                                            int mode, int compute) {
  const int pads[] = {pad_rows, pad_columns};
  const int strides[] = {row_stride, column_stride};
  const int dilations[] = {row_dilation, column_dilation};
  return cudnnSetConvolutionNdDescriptor(of, 2, pads, strides, dilations, mode, compute);
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetConvolutionGroupCount(void* of, int groups) {
  return sluice::guest::dnn::with<Window>(of, [groups](Window& to) {
    if (groups < 1) return Status::kBadParameter;
    to.groups = groups;
    return Status::kSuccess;
  });
}
/// Sums are of f32, and factors are never rounded, whatever it allows.
SLUICE_GUEST_DNN_EXPORT int cudnnSetConvolutionMathType(void* of, int math) {
  return sluice::guest::dnn::with<Window>(of, [math](Window& to) {
    to.math = math;
    return Status::kSuccess;
  });
}
SLUICE_GUEST_DNN_EXPORT int cudnnGetConvolutionNdForwardOutputDim(const void* window,
                                                                  const void* input,
                                                                  const void* filter, int rank,
                                                                  int* sizes) {
  return static_cast<int>(sluice::guest::dnn::output_sizes(window, input, filter, rank, sizes));
}
SLUICE_GUEST_DNN_EXPORT int cudnnGetConvolution2dForwardOutputDim(const void* window,
                                                                  const void* input,
                                                                  const void* filter, int* items,
                                                                  int* channels, int* rows,
                                                                  int* columns) {
  int sizes[4] = {};
  const Status status = sluice::guest::dnn::output_sizes(window, input, filter, 4, sizes);
  if (status != Status::kSuccess) return static_cast<int>(status);
  give(sizes[0], items);
  give(sizes[1], channels);
  give(sizes[2], rows);
  return static_cast<int>(give(sizes[3], columns));
}

SLUICE_GUEST_DNN_EXPORT int cudnnCreateActivationDescriptor(void** to) {
  return sluice::guest::dnn::create<ActivationKind>(to);
}
SLUICE_GUEST_DNN_EXPORT int cudnnDestroyActivationDescriptor(void* of) {
  return sluice::guest::dnn::destroy<ActivationKind>(of);
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetActivationDescriptor(void* of, int mode, int nan,
                                                         double coefficient) {
  return sluice::guest::dnn::with<ActivationKind>(of, [&](ActivationKind& to) {
    to = {mode, nan, coefficient};
    return Status::kSuccess;
  });
}

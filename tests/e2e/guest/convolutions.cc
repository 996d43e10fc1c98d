// Convolutions by cuDNN's interface, without a CUDA toolkit. Numbers are small and whole, so
// results are exact and equal the host's in every type.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/e2e/guest/matrices.h"

extern "C" {  // names and arguments of cuDNN 9
// NOLINTBEGIN(readability-identifier-naming)
int cudaStreamCreate(void** stream);
int cudaStreamSynchronize(void* stream);
const char* cudnnGetErrorString(int status);
int cudnnCreate(void** handle);
int cudnnDestroy(void* handle);
int cudnnSetStream(void* handle, void* stream);
int cudnnCreateTensorDescriptor(void** to);
int cudnnDestroyTensorDescriptor(void* of);
int cudnnSetTensorNdDescriptor(void* of, int type, int rank, const int* sizes, const int* steps);
int cudnnCreateFilterDescriptor(void** to);
int cudnnDestroyFilterDescriptor(void* of);
int cudnnSetFilterNdDescriptor(void* of, int type, int format, int rank, const int* sizes);
int cudnnCreateConvolutionDescriptor(void** to);
int cudnnDestroyConvolutionDescriptor(void* of);
int cudnnSetConvolutionNdDescriptor(void* of, int rank, const int* pads, const int* strides,
                                    const int* dilations, int mode, int compute);
int cudnnSetConvolutionGroupCount(void* of, int groups);
int cudnnGetConvolutionNdForwardOutputDim(const void* window, const void* input, const void* filter,
                                          int rank, int* sizes);
int cudnnCreateActivationDescriptor(void** to);
int cudnnDestroyActivationDescriptor(void* of);
int cudnnSetActivationDescriptor(void* of, int mode, int nan, double coefficient);
int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, const void* x, const void* filter,
                                           const void* window, const void* y, int room, int* count,
                                           void* found);
int cudnnGetConvolutionForwardWorkspaceSize(void* handle, const void* x, const void* filter,
                                            const void* window, const void* y, int algorithm,
                                            std::size_t* bytes);
int cudnnConvolutionForward(void* handle, const void* alpha, const void* x, const void* x_data,
                            const void* filter, const void* weights, const void* window,
                            int algorithm, void* workspace, std::size_t workspace_bytes,
                            const void* beta, const void* y, void* y_data);
int cudnnConvolutionBiasActivationForward(void* handle, const void* alpha, const void* x,
                                          const void* x_data, const void* filter,
                                          const void* weights, const void* window, int algorithm,
                                          void* workspace, std::size_t workspace_bytes,
                                          const void* beta, const void* z, const void* z_data,
                                          const void* bias, const void* bias_data,
                                          const void* activation, const void* y, void* y_data);
int cudnnPoolingForward(void* handle);
// NOLINTEND(readability-identifier-naming)
}

namespace {

using namespace sluice::guest;  // NOLINT(google-build-using-namespace): one file, one program

constexpr int kDnnBf16 = 9;
constexpr int kCrossCorrelation = 1;
constexpr int kRelu = 1;
constexpr int kTanh = 2;
constexpr int kIdentity = 5;

/// cudnnConvolutionFwdAlgoPerf_t
struct Found {
  int algorithm, status;
  float milliseconds;
  std::size_t workspace_bytes;
  int determinism, math, reserved[3];
};

/// Axes of a window: depth, rows, columns. A window of two has depth 1.
using Axes = std::array<int, 3>;

struct Case {
  int rank;  ///< of the window
  int type;
  bool is_by_points;  ///< channels of a point lie side by side
  int mode;
  int items, channels, outputs, groups;
  Axes input, filter, pads, strides, dilations;
  float alpha, beta;
  int activation;  ///< 0: a call without bias and activation
};

Case plain_case() {
  return {2,         kF32,      false,     kCrossCorrelation, 2,         4, 6, 1,
          {1, 7, 5}, {1, 3, 2}, {0, 0, 0}, {1, 1, 1},         {1, 1, 1}, 1, 0, 0};
}

int points_of(const Axes& of) { return of[0] * of[1] * of[2]; }

/// A tensor of items, channels and axes; also of weights: of output channels, channels, a window.
class Tensor {
 public:
  Tensor(int type, bool is_by_points, int items, int channels, const Axes& axes)
      : values(type, items * channels * points_of(axes), 1, 1),
        is_by_points_(is_by_points),
        channels_(channels),
        sizes_{items, channels, axes[0], axes[1], axes[2]} {}

  /// Elements from one to the next along each axis.
  std::array<int, 5> steps() const {
    const int points = sizes_[2] * sizes_[3] * sizes_[4];
    const int column = is_by_points_ ? channels_ : 1;
    return {channels_ * points, is_by_points_ ? 1 : points, column * sizes_[3] * sizes_[4],
            column * sizes_[4], column};
  }
  float& at(int item, int channel, int depth, int row, int column) {
    const auto by = steps();
    return values.at(item * by[0] + channel * by[1] + depth * by[2] + row * by[3] + column * by[4],
                     0, 0);
  }
  /// As cuDNN wants them: a window of two axes has no depth.
  std::vector<int> without_depth(const std::array<int, 5>& of, int rank) const {
    std::vector<int> made(of.begin(), of.end());
    if (rank == 2) made.erase(made.begin() + 2);
    return made;
  }
  std::vector<int> sizes(int rank) const { return without_depth(sizes_, rank); }
  std::vector<int> steps(int rank) const { return without_depth(steps(), rank); }

  Matrix values;

 private:
  bool is_by_points_;
  int channels_;
  std::array<int, 5> sizes_;
};

int dnn_type(int type) { return type == kBf16 ? kDnnBf16 : type; }

Axes output_of(const Case& of) {
  Axes output = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const int reach = (of.filter[i] - 1) * of.dilations[i] + 1;
    output[i] = (of.input[i] + 2 * of.pads[i] - reach) / of.strides[i] + 1;
  }
  return output;
}

/// What a convolution reads and writes, with its descriptions.
struct Operands {
  explicit Operands(const Case& of)
      : x(of.type, of.is_by_points, of.items, of.channels, of.input),
        w(of.type, of.is_by_points, of.outputs, of.channels / of.groups, of.filter),
        y(of.type, of.is_by_points, of.items, of.outputs, output_of(of)),
        z(of.type, of.is_by_points, of.items, of.outputs, output_of(of)),
        bias(of.type, false, 1, of.outputs, {1, 1, 1}) {
    unsigned seed = 0;
    for (Tensor* each : {&x, &w, &y, &z, &bias}) each->values.fill(++seed);
    describe(of);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;
  ~Operands() {
    for (void* each : {of_x, of_y, of_bias}) cudnnDestroyTensorDescriptor(each);
    cudnnDestroyFilterDescriptor(of_w);
    cudnnDestroyConvolutionDescriptor(window);
    cudnnDestroyActivationDescriptor(activation);
  }
  bool upload() {
    return x.values.upload() && w.values.upload() && y.values.upload() && z.values.upload() &&
           bias.values.upload();
  }

  Tensor x, w, y, z, bias;
  void* of_x = nullptr;
  void* of_w = nullptr;
  void* of_y = nullptr;
  void* of_bias = nullptr;
  void* window = nullptr;
  void* activation = nullptr;

 private:
  void describe(const Case& of) {
    const int type = dnn_type(of.type);
    const auto tensor = [&](void** to, const Tensor& like) {
      cudnnCreateTensorDescriptor(to);
      cudnnSetTensorNdDescriptor(*to, type, of.rank + 2, like.sizes(of.rank).data(),
                                 like.steps(of.rank).data());
    };
    tensor(&of_x, x);
    tensor(&of_y, y);
    tensor(&of_bias, bias);
    cudnnCreateFilterDescriptor(&of_w);
    cudnnSetFilterNdDescriptor(of_w, type, of.is_by_points ? 1 : 0, of.rank + 2,
                               w.sizes(of.rank).data());
    cudnnCreateConvolutionDescriptor(&window);
    const std::size_t first = of.rank == 2 ? 1 : 0;
    cudnnSetConvolutionNdDescriptor(window, of.rank, &of.pads[first], &of.strides[first],
                                    &of.dilations[first], of.mode, kF32);
    cudnnSetConvolutionGroupCount(window, of.groups);
    cudnnCreateActivationDescriptor(&activation);
    cudnnSetActivationDescriptor(activation, of.activation, 0, 0);
  }
};

/// The sum of an output channel at a point.
float sum_on_host(const Case& of, Operands* on, int item, int output, const Axes& point) {
  const int inputs = of.channels / of.groups;
  const int first = output / (of.outputs / of.groups) * inputs;
  float sum = 0;
  for (int channel = 0; channel < inputs; ++channel) {
    for (int i = 0; i < points_of(of.filter); ++i) {
      Axes at = {i / of.filter[2] / of.filter[1], i / of.filter[2] % of.filter[1],
                 i % of.filter[2]};
      Axes in = {};
      bool is_inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        in[axis] = point[axis] * of.strides[axis] - of.pads[axis] + at[axis] * of.dilations[axis];
        is_inside = is_inside && in[axis] >= 0 && in[axis] < of.input[axis];
        if (of.mode != kCrossCorrelation) at[axis] = of.filter[axis] - 1 - at[axis];
      }
      if (!is_inside) continue;
      sum += on->x.at(item, first + channel, in[0], in[1], in[2]) *
             on->w.at(output, channel, at[0], at[1], at[2]);
    }
  }
  return sum;
}

void compute_on_host(const Case& of, Operands* on) {
  const Axes size = output_of(of);
  for (int item = 0; item < of.items; ++item) {
    for (int output = 0; output < of.outputs; ++output) {
      for (int i = 0; i < points_of(size); ++i) {
        const Axes at = {i / size[2] / size[1], i / size[2] % size[1], i % size[2]};
        float& y = on->y.at(item, output, at[0], at[1], at[2]);
        const float addend = of.activation == 0 ? y : on->z.at(item, output, at[0], at[1], at[2]);
        float value = of.alpha * sum_on_host(of, on, item, output, at) + of.beta * addend;
        if (of.activation != 0) value += on->bias.at(0, output, 0, 0, 0);
        y = of.activation == kRelu ? std::max(value, 0.0F) : value;
      }
    }
  }
}

int convolve(void* handle, const Case& of, const Operands& on) {
  if (of.activation == 0) {
    return cudnnConvolutionForward(handle, &of.alpha, on.of_x, on.x.values.device(), on.of_w,
                                   on.w.values.device(), on.window, 0, nullptr, 0, &of.beta,
                                   on.of_y, on.y.values.device());
  }
  return cudnnConvolutionBiasActivationForward(
      handle, &of.alpha, on.of_x, on.x.values.device(), on.of_w, on.w.values.device(), on.window, 0,
      nullptr, 0, &of.beta, on.of_y, on.z.values.device(), on.of_bias, on.bias.values.device(),
      on.activation, on.of_y, on.y.values.device());
}

bool is_status(const char* what, int got, const char* want) {
  if (std::strcmp(cudnnGetErrorString(got), want) == 0) return true;
  std::printf("%s: %s, not %s\n", what, cudnnGetErrorString(got), want);
  return false;
}

bool agrees(const char* what, void* handle, void* stream, const Case& of) {
  Operands on(of);
  if (!on.upload()) return false;
  compute_on_host(of, &on);
  std::vector<int> sizes(static_cast<std::size_t>(of.rank) + 2);
  cudnnGetConvolutionNdForwardOutputDim(on.window, on.of_x, on.of_w, of.rank + 2, sizes.data());
  Found found = {};
  int count = 0;
  bool is_right = sizes == on.y.sizes(of.rank);
  is_right &= is_status(what,
                        cudnnGetConvolutionForwardAlgorithm_v7(handle, on.of_x, on.of_w, on.window,
                                                               on.of_y, 1, &count, &found),
                        "CUDNN_STATUS_SUCCESS");
  is_right &= count == 1 && is_status(what, convolve(handle, of, on), "CUDNN_STATUS_SUCCESS");
  is_right = is_right && cudaStreamSynchronize(stream) == 0 && on.y.values.is_equal();
  if (!is_right) std::printf("%s is wrong\n", what);
  return is_right;
}

bool computes_rightly(void* handle, void* stream) {
  bool is_right = agrees("a plain one", handle, stream, plain_case());
  for (const int type : {kF32, kF16, kBf16}) {
    for (const bool is_by_points : {false, true}) {
      for (const int mode : {0, kCrossCorrelation}) {
        Case of = plain_case();
        of.type = type;
        of.is_by_points = is_by_points;
        of.mode = mode;
        of.pads = {0, 2, 1};
        of.strides = {1, 2, 1};
        of.dilations = {1, 1, 2};
        of.groups = 2;
        is_right &= agrees("one of two groups", handle, stream, of);
        of.activation = kRelu;
        of.beta = -1;
        is_right &= agrees("one with addend, bias and ReLU", handle, stream, of);
      }
    }
  }
  Case deep = plain_case();
  deep.rank = 3;
  deep.input = {4, 5, 6};
  deep.filter = {2, 1, 3};
  deep.pads = {1, 0, 1};
  deep.strides = {2, 1, 1};
  deep.alpha = 2;
  deep.beta = 1;
  is_right &= agrees("one of three axes", handle, stream, deep);
  deep.mode = 0;
  deep.activation = kIdentity;
  is_right &= agrees("one of three axes, from its end", handle, stream, deep);
  Case by_channel = plain_case();
  by_channel.groups = by_channel.channels = by_channel.outputs = 5;
  by_channel.input = {1, 20, 15};  // more points than a block has threads
  return is_right & agrees("one by channel", handle, stream, by_channel);
}

/// The status of a convolution of which `change` changes one thing.
template <typename Change>
int status_with(void* handle, const Change& change) {
  Case of = plain_case();
  of.activation = kRelu;
  Operands on(of);
  if (!on.upload()) return -1;
  change(on);
  return convolve(handle, of, on);
}

bool meets_wrong_values(void* handle) {
  const auto window = [](Operands& on, const std::array<int, 2>& pads, int mode, int compute) {
    const std::array<int, 2> ones = {1, 1};
    return cudnnSetConvolutionNdDescriptor(on.window, 2, pads.data(), ones.data(), ones.data(),
                                           mode, compute);
  };
  const auto y = [](Operands& on, int type, std::array<int, 4> sizes) {
    const std::array<int, 4> steps = {90, 15, 3, 1};
    cudnnSetTensorNdDescriptor(on.of_y, type, 4, sizes.data(), steps.data());
  };
  bool is_right =
      is_status("nothing changed", status_with(handle, [](Operands&) {}), "CUDNN_STATUS_SUCCESS");
  is_right &= is_status("no handle", status_with(nullptr, [](Operands&) {}),
                        "CUDNN_STATUS_NOT_INITIALIZED");
  const auto bad = [&](const char* what, const auto& change) {
    is_right &= is_status(what, status_with(handle, change), "CUDNN_STATUS_BAD_PARAM");
  };
  bad("another output", [&](Operands& on) { y(on, kF32, {2, 6, 5, 3}); });
  bad("other channels", [&](Operands& on) { y(on, kF32, {2, 5, 5, 4}); });
  bad("another type", [&](Operands& on) { y(on, kF16, {2, 6, 5, 4}); });
  bad("wider pads", [&](Operands& on) { window(on, {1, 1}, kCrossCorrelation, kF32); });
  bad("groups", [&](Operands& on) { cudnnSetConvolutionGroupCount(on.window, 3); });
  bad("a filter too large", [&](Operands& on) {
    constexpr int kMost = 0x7fffffff;
    const std::array<int, 4> sizes = {kMost, kMost, kMost, kMost};
    cudnnSetFilterNdDescriptor(on.of_w, kF32, 0, 4, sizes.data());
  });
  const auto lacks = [&](const char* what, const auto& change) {
    is_right &= is_status(what, status_with(handle, change), "CUDNN_STATUS_NOT_SUPPORTED");
  };
  lacks("sums of f64", [&](Operands& on) { window(on, {0, 0}, kCrossCorrelation, 1); });
  lacks("tanh", [](Operands& on) { cudnnSetActivationDescriptor(on.activation, kTanh, 0, 0); });
  lacks("vectors of channels", [](Operands& on) {
    cudnnSetFilterNdDescriptor(on.of_w, kF32, 2, 4, on.w.sizes(2).data());
  });
  is_right &= is_status("pooling", cudnnPoolingForward(handle), "CUDNN_STATUS_NOT_SUPPORTED");
  return is_right;
}

bool meets_wrong_descriptions(void* handle) {
  Operands on(plain_case());
  std::array<int, 9> sizes = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto tensor = [&](void* of, int rank, const int* from) {
    return cudnnSetTensorNdDescriptor(of, kF32, rank, from, from);
  };
  std::size_t bytes = 7;
  bool is_right = true;
  const auto bad = [&](const char* what, int status) {
    is_right &= is_status(what, status, "CUDNN_STATUS_BAD_PARAM");
  };
  bad("no description", tensor(nullptr, 4, sizes.data()));
  bad("no sizes", tensor(on.of_x, 4, nullptr));
  bad("nine axes", tensor(on.of_x, 9, sizes.data()));
  bad("no room", cudnnCreateTensorDescriptor(nullptr));
  bad("no groups", cudnnSetConvolutionGroupCount(on.window, 0));
  bad("no algorithms", cudnnGetConvolutionForwardAlgorithm_v7(handle, on.of_x, on.of_w, on.window,
                                                              on.of_y, 0, nullptr, nullptr));
  sizes[2] = 0;
  bad("an empty axis", tensor(on.of_x, 4, sizes.data()));
  is_right &= is_status("workspace",
                        cudnnGetConvolutionForwardWorkspaceSize(handle, on.of_x, on.of_w, on.window,
                                                                on.of_y, 1, &bytes),
                        "CUDNN_STATUS_SUCCESS");
  return is_right && bytes == 0;
}

}  // namespace

int main() {
  void* handle = nullptr;
  void* stream = nullptr;
  if (cudnnCreate(&handle) != 0 || cudaStreamCreate(&stream) != 0) return 2;
  bool is_right = meets_wrong_values(handle);
  is_right &= meets_wrong_descriptions(handle);
  is_right &= computes_rightly(handle, nullptr);
  cudnnSetStream(handle, stream);
  is_right &= computes_rightly(handle, stream);
  cudnnDestroy(handle);
  std::printf(is_right ? "right\n" : "wrong\n");
  return is_right ? 0 : 1;
}

// Two layers by cuDNN, as its header declares it: a strided convolution with bias and ReLU, and one
// by channel whose result is added to it; a kernel of the program's own between them.
#include <cudnn.h>

#include "check.cuh"

#define CHECK_DNN(call)                                            \
  do {                                                             \
    const cudnnStatus_t status = (call);                           \
    if (status != CUDNN_STATUS_SUCCESS) {                          \
      std::printf("%s: %s\n", #call, cudnnGetErrorString(status)); \
      std::exit(1);                                                \
    }                                                              \
  } while (false)

constexpr int kItems = 2;
constexpr int kInputs = 3;
constexpr int kOutputs = 8;
constexpr int kEdge = 13;
constexpr int kHalfEdge = 7;
constexpr int kWindow = 3;

__global__ void scale(float* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

cudnnTensorDescriptor_t tensor(int items, int channels, int edge) {
  cudnnTensorDescriptor_t made = nullptr;
  CHECK_DNN(cudnnCreateTensorDescriptor(&made));
  CHECK_DNN(cudnnSetTensor4dDescriptor(made, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, items, channels,
                                       edge, edge));
  return made;
}

cudnnFilterDescriptor_t filter(int outputs, int inputs) {
  cudnnFilterDescriptor_t made = nullptr;
  CHECK_DNN(cudnnCreateFilterDescriptor(&made));
  CHECK_DNN(cudnnSetFilter4dDescriptor(made, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, outputs, inputs,
                                       kWindow, kWindow));
  return made;
}

cudnnConvolutionDescriptor_t window(int stride, int groups) {
  cudnnConvolutionDescriptor_t made = nullptr;
  CHECK_DNN(cudnnCreateConvolutionDescriptor(&made));
  CHECK_DNN(cudnnSetConvolution2dDescriptor(made, 1, 1, stride, stride, 1, 1,
                                            CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  CHECK_DNN(cudnnSetConvolutionGroupCount(made, groups));
  CHECK_DNN(cudnnSetConvolutionMathType(made, CUDNN_FMA_MATH));
  return made;
}

/// The sum of a window around (row, column) of a channel, beside which lies padding.
double sum_at(const float* channel, int edge, const float* weights, int row, int column) {
  double sum = 0;
  for (int i = 0; i < kWindow * kWindow; ++i) {
    const int y = row - 1 + i / kWindow;
    const int x = column - 1 + i % kWindow;
    if (y < 0 || y >= edge || x < 0 || x >= edge) continue;
    sum += static_cast<double>(channel[y * edge + x]) * weights[i];
  }
  return sum;
}

int main() {
  const std::vector<float> values = make_values(kItems * kInputs * kEdge * kEdge, 1);
  const std::vector<float> first = make_values(kOutputs * kInputs * kWindow * kWindow, 2);
  const std::vector<float> second = make_values(kOutputs * kWindow * kWindow, 3);
  const std::vector<float> bias = make_values(kOutputs, 4);
  constexpr int kPlane = kHalfEdge * kHalfEdge;
  constexpr int kCount = kItems * kOutputs * kPlane;
  float* hidden = to_device(std::vector<float>(kCount));
  float* outputs = to_device(std::vector<float>(kCount, 1));
  cudnnHandle_t handle = nullptr;
  CHECK_DNN(cudnnCreate(&handle));
  const cudnnTensorDescriptor_t x = tensor(kItems, kInputs, kEdge);
  const cudnnTensorDescriptor_t y = tensor(kItems, kOutputs, kHalfEdge);
  const cudnnTensorDescriptor_t biases = tensor(1, kOutputs, 1);
  cudnnActivationDescriptor_t relu = nullptr;
  CHECK_DNN(cudnnCreateActivationDescriptor(&relu));
  CHECK_DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
  const cudnnFilterDescriptor_t first_filter = filter(kOutputs, kInputs);
  const cudnnConvolutionDescriptor_t strided = window(2, 1);
  int count = 0;
  cudnnConvolutionFwdAlgoPerf_t found = {};
  CHECK_DNN(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, first_filter, strided, y, 1, &count,
                                                   &found));
  const float one = 1;
  const float zero = 0;
  CHECK_DNN(cudnnConvolutionBiasActivationForward(
      handle, &one, x, to_device(values), first_filter, to_device(first), strided, found.algo,
      nullptr, found.memory, &zero, y, hidden, biases, to_device(bias), relu, y, hidden));
  scale<<<(kCount + 63) / 64, 64>>>(hidden, 2, kCount);
  CHECK_DNN(cudnnConvolutionForward(handle, &one, y, hidden, filter(kOutputs, 1), to_device(second),
                                    window(1, kOutputs), found.algo, nullptr, 0, &one, y, outputs));
  CHECK_DNN(cudnnDestroy(handle));

  std::vector<float> want;
  for (int at = 0; at < kItems * kOutputs; ++at) {
    const int output = at % kOutputs;
    std::vector<float> layer;
    for (int i = 0; i < kPlane; ++i) {
      double sum = bias[output];
      for (int input = 0; input < kInputs; ++input) {
        sum += sum_at(&values[(at / kOutputs * kInputs + input) * kEdge * kEdge], kEdge,
                      &first[(output * kInputs + input) * kWindow * kWindow], i / kHalfEdge * 2,
                      i % kHalfEdge * 2);
      }
      layer.push_back(static_cast<float>(2 * std::fmax(sum, 0)));
    }
    for (int i = 0; i < kPlane; ++i) {
      want.push_back(static_cast<float>(1 + sum_at(layer.data(), kHalfEdge,
                                                   &second[output * kWindow * kWindow],
                                                   i / kHalfEdge, i % kHalfEdge)));
    }
  }
  return compare(to_host(outputs, kCount), want, 1e-5);
}

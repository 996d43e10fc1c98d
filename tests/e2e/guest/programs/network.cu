// A small network for images: convolution, ReLU, pooling, a dense layer; four streams, an image
// each.
#include "check.cuh"

constexpr int kSize = 12;
constexpr int kChannels = 4;
constexpr int kPooled = (kSize - 2) / 2;
constexpr int kFeatures = kChannels * kPooled * kPooled;
constexpr int kClasses = 10;

__host__ __device__ float pooled_at(const float* image, const float* kernel, int channel, int y,
                                    int x) {
  float largest = 0;  // ReLU
  for (int dy = 0; dy < 2; ++dy) {
    for (int dx = 0; dx < 2; ++dx) {
      float sum = 0;
      for (int k = 0; k < 9; ++k) {
        sum += image[(2 * y + dy + k / 3) * kSize + 2 * x + dx + k % 3] * kernel[channel * 9 + k];
      }
      largest = sum > largest ? sum : largest;
    }
  }
  return largest;
}

__global__ void convolve(const float* image, const float* kernel, float* features) {
  const int place = threadIdx.y * kPooled + threadIdx.x;
  features[blockIdx.x * kPooled * kPooled + place] =
      pooled_at(image, kernel, blockIdx.x, threadIdx.y, threadIdx.x);
}

__global__ void classify(const float* features, const float* weights, float* scores) {
  float sum = 0;
  for (int i = threadIdx.x; i < kFeatures; i += 32)
    sum += features[i] * weights[blockIdx.x * kFeatures + i];
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(~0U, sum, lane);
  if (threadIdx.x == 0) scores[blockIdx.x] = sum;
}

int main() {
  const int images = 4;
  const std::vector<float> kernel = make_values(kChannels * 9, 1);
  const std::vector<float> weights = make_values(kClasses * kFeatures, 2);
  const float* device_kernel = to_device(kernel);
  const float* device_weights = to_device(weights);
  std::vector<float> want;
  std::vector<float> got(images * kClasses);
  std::vector<cudaStream_t> streams(images);
  for (int n = 0; n < images; ++n) {
    const std::vector<float> image = make_values(kSize * kSize, 3 + n);
    float* in = nullptr;
    float* features = nullptr;
    float* scores = nullptr;
    CHECK(cudaStreamCreateWithFlags(&streams[n], cudaStreamNonBlocking));
    CHECK(cudaMallocAsync(&in, image.size() * sizeof(float), streams[n]));
    CHECK(cudaMallocAsync(&features, kFeatures * sizeof(float), streams[n]));
    CHECK(cudaMallocAsync(&scores, kClasses * sizeof(float), streams[n]));
    CHECK(cudaMemcpyAsync(in, image.data(), image.size() * sizeof(float), cudaMemcpyHostToDevice,
                          streams[n]));
    convolve<<<kChannels, dim3(kPooled, kPooled), 0, streams[n]>>>(in, device_kernel, features);
    classify<<<kClasses, 32, 0, streams[n]>>>(features, device_weights, scores);
    CHECK(cudaMemcpyAsync(&got[n * kClasses], scores, kClasses * sizeof(float),
                          cudaMemcpyDeviceToHost, streams[n]));
    for (int c = 0; c < kClasses; ++c) {
      double sum = 0;
      for (int i = 0; i < kFeatures; ++i) {
        const int place = i % (kPooled * kPooled);
        sum += static_cast<double>(weights[c * kFeatures + i]) *
               pooled_at(image.data(), kernel.data(), i / (kPooled * kPooled), place / kPooled,
                         place % kPooled);
      }
      want.push_back(static_cast<float>(sum));
    }
  }
  CHECK(cudaDeviceSynchronize());
  return compare(got, want, 1e-5);
}

// Parts of a vector through copies and kernels in several streams, ordered by events alone; then
// the default stream, which waits for the streams that block, and they for it.
#include "check.cuh"

__global__ void scale(float* values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

int main() {
  const int parts = 4;
  const int count = 5000;
  std::vector<float> want = make_values(parts * count);
  float* pinned = nullptr;
  float* device = nullptr;
  CHECK(cudaMallocHost(&pinned, want.size() * sizeof(float)));
  CHECK(cudaMalloc(&device, want.size() * sizeof(float)));
  for (std::size_t i = 0; i < want.size(); ++i) pinned[i] = want[i];
  cudaStream_t copies = nullptr;
  cudaStream_t kernels = nullptr;
  CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&kernels));
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(start, copies));
  for (int part = 0; part < parts; ++part) {
    float* target = device + part * count;
    cudaEvent_t copied = nullptr;
    CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    CHECK(cudaMemcpyAsync(target, pinned + part * count, count * sizeof(float),
                          cudaMemcpyHostToDevice, copies));
    CHECK(cudaEventRecord(copied, copies));
    CHECK(cudaStreamWaitEvent(kernels, copied, 0));
    scale<<<(count + 127) / 128, 128, 0, kernels>>>(target, static_cast<float>(part + 2), count);
    CHECK(cudaEventDestroy(copied));
  }
  CHECK(cudaEventRecord(end, kernels));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  if (milliseconds < 0) return 1;
  const int all = parts * count;
  scale<<<(all + 127) / 128, 128>>>(device, 2, all);              // behind `kernels`
  scale<<<(all + 127) / 128, 128, 0, kernels>>>(device, 3, all);  // behind the default stream
  for (int i = 0; i < all; ++i) want[i] = want[i] * static_cast<float>(i / count + 2) * 2 * 3;
  CHECK(cudaStreamSynchronize(kernels));
  CHECK(cudaStreamQuery(kernels));
  const std::vector<float> got = to_host(device, all);
  CHECK(cudaStreamDestroy(copies));
  CHECK(cudaStreamDestroy(kernels));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(device));
  return compare(got, want, 1e-6);
}

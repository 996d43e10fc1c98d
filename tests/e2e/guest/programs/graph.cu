// A graph captured from two streams that part and meet, launched several times.
#include "check.cuh"

__global__ void add(float* to, const float* from, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += factor * from[i];
}

int main() {
  const int count = 1000;
  const int launches = 3;
  const std::vector<float> values = make_values(count);
  float* in = to_device(values);
  float* left = nullptr;
  float* right = nullptr;
  CHECK(cudaMalloc(&left, count * sizeof(float)));
  CHECK(cudaMalloc(&right, count * sizeof(float)));
  cudaStream_t one = nullptr;
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  CHECK(cudaStreamCreate(&one));
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(left, 0, count * sizeof(float), one));
  CHECK(cudaEventRecord(fork, one));
  CHECK(cudaStreamWaitEvent(other, fork, 0));
  CHECK(cudaMemsetAsync(right, 0, count * sizeof(float), other));
  add<<<8, 128, 0, one>>>(left, in, 2, count);
  add<<<8, 128, 0, other>>>(right, in, 3, count);
  CHECK(cudaEventRecord(join, other));
  CHECK(cudaStreamWaitEvent(one, join, 0));
  add<<<8, 128, 0, one>>>(left, right, 1, count);
  add<<<8, 128, 0, one>>>(in, left, 1, count);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CHECK(cudaStreamIsCapturing(one, &status));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamEndCapture(one, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(exec, one));
  CHECK(cudaStreamSynchronize(one));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  std::vector<float> want = values;
  for (float& value : want) value *= 6 * 6 * 6;  // each launch adds 2 + 3 times the value
  if (status != cudaStreamCaptureStatusActive) return 1;
  return compare(to_host(in, count), want, 1e-5);
}

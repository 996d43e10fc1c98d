// Calls of the runtime that the other programs have no use for. It is also built with a default
// stream for each thread, which calls functions of other names.
#include <string>

#include "check.cuh"

__constant__ float factors[4];
__device__ float sums[4];

__global__ void scale(float* to, std::size_t pitch, int width, int height) {
  const int x = threadIdx.x;
  const int y = blockIdx.x;
  if (x >= width || y >= height) return;
  float* const row = reinterpret_cast<float*>(reinterpret_cast<char*>(to) + y * pitch);
  row[x] = row[x] * factors[y] + 1;
  if (x == 0) sums[y] = row[x];
}

#define EXPECT(condition)                     \
  do {                                        \
    if (!(condition)) {                       \
      std::printf("wrong: %s\n", #condition); \
      std::exit(1);                           \
    }                                         \
  } while (false)

void check_settings() {
  char address[16];
  int device = -1;
  int can = -1;
  CHECK(cudaInitDevice(0, 0, 0));
  CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  unsigned flags = 0;
  CHECK(cudaGetDeviceFlags(&flags));
  EXPECT((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
  CHECK(cudaDeviceGetPCIBusId(address, sizeof(address), 0));
  CHECK(cudaDeviceGetByPCIBusId(&device, address));
  EXPECT(device == 0);
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT(can == 0);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode == cudaStreamCaptureModeGlobal);
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT(mode == cudaStreamCaptureModeRelaxed);
  CHECK(cudaFuncSetCacheConfig(scale, cudaFuncCachePreferL1));
}

void check_host_memory() {
  std::vector<float> values(1024);
  const std::size_t bytes = values.size() * sizeof(float);
  CHECK(cudaHostRegister(values.data(), bytes, cudaHostRegisterPortable));
  EXPECT(cudaHostRegister(values.data(), bytes, 0) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaHostUnregister(values.data()));
  EXPECT(cudaHostUnregister(values.data()) == cudaErrorHostMemoryNotRegistered);
  EXPECT(cudaGetLastError() == cudaErrorHostMemoryNotRegistered);
}

void check_pools(cudaStream_t stream) {
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t threshold = 1 << 20;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  threshold = 0;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT(threshold == 1 << 20);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own = nullptr;
  CHECK(cudaMemPoolCreate(&own, &properties));
  float* memory = nullptr;
  CHECK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&memory), 4096, own, stream));
  std::uint64_t used = 0;
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used >= 4096);
  CHECK(cudaMemsetAsync(memory, 0, 4096, stream));
  CHECK(cudaFreeAsync(memory, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolTrimTo(own, 0));
  CHECK(cudaMemPoolDestroy(own));
}

void check_streams() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
  unsigned flags = 0;
  int priority = 0;
  CHECK(cudaStreamGetFlags(stream, &flags));
  CHECK(cudaStreamGetPriority(stream, &priority));
  EXPECT(flags == cudaStreamNonBlocking);
  EXPECT(priority == -1);
  CHECK(cudaStreamDestroy(stream));
}

/// A host function runs behind the earlier work of its stream.
void check_host_functions(const float* memory, float want, cudaStream_t stream) {
  static float seen = 0;
  static std::vector<float> told;
  CHECK(cudaMemcpyAsync(&seen, memory, sizeof(seen), cudaMemcpyDeviceToHost, stream));
  const auto tell = [](void* data) { told.push_back(*static_cast<float*>(data)); };
  CHECK(cudaLaunchHostFunc(stream, tell, &seen));
  const auto call = [](cudaStream_t, cudaError_t error, void* data) {
    told.push_back(error == cudaSuccess ? *static_cast<float*>(data) + 1 : -1);
  };
  CHECK(cudaStreamAddCallback(stream, call, &seen, 0));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(told.size() == 2);
  EXPECT(told[0] == want);
  EXPECT(told[1] == want + 1);
}

/// The kernel, by a graph and by an extended launch.
void run_scale(float* memory, std::size_t pitch, int width, int height, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  scale<<<height, width, 0, stream>>>(memory, pitch, width, height);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphUpload(exec, stream));
  CHECK(cudaGraphLaunch(exec, stream));
  cudaEvent_t done = nullptr;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK(cudaEventRecordWithFlags(done, stream, cudaEventRecordDefault));
  CHECK(cudaEventSynchronize(done));
  cudaLaunchConfig_t launch = {};
  launch.gridDim = height;
  launch.blockDim = width;
  launch.stream = stream;
  CHECK(cudaLaunchKernelEx(&launch, scale, memory, pitch, width, height));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  const int width = 33;
  const int height = 4;
  const std::vector<float> by_row = {1, 2, 3, 4};
  check_settings();
  check_host_memory();
  check_streams();
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  check_pools(stream);
  float* memory = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(reinterpret_cast<void**>(&memory), &pitch, width * sizeof(float), height));
  EXPECT(pitch >= width * sizeof(float));
  CHECK(cudaMemset2D(memory, pitch, 0xff, width * sizeof(float), height));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemset2DAsync(memory, pitch, 0, width * sizeof(float), height, stream));
  CHECK(cudaMemcpyToSymbolAsync(factors, by_row.data(), sizeof(factors), 0, cudaMemcpyHostToDevice,
                                stream));
  run_scale(memory, pitch, width, height, stream);
  std::vector<float> got(width * height);
  CHECK(cudaMemcpy2DAsync(got.data(), width * sizeof(float), memory, pitch, width * sizeof(float),
                          height, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  check_host_functions(memory, by_row[0] + 1, stream);
  std::vector<float> last(height);
  CHECK(cudaMemcpyFromSymbol(last.data(), sums, sizeof(sums)));
  std::vector<float> want;
  for (const float factor : by_row) want.insert(want.end(), width, factor + 1);
  for (int y = 0; y < height; ++y) EXPECT(last[y] == by_row[y] + 1);
  CHECK(cudaDeviceReset());
  return compare(got, want, 0);
}

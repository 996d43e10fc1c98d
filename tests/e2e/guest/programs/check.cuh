// What the programs of the tests share: they print "equal" and end with 0 if the device computed
// what the host does.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                           \
  do {                                                                                        \
    const cudaError_t error = (call);                                                         \
    if (error != cudaSuccess) {                                                               \
      std::printf("%s: %s: %s\n", #call, cudaGetErrorName(error), cudaGetErrorString(error)); \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (false)

/// Values of either sign, the same in every run.
inline std::vector<float> make_values(int count, unsigned seed = 1) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 24) - 0.5F;
  }
  return values;
}

template <typename T>
T* to_device(const std::vector<T>& values) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <typename T>
std::vector<T> to_host(const T* memory, int count) {
  std::vector<T> values(count);
  CHECK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

/// The exit code. `tolerance` is relative to the largest value.
inline int compare(const std::vector<float>& got, const std::vector<float>& want,
                   double tolerance) {
  double largest = 1e-30;
  for (const float value : want) largest = std::fmax(largest, std::fabs(value));
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!(std::fabs(got[i] - want[i]) <= tolerance * largest)) {
      std::printf("differs at %zu: %g, not %g\n", i, got[i], want[i]);
      return 1;
    }
  }
  std::printf("equal\n");
  return 0;
}

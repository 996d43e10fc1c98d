#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "core/worker.h"

namespace sluice::cpu {

/// Sizes of a matrix product: C is m x n, A m x k.
struct ProductShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

/// `count` seeded values in [-1, 1).
inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

/// Memory aligned to 64 bytes, followed by nothing: reading past it is for the sanitizers to find.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::int64_t size)
      : data_(static_cast<std::byte*>(
            std::aligned_alloc(64, static_cast<std::size_t>((size + 127) / 64 * 64)))) {}
  std::byte* data() { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// Calls `run` as each of `count` threads in sequence; kernels must work in any order.
template <typename Run>
void for_each_worker(int count, std::int64_t scratch_bytes, Run run) {
  for (int index = count - 1; index >= 0; --index) {
    AlignedBytes scratch(scratch_bytes);
    run(Worker{index, count, scratch.data()});
  }
}

}  // namespace sluice::cpu

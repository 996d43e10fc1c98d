#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace sluice::cpu {

/// Floats that a kernel keeps, aligned for vectors and uninitialised. Throws std::bad_alloc.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(std::int64_t count) {
    if (count == 0) return;
    const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
    data_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
  }

  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* floats) const { std::free(floats); }
  };
  std::unique_ptr<float, Free> data_;
};

}  // namespace sluice::cpu

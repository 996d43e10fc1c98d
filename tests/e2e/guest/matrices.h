// Matrices of small whole numbers on the host and the device, for programs without a CUDA toolkit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

extern "C" {  // names and arguments of CUDA 13
// NOLINTBEGIN(readability-identifier-naming)
int cudaMalloc(void** address, std::size_t bytes);
int cudaFree(void* address);
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind);
// NOLINTEND(readability-identifier-naming)
}

namespace sluice::guest {

inline constexpr int kToDevice = 1;
inline constexpr int kToHost = 2;
inline constexpr int kF32 = 0;
inline constexpr int kF16 = 2;
inline constexpr int kBf16 = 14;

inline std::size_t bytes_of(int type) { return type == kF32 ? 4 : 2; }

/// Bits of a small whole number, which all types have.
inline std::uint32_t bits_of(float value, int type) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (type == kF32) return bits;
  if (type == kBf16) return bits >> 16U;
  if (value == 0) return 0;
  const std::uint32_t exponent = ((bits >> 23U) & 0xffU) - 127 + 15;
  return (bits >> 31U) << 15U | exponent << 10U | ((bits >> 13U) & 0x3ffU);
}

/// A matrix of a batch, column by column, in host memory as numbers and on the device.
class Matrix {
 public:
  Matrix(int type, int leading, int columns, int batch)
      : type_(type), leading_(leading), stride_(leading * columns) {
    values_.resize(static_cast<std::size_t>(stride_) * static_cast<std::size_t>(batch));
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { cudaFree(device_); }

  void fill(unsigned seed) {
    for (float& value : values_) {
      seed = seed * 1664525U + 1013904223U;
      value = static_cast<float>(static_cast<int>(seed >> 24U) % 7 - 3);
    }
  }
  bool upload() {
    const std::size_t width = bytes_of(type_);
    std::vector<std::byte> bytes(values_.size() * width);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::uint32_t bits = bits_of(values_[i], type_);
      std::memcpy(bytes.data() + i * width, &bits, width);
    }
    return cudaMalloc(&device_, bytes.size()) == 0 &&
           cudaMemcpy(device_, bytes.data(), bytes.size(), kToDevice) == 0;
  }
  /// Whether the device has what the host has.
  bool is_equal() const {
    const std::size_t width = bytes_of(type_);
    std::vector<std::byte> bytes(values_.size() * width);
    if (cudaMemcpy(bytes.data(), device_, bytes.size(), kToHost) != 0) return false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * width, width);
      // Zeros of both signs are equal.
      if (bits == bits_of(values_[i], type_)) continue;
      if (values_[i] == 0 && (bits << (width == 4 ? 1U : 17U)) == 0) continue;
      std::printf("element %zu is %x, not %g\n", i, bits, static_cast<double>(values_[i]));
      return false;
    }
    return true;
  }
  /// Whether the device has what the host has, but for a millionth; of f32.
  bool is_close() const {
    std::vector<float> got(values_.size());
    if (cudaMemcpy(got.data(), device_, got.size() * sizeof(float), kToHost) != 0) return false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const float limit = 1e-6F * (1 + std::fabs(values_[i]));
      if (std::fabs(got[i] - values_[i]) <= limit) continue;
      std::printf("element %zu is %g, not %g\n", i, static_cast<double>(got[i]),
                  static_cast<double>(values_[i]));
      return false;
    }
    return true;
  }
  float& at(int row, int column, int item) {
    return values_[static_cast<std::size_t>(item * stride_ + column * leading_ + row)];
  }

  int type() const { return type_; }
  int leading() const { return leading_; }
  int stride() const { return stride_; }
  void* device() const { return device_; }

 private:
  const int type_, leading_, stride_;
  std::vector<float> values_;
  void* device_ = nullptr;
};

}  // namespace sluice::guest

// Device memory and launches for tests of kernels.
#pragma once

#include <cstring>
#include <map>
#include <vector>

#include "emulator/ptx/module.h"

namespace sluice::cuda::ptx::testing {

/// Allocations far apart, so that an access beyond one never meets another.
class TestMemory : public GlobalMemory {
 public:
  std::uint64_t allocate(std::size_t bytes) {
    const std::uint64_t address = next_;
    next_ += (bytes + (std::uint64_t{1} << 20)) / 4096 * 4096;
    allocations_[address].resize(bytes);
    return address;
  }
  template <class T>
  std::uint64_t upload(const std::vector<T>& values) {
    const std::uint64_t address = allocate(values.size() * sizeof(T));
    if (!values.empty())
      std::memcpy(allocations_[address].data(), values.data(), values.size() * sizeof(T));
    return address;
  }
  template <class T>
  std::vector<T> download(std::uint64_t address) const {
    const std::vector<std::byte>& bytes = allocations_.at(address);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  std::byte* at(std::uint64_t address, std::size_t bytes, Access) override {
    auto found = allocations_.upper_bound(address);
    if (found == allocations_.begin()) return nullptr;
    --found;
    const std::uint64_t offset = address - found->first;
    if (offset > found->second.size() || bytes > found->second.size() - offset) return nullptr;
    return found->second.data() + offset;
  }
  std::string describe(std::uint64_t, std::size_t) const override {
    return "no allocation holds it";
  }

 private:
  std::uint64_t next_ = std::uint64_t{1} << 32;
  std::map<std::uint64_t, std::vector<std::byte>> allocations_;
};

/// Bytes of parameters, each aligned to its size.
template <class... T>
std::vector<std::byte> parameters(const T&... values) {
  std::vector<std::byte> bytes;
  const auto append = [&](const void* value, std::size_t size) {
    bytes.resize((bytes.size() + size - 1) / size * size + size);
    std::memcpy(bytes.data() + bytes.size() - size, value, size);
  };
  (append(&values, sizeof(values)), ...);
  return bytes;
}

/// Gives each variable of a module memory with its initial bytes.
inline void place_variables(Module& module, TestMemory& memory) {
  for (Variable& variable : module.variables()) {
    std::vector<std::byte> bytes = variable.initial;
    bytes.resize(variable.size_bytes);
    variable.address = memory.upload(bytes);
  }
}

}  // namespace sluice::cuda::ptx::testing

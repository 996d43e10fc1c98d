// An emulated machine for a test, and kernels that are functions of the host.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "emulator/emulated_driver.h"

namespace sluice::cuda::emulator {

inline void PrintTo(CuResult result, std::ostream* out) {
  const char* name = result_name(result);
  *out << (name != nullptr ? name : "?");
}

/// A kernel whose parameters are `num_parameters` numbers of 8 bytes.
struct HostKernel : DeviceKernel {
  using Run = std::function<Fault(const ptx::Launch&, LaunchMemory&)>;

  HostKernel(std::size_t num_parameters, Run run) : run_(std::move(run)) {
    for (std::size_t i = 0; i < num_parameters; ++i) parameters_.push_back({"p", i * 8, 8, 8});
  }
  std::span<const ptx::Parameter> parameters() const override { return parameters_; }
  std::size_t static_shared_bytes() const override { return 0; }
  Fault run(const ptx::Launch& launch, LaunchMemory& memory,
            ptx::Counts& /*counts*/) const override {
    return run_(launch, memory);
  }

  std::vector<ptx::Parameter> parameters_;
  Run run_;
};

inline std::uint64_t parameter(const ptx::Launch& launch, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, launch.parameters.data() + index * 8, 8);
  return value;
}

/// Adds its second parameter to the int at its first.
inline Fault add_to_int(const ptx::Launch& launch, LaunchMemory& memory) {
  std::byte* const data = memory.at(parameter(launch, 0), 4, ptx::Access::kWrite);
  if (data == nullptr) return memory.last_fault();
  int value = 0;
  std::memcpy(&value, data, 4);
  value += static_cast<int>(parameter(launch, 1));
  std::memcpy(data, &value, 4);
  return {};
}

class HostCode : public DeviceCode {
 public:
  const DeviceKernel* find(std::string_view name) const override {
    const auto found = kernels.find(std::string(name));
    return found != kernels.end() ? &found->second : nullptr;
  }
  std::map<std::string, HostKernel> kernels;
};

class EmulatorTest : public ::testing::Test {
 protected:
  /// Starts a machine with the kernel `add` and makes device 0's context current.
  void start(Description description = {}) {
    driver_.reset();
    code_ = std::make_shared<HostCode>();
    code_->kernels.emplace("add", HostKernel(2, add_to_int));
    const LoadCode load = [this](const char* image, AddressSpace&,
                                 std::shared_ptr<const DeviceCode>* code) {
      if (std::string_view(image) != "code") return Fault{CuResult::kInvalidPtx, "line 1: no code"};
      *code = code_;
      return Fault{};
    };
    ASSERT_EQ(EmulatedDriver::start(std::move(description), load, &driver_).text, "");
    cu_ = driver_->table();
    ASSERT_EQ(cu_.device_primary_ctx_retain(&context_, 0), CuResult::kSuccess);
    ASSERT_EQ(cu_.ctx_set_current(context_), CuResult::kSuccess);
  }
  void start_with_seed(std::uint64_t seed) {
    Description description;
    description.seed = seed;
    start(description);
  }

  CuStream make_stream(unsigned flags = kStreamNonBlocking) {
    CuStream stream = nullptr;
    EXPECT_EQ(cu_.stream_create_with_priority(&stream, flags, 0), CuResult::kSuccess);
    return stream;
  }
  CuEvent make_event() {
    CuEvent event = nullptr;
    EXPECT_EQ(cu_.event_create(&event, 0), CuResult::kSuccess);
    return event;
  }
  /// An int of the device, `value` at first.
  CuDevicePointer make_int(int value) {
    CuDevicePointer address = 0;
    EXPECT_EQ(cu_.mem_alloc(&address, 4), CuResult::kSuccess);
    EXPECT_EQ(cu_.memset_d32_async(address, static_cast<unsigned>(value), 1, nullptr),
              CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kSuccess);
    return address;
  }
  int read_int(CuDevicePointer address) {
    int value = 0;
    EXPECT_EQ(cu_.memcpy_dtoh_async(&value, address, 4, nullptr), CuResult::kSuccess);
    return value;
  }
  template <typename T>
  T* make_pinned() {
    void* address = nullptr;
    EXPECT_EQ(cu_.mem_host_alloc(&address, sizeof(T), 0), CuResult::kSuccess);
    return static_cast<T*>(address);
  }
  CuFunction find_function(const char* name) {
    CuLibrary library = nullptr;
    CuKernel kernel = nullptr;
    CuFunction function = nullptr;
    EXPECT_EQ(cu_.library_load_data(&library, "code", nullptr, nullptr, 0, nullptr, nullptr, 0),
              CuResult::kSuccess);
    EXPECT_EQ(cu_.library_get_kernel(&kernel, library, name), CuResult::kSuccess);
    EXPECT_EQ(cu_.kernel_get_function(&function, kernel), CuResult::kSuccess);
    return function;
  }
  CuResult launch(const char* name, std::vector<std::uint64_t> parameters, CuStream stream) {
    std::vector<void*> values;
    for (std::uint64_t& value : parameters) values.push_back(&value);
    return cu_.launch_kernel(find_function(name), 4, 1, 1, 32, 1, 1, 0, stream, values.data(),
                             nullptr);
  }

  std::unique_ptr<EmulatedDriver> driver_;
  std::shared_ptr<HostCode> code_;
  DriverTable cu_;
  CuContext context_ = nullptr;
};

}  // namespace sluice::cuda::emulator

// A backend over an emulated device, and numbers for an operation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "plugin/libraries/testing/run_op.h"

namespace sluice::cuda::testing {

inline constexpr sluice_element_type kFloatTypes[] = {plugin::kF32, plugin::kF16, plugin::kBf16};

/// A device of a capability, 80 for 8.0, and two of its cores.
struct EmulatedDevice {
  explicit EmulatedDevice(int capability, Confine confine = Confine::kNothing) {
    emulator::Description description;
    description.devices[0].multiprocessors = 4;
    description.devices[0].major = capability / 10;
    description.devices[0].minor = capability % 10;
    std::unique_ptr<emulator::EmulatedDriver> emulated;
    EXPECT_EQ(emulator::EmulatedDriver::start(description, emulator::load_ptx, &emulated).text, "");
    Driver driver = {emulated->table(), true, confine, nullptr, {}};
    driver.owner = std::move(emulated);
    EXPECT_EQ(Backend::create(std::move(driver), "", &backend).text, "");
    const std::vector<std::int32_t> cores = {2, 3};
    EXPECT_EQ(backend->make_group(0, cores, &group).text, "");
  }
  bool has_compiler() const { return backend->store().check_compiler().is_ok(); }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Group> group;
};

/// Some numbers for each input of an operation, its body's last.
inline std::vector<std::vector<float>> some_inputs(const sluice_op& op) {
  std::vector<std::vector<float>> inputs;
  for (const auto& operands : {plugin::inputs_of(op), plugin::body_inputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      inputs.push_back(some_numbers(operand.tensor, static_cast<unsigned>(inputs.size() + 1)));
    }
  }
  return inputs;
}

/// What a type keeps of a sum of `count` products of numbers below 1.
inline double tolerance_of_sum(sluice_element_type type, std::int64_t count) {
  const double last_place = type == plugin::kF16    ? 0x1p-11
                            : type == plugin::kBf16 ? 0x1p-8
                                                    : 0x1p-20;
  return last_place * (2 + std::sqrt(static_cast<double>(count)));
}

inline void expect_close(const RunResult& result, const std::vector<double>& expected,
                         double tolerance) {
  ASSERT_EQ(result.status.text, "");
  ASSERT_EQ(result.output.size(), expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double actual = double{result.output[i]};
    const bool is_close = std::abs(actual - expected[i]) <= tolerance;
    if (!is_close && ++wrong == 1) {
      ADD_FAILURE() << "element " << i << " is " << actual << ", expected " << expected[i];
    }
  }
  EXPECT_EQ(wrong, 0U);
}

}  // namespace sluice::cuda::testing

// Runs operations on an emulated device, by libraries that look like NVIDIA's and by generated
// kernels.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "plugin/libraries/testing/fake_cublaslt.h"
#include "plugin/libraries/testing/fake_cudnn.h"
#include "plugin/libraries/testing/run_op.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda::testing {

/// The libraries that look like NVIDIA's, in this process.
FakeCublasLt& fake_cublaslt();
FakeCudnn& fake_cudnn();
/// Options that name their files.
LibraryOptions fake_library_options();

class FakeLibraries : public ::testing::Test {
 protected:
  FakeLibraries() {
    fake_cublaslt() = {};
    fake_cudnn() = {};
  }

  void start(LibraryOptions options, Confine confine = Confine::kNothing) {
    end();
    emulator::Description description;
    description.devices[0].multiprocessors = 16;
    description.devices[0].memory_bytes = std::int64_t{1} << 27;
    std::unique_ptr<emulator::EmulatedDriver> emulated;
    ASSERT_EQ(emulator::EmulatedDriver::start(description, emulator::load_ptx, &emulated).text, "");
    Driver driver = {emulated->table(), true, confine, nullptr, std::move(options)};
    driver.owner = std::move(emulated);
    ASSERT_EQ(Backend::create(std::move(driver), "", &backend_).text, "");
    ASSERT_EQ(backend_->make_group(0, {}, &group_).text, "");
    fake_cublaslt().driver = &backend_->driver().table;
    fake_cudnn().driver = &backend_->driver().table;
  }
  void end() {
    group_.reset();
    backend_.reset();
  }
  ~FakeLibraries() override { end(); }

  static LibraryOptions with_library() { return fake_library_options(); }

  /// Runs the operation with the library and without: the results are alike.
  RunResult compare(TestOp& op, LibraryOptions options = with_library()) {
    start({});
    const RunResult expected = run_op(*backend_, *group_, op.get());
    start(std::move(options));
    RunResult result = run_op(*backend_, *group_, op.get());
    EXPECT_EQ(expected.status.text, "");
    EXPECT_EQ(result.status.text, "");
    EXPECT_EQ(result.output.size(), expected.output.size());
    for (std::size_t i = 0; i < std::min(result.output.size(), expected.output.size()); ++i) {
      EXPECT_NEAR(result.output[i], expected.output[i], tolerance(op)) << "[" << i << "]";
    }
    return result;
  }
  static float tolerance(TestOp& op) {
    switch (op.get().outputs[0].tensor.element_type) {
      case plugin::kF16: return 1e-2F;
      case plugin::kBf16: return 8e-2F;
      default: return 1e-4F;
    }
  }
  bool has_compiler() {
    start({});
    return backend_->store().check_compiler().is_ok();
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Group> group_;
};

}  // namespace sluice::cuda::testing

#define SLUICE_NEEDS_COMPILER() \
  if (!has_compiler()) GTEST_SKIP() << backend_->store().check_compiler().text

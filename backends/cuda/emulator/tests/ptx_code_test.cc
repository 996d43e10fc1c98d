// PTX text through the driver table.

#include "emulator/ptx_code.h"

#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Thread i stores i, plus a variable of the module, at its first parameter; line 13 is the store.
constexpr const char* kStore = R"(.version 7.8
.target sm_75
.address_size 64
.global .align 4 .u32 base = 40;
.visible .entry store(.param .u64 target) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [target];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [base]; add.s32 %r3, %r1, %r2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)";

class PtxCodeTest : public EmulatorTest {
 protected:
  void start_ptx(Description description = {}) {
    ASSERT_EQ(EmulatedDriver::start(std::move(description), load_ptx, &driver_).text, "");
    cu_ = driver_->table();
    ASSERT_EQ(cu_.device_primary_ctx_retain(&context_, 0), CuResult::kSuccess);
    ASSERT_EQ(cu_.ctx_set_current(context_), CuResult::kSuccess);
  }
  CuResult load(const char* text) {
    return cu_.library_load_data(&library_, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  CuResult launch_store(CuDevicePointer target, unsigned threads) {
    CuKernel kernel = nullptr;
    CuFunction function = nullptr;
    EXPECT_EQ(cu_.library_get_kernel(&kernel, library_, "store"), CuResult::kSuccess);
    EXPECT_EQ(cu_.kernel_get_function(&function, kernel), CuResult::kSuccess);
    void* parameters[] = {&target};
    return cu_.launch_kernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
  }
  CuLibrary library_ = nullptr;
};

TEST_F(PtxCodeTest, KernelAndVariablesOfAModuleWork) {
  start_ptx();
  ASSERT_EQ(load(kStore), CuResult::kSuccess);
  CuDevicePointer memory = 0;
  std::array<int, 4> seen = {};
  ASSERT_EQ(cu_.mem_alloc(&memory, 16), CuResult::kSuccess);
  EXPECT_EQ(launch_store(memory, 4), CuResult::kSuccess);
  ASSERT_EQ(cu_.memcpy_dtoh_async(seen.data(), memory, 16, nullptr), CuResult::kSuccess);
  EXPECT_THAT(seen, ::testing::ElementsAre(40, 41, 42, 43));
}

TEST_F(PtxCodeTest, AccessOutsideNamesKernelLineAndAllocation) {
  start_ptx();
  ASSERT_EQ(load(kStore), CuResult::kSuccess);
  CuDevicePointer memory = 0;
  ASSERT_EQ(cu_.mem_alloc(&memory, 16), CuResult::kSuccess);
  EXPECT_EQ(launch_store(memory, 5), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kIllegalAddress);
  EXPECT_THAT(cu_.explain(), AllOf(HasSubstr("store"), HasSubstr("line 13"),
                                   HasSubstr("the allocation of 16 bytes")));
}

TEST_F(PtxCodeTest, EndlessKernelEndsAsBehindATimeLimitAndNamesTheLimit) {
  Description description;
  description.max_instructions = 5000;
  start_ptx(std::move(description));
  ASSERT_EQ(load(".version 7.8\n.target sm_75\n.address_size 64\n"
                 ".visible .entry store(.param .u64 target) {\nL: bra L;\n}\n"),
            CuResult::kSuccess);
  EXPECT_EQ(launch_store(0, 1), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kLaunchTimeout);
  EXPECT_THAT(cu_.explain(), AllOf(HasSubstr("store"), HasSubstr("5000 instructions")));
}

TEST_F(PtxCodeTest, KernelOutlivesItsLibraryWhileWorkWaits) {
  start_ptx();
  ASSERT_EQ(load(kStore), CuResult::kSuccess);
  CuDevicePointer memory = 0;
  int seen = 0;
  ASSERT_EQ(cu_.mem_alloc(&memory, 4), CuResult::kSuccess);
  EXPECT_EQ(launch_store(memory, 1), CuResult::kSuccess);
  EXPECT_EQ(cu_.library_unload(library_), CuResult::kSuccess);
  ASSERT_EQ(cu_.memcpy_dtoh_async(&seen, memory, 4, nullptr), CuResult::kSuccess);
  EXPECT_EQ(seen, 40);
}

TEST_F(PtxCodeTest, WrongTextIsRefusedWithItsLine) {
  start_ptx();
  EXPECT_EQ(load(".version 7.8\n.target sm_75\nnonsense"), CuResult::kInvalidPtx);
  EXPECT_THAT(cu_.explain(), HasSubstr("line 3"));
}

TEST_F(PtxCodeTest, UnknownInstructionIsRefusedByName) {
  start_ptx();
  EXPECT_EQ(load(".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() {\n"
                 "  frobnicate.u32;\n}\n"),
            CuResult::kNotSupported);
  EXPECT_THAT(cu_.explain(), HasSubstr("frobnicate"));
}

}  // namespace
}  // namespace sluice::cuda::emulator

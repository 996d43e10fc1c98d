// What files of kernels hold. tests/e2e/cuda/kernels_in_packages.py uses them through the plug-in.

#include "plugin/compile/kernel_cache.h"

#include <gtest/gtest.h>

namespace sluice::cuda {
namespace {

TEST(KernelFile, GivesItsCodeForTheInputsItWasMadeFrom) {
  const std::string code(
      "\x7f"
      "ELF\0code",
      9);
  EXPECT_EQ(unwrap_kernel(wrap_kernel("sm_80 text", code), "sm_80 text"), code);
}

TEST(KernelFile, OtherInputsGetNothing) {
  const std::string file = wrap_kernel("sm_80 text", "code");
  for (const char* inputs : {"sm_80 texts", "sm_80 tex", "sm_90 text", ""}) {
    EXPECT_EQ(unwrap_kernel(file, inputs), std::nullopt) << inputs;
  }
}

TEST(KernelFile, EveryDamagedByteAndLengthIsSeen) {
  const std::string file = wrap_kernel("inputs", "code");
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(unwrap_kernel(damaged, "inputs"), std::nullopt) << "byte " << i;
    EXPECT_EQ(unwrap_kernel(file.substr(0, i), "inputs"), std::nullopt) << i << " bytes";
  }
}

}  // namespace
}  // namespace sluice::cuda

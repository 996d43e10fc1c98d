// Code of packages for other architectures than the device's: which image it takes, and what is
// said.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/content_key.h"
#include "plugin/generate/generate.h"
#include "plugin/testing/device_lists.h"

namespace sluice::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Images = std::vector<sluice_code_image>;

Images images_of(const std::vector<const char*>& targets) {
  Images images;
  for (const char* const target : targets) images.push_back({target, "", 0});
  return images;
}

std::string chosen(const std::vector<const char*>& targets, int capability) {
  const Images images = images_of(targets);
  const sluice_code_image* const image = choose_image(images, capability, false);
  return image == nullptr ? "" : image->target;
}

TEST(ChooseImage, TakesMachineCodeOfTheArchitectureThenOfItsFamilyThenPtx) {
  const std::vector<const char*> all = {"compute_75", "compute_80", "sm_80", "sm_86", "sm_90a"};
  EXPECT_EQ(chosen(all, 86), "sm_86");
  EXPECT_EQ(chosen(all, 89), "sm_86");
  EXPECT_EQ(chosen(all, 90), "sm_90a");
  EXPECT_EQ(chosen(all, 100), "compute_80");
  EXPECT_EQ(chosen(all, 75), "compute_75");
  EXPECT_EQ(chosen(all, 70), "");
  EXPECT_EQ(chosen({"sm_90a"}, 100), "");
}

TEST(DescribeFit, NamesArchitecturesAndTheRemedyButWhereMachineCodeFits) {
  const auto describe = [](const std::vector<const char*>& targets) {
    const Images images = images_of(targets);
    return describe_fit(images, choose_image(images, 90, false), 1, 90);
  };
  EXPECT_EQ(describe({"compute_75", "sm_90"}), "");
  EXPECT_EQ(describe({"compute_75", "sm_80", "sm_120"}),
            "the package has machine code for sm_80, sm_120, device 1 is of sm_90: the driver "
            "translates PTX (compute_75); compile the model with --arch sm_90");
  EXPECT_EQ(describe({"compute_75"}),
            "the package has no machine code, device 1 is of sm_90: the driver translates PTX "
            "(compute_75); compile the model with --arch sm_90");
  EXPECT_THAT(describe({"sm_80"}), HasSubstr("machine code for sm_80, device 1 is of sm_90: its "
                                             "kernels are compiled at the load"));
}

/// A device of 8.0 that counts as one of the driver's, which may run machine code.
class ArchitecturesTest : public ::testing::Test {
 protected:
  void start(std::string nvrtc) {
    kernel_.reset();
    backend_.reset();
    emulator::Description description;
    description.devices[0].major = 8;
    description.devices[0].minor = 0;
    std::unique_ptr<emulator::EmulatedDriver> emulated;
    ASSERT_EQ(emulator::EmulatedDriver::start(description, emulator::load_ptx, &emulated).text, "");
    Driver driver = {emulated->table(), false, Confine::kNothing, nullptr};
    driver.libraries.are_used = false;
    driver.owner = std::move(emulated);
    ASSERT_EQ(Backend::create(std::move(driver), std::move(nvrtc), &backend_).text, "");
    ASSERT_EQ(generate(op_.op, &source_).text, "");
    key_ = key_of(source_.text);
  }
  /// Makes the kernel from these images of a package.
  Status load(const Images& images) {
    sluice_kernel_code code = {};
    code.struct_size = sizeof(code);
    code.key = key_.c_str();
    code.num_images = static_cast<std::int32_t>(images.size());
    code.images = images.data();
    return backend_->make_kernel(0, op_.op, &code, &kernel_);
  }

  SmallOp op_{"Add", 14, "sum", {kFloat, kFloat}};
  Source source_;
  std::string key_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Kernel> kernel_;
};

constexpr const char* kNoCompiler = "libnvrtc-that-is-not-there.so";

TEST_F(ArchitecturesTest, CodeThatFitsNoDeviceIsRefusedWithTheRemedyWhereNothingCompiles) {
  start(kNoCompiler);
  const Status status = load({{"sm_120", "\177ELF", 4}});
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, AllOf(HasSubstr("node \"sum\""), HasSubstr(kNoCompiler),
                                 HasSubstr("machine code for sm_120, device 0 is of sm_80"),
                                 HasSubstr("compile the model with --arch sm_80")));
}

TEST_F(ArchitecturesTest, CodeThatTheDriverRefusesNamesTheRemedy) {
  start(kNoCompiler);
  const Status status = load({{"sm_120", "\177ELF", 4}, {"compute_75", "\177ELF", 4}});
  EXPECT_EQ(status.code, SLUICE_UNIMPLEMENTED);
  EXPECT_THAT(status.text, AllOf(HasSubstr("the code is for another architecture"),
                                 HasSubstr("compile the model with --arch sm_80")));
}

TEST_F(ArchitecturesTest, TranslatedPtxIsSaidOnceForADevice) {
  start("");
  if (const Status status = backend_->store().check_compiler(); !status.is_ok()) {
    GTEST_SKIP() << status.text;
  }
  std::string ptx;
  ASSERT_EQ(backend_->store().compile(source_.text, kPortableTarget, &ptx).text, "");
  const Images images = {{kPortableTarget, ptx.data(), static_cast<std::int64_t>(ptx.size())}};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(load(images).text, "");
  EXPECT_EQ(load(images).text, "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "sluice: the package has no machine code, device 0 is of sm_80: the driver translates "
            "PTX (compute_75); compile the model with --arch sm_80\n");
}

}  // namespace
}  // namespace sluice::cuda

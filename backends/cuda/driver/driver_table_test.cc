#include "driver/driver_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sluice::cuda {
namespace {

using ::testing::HasSubstr;

/// A driver of which a test says what it lacks. Plain functions have no state of their own.
struct FakeDriver {
  int version = kMinDriverVersion;
  std::set<std::string> missing;
  std::map<std::string, int> asked;  // name -> version
};
FakeDriver* fake = nullptr;

CuResult get_version(int* version) {
  *version = fake->version;
  return CuResult::kSuccess;
}

CuResult find(const char* name, void** function, int version, std::uint64_t /*flags*/, int* found) {
  fake->asked[name] = version;
  *found = fake->missing.contains(name) ? 1 : 0;
  *function = *found == 0 ? reinterpret_cast<void*>(&get_version) : nullptr;
  return CuResult::kSuccess;
}

class DriverTableTest : public ::testing::Test {
 protected:
  DriverTableTest() { fake = &driver_; }
  FakeDriver driver_;
  DriverTable table_;
};

TEST_F(DriverTableTest, AsksForEachFunctionInItsVersion) {
  ASSERT_EQ(bind_driver(find, &table_).text, "");
  EXPECT_EQ(driver_.asked.at("cuMemAlloc"), 3020);
  EXPECT_EQ(driver_.asked.at("cuGreenCtxStreamCreate"), 12050);
  EXPECT_NE(table_.launch_kernel, nullptr);
  EXPECT_EQ(table_.explain, nullptr);
}

TEST_F(DriverTableTest, NamesAllMissingFunctionsAndStaysEmpty) {
  driver_.missing = {"cuGreenCtxCreate", "cuLaunchKernel"};
  const Status status = bind_driver(find, &table_);
  EXPECT_EQ(status.code, SLUICE_FAILED_PRECONDITION);
  EXPECT_THAT(status.text, HasSubstr("lacks cuLaunchKernel, cuGreenCtxCreate"));
  EXPECT_EQ(table_.init, nullptr);
}

TEST_F(DriverTableTest, OldDriverIsToldWhichVersionItNeeds) {
  driver_.version = 11040;
  const Status status = bind_driver(find, &table_);
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("supports CUDA 11.4; Sluice needs 12.5 or later"));
}

TEST_F(DriverTableTest, MissingDriverNamesTheLibraryAndTheRemedy) {
  const Status status = open_driver("libcuda-that-is-not-there.so.1", &table_);
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("libcuda-that-is-not-there.so.1"));
  EXPECT_THAT(status.text, HasSubstr("cuda-emulated"));
}

TEST_F(DriverTableTest, OtherLibraryIsNoDriver) {
  EXPECT_THAT(open_driver("libm.so.6", &table_).text, HasSubstr("has no function cuInit"));
}

TEST_F(DriverTableTest, DriverWithoutGpuIsUnavailable) {
  const Status status = open_driver(SLUICE_FAKE_LIBCUDA, &table_);
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("there is no GPU (CUDA_ERROR_NO_DEVICE)"));
  EXPECT_EQ(table_.init, nullptr);
}

TEST(CudaResults, UnknownNumberIsPrinted) {
  EXPECT_EQ(check(static_cast<CuResult>(4711), "copying").text,
            "copying: error 4711 of the CUDA driver");
}

TEST(CudaResults, TooLittleMemoryIsResourceExhausted) {
  EXPECT_EQ(check(CuResult::kOutOfMemory, "x").code, SLUICE_RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace sluice::cuda

// Core groups on an emulated device: on which multiprocessors kernels run, and that none loses
// work.

#include "plugin/confine/confine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "plugin/backend.h"
#include "plugin/confine/masked_kernel.h"

namespace sluice::cuda {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kCores = 20;
constexpr std::uint32_t kUnwritten = 0xffffffff;

/// Block b writes where it ran, and counts how often it did.
constexpr const char* kWhere =
    R"(extern "C" __global__ void sluice_kernel(unsigned* where, unsigned* times) {
  unsigned core;
  asm("mov.u32 %0, %%smid;" : "=r"(core));
  if (threadIdx.x != 0) return;
  where[blockIdx.x] = core;
  atomicAdd(times + blockIdx.x, 1u);
}
)";

class ConfineTest : public ::testing::Test {
 protected:
  void start(Confine confine, int capability = 8) {
    groups_.clear();
    backend_.reset();
    emulator::Description description;
    description.devices[0].multiprocessors = kCores;
    description.devices[0].major = capability;
    std::unique_ptr<emulator::EmulatedDriver> emulated;
    ASSERT_EQ(emulator::EmulatedDriver::start(description, emulator::load_ptx, &emulated).text, "");
    Driver driver = {emulated->table(), true, confine, nullptr};
    driver.owner = std::move(emulated);
    ASSERT_EQ(Backend::create(std::move(driver), "", &backend_).text, "");
  }
  Group& make_group(const std::vector<std::int32_t>& cores) {
    std::unique_ptr<Group> made;
    EXPECT_EQ(backend_->make_group(0, cores, &made).text, "");
    groups_.push_back(std::move(made));
    return *groups_.back();
  }

  struct Ran {
    std::vector<std::uint32_t> where;  ///< by block
    std::vector<std::uint32_t> times;
    std::uint32_t strayed = 0;
  };

  /// Launches `kWhere`, masked or not, `repeats` times in a stream of the group.
  Ran run(Group& group, unsigned num_blocks, unsigned num_launched, int repeats = 1) {
    Source source;
    source.text = kWhere;
    if (backend_->driver().confine == Confine::kMasks) {
      EXPECT_EQ(mask_kernel(&source).text, "");
    }
    std::shared_ptr<const LoadedKernel> code;
    EXPECT_EQ(backend_->enter(0).text, "");
    EXPECT_EQ(backend_->store().load(0, source.text, &code).text, "");
    std::unique_ptr<Stream> stream;
    EXPECT_EQ(backend_->make_stream(group, &stream).text, "");
    const std::size_t bytes = num_blocks * sizeof(std::uint32_t);
    const DriverTable& cu = backend_->driver().table;
    CuDevicePointer where = 0;
    CuDevicePointer times = 0;
    EXPECT_EQ(cu.mem_alloc(&where, bytes), CuResult::kSuccess);
    EXPECT_EQ(cu.mem_alloc(&times, bytes), CuResult::kSuccess);
    cu.memset_d8_async(where, 0xff, bytes, stream->handle);
    cu.memset_d8_async(times, 0, bytes, stream->handle);
    void* parameters[] = {&where, &times, &num_blocks, &stream->mask};
    for (int i = 0; i < repeats; ++i) {
      EXPECT_EQ(cu.launch_kernel(code->function(), num_launched, 1, 1, 32, 1, 1, 0, stream->handle,
                                 parameters, nullptr),
                CuResult::kSuccess);
    }
    Ran ran = {std::vector<std::uint32_t>(num_blocks), std::vector<std::uint32_t>(num_blocks)};
    cu.memcpy_dtoh_async(ran.where.data(), where, bytes, stream->handle);
    cu.memcpy_dtoh_async(ran.times.data(), times, bytes, stream->handle);
    EXPECT_EQ(cu.stream_synchronize(stream->handle), CuResult::kSuccess) << cu.explain();
    EXPECT_EQ(backend_->count_strayed(*stream, &ran.strayed).text, "");
    backend_->destroy_stream(*stream);
    cu.mem_free(where);
    cu.mem_free(times);
    return ran;
  }
  bool has_compiler() { return backend_->store().check_compiler().is_ok(); }

  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<Group>> groups_;
};

TEST_F(ConfineTest, WithoutItAGroupHasTheWholeDevice) {
  start(Confine::kNothing);
  if (!has_compiler()) GTEST_SKIP() << backend_->store().check_compiler().text;
  const Ran ran = run(make_group({3}), 100, 100);
  EXPECT_EQ(std::set(ran.where.begin(), ran.where.end()).size(), std::size_t{kCores});
}

TEST_F(ConfineTest, GreenContextKeepsBlocksOnTheCoresOfItsGroup) {
  start(Confine::kContexts);
  if (!has_compiler()) GTEST_SKIP() << backend_->store().check_compiler().text;
  const std::vector<std::vector<std::int32_t>> groups = {{2, 3}, {4, 5, 6, 7}, {18, 19, 0, 1}};
  for (const std::vector<std::int32_t>& cores : groups) {
    const Ran ran = run(make_group(cores), 64, 64);
    EXPECT_THAT(ran.where, Each(::testing::Truly([&](std::uint32_t core) {
                  return std::ranges::find(cores, static_cast<std::int32_t>(core)) != cores.end();
                })));
    EXPECT_EQ(std::set(ran.where.begin(), ran.where.end()).size(), cores.size());
  }
}

TEST_F(ConfineTest, GreenContextOfAllCoresIsTheDevicesOwn) {
  start(Confine::kContexts, 9);
  std::vector<std::int32_t> all(kCores);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(make_group(all).context, nullptr);
  EXPECT_NE(make_group({0, 1}).context, nullptr);
}

TEST_F(ConfineTest, PartOfAUnitIsRefusedByItsCores) {
  start(Confine::kContexts);
  std::unique_ptr<Group> group;
  const std::vector<std::int32_t> cores = {4, 5, 7};
  const Status status = backend_->make_group(0, cores, &group);
  EXPECT_EQ(status.code, SLUICE_INVALID_ARGUMENT);
  EXPECT_THAT(status.text, HasSubstr("core 7 without core 6"));
  EXPECT_THAT(status.text, HasSubstr("cores 6 to 7 together"));
  EXPECT_EQ(group, nullptr);
}

TEST_F(ConfineTest, CoreThatTheDeviceLacksIsRefused) {
  for (const Confine confine : {Confine::kNothing, Confine::kContexts, Confine::kMasks}) {
    start(confine);
    std::unique_ptr<Group> group;
    const std::vector<std::int32_t> cores = {kCores};
    EXPECT_EQ(backend_->make_group(0, cores, &group).code, SLUICE_OUT_OF_RANGE);
  }
}

TEST_F(ConfineTest, MaskKeepsBlocksOnSingleCores) {
  start(Confine::kMasks);
  if (!has_compiler()) GTEST_SKIP() << backend_->store().check_compiler().text;
  for (const std::vector<std::int32_t>& cores :
       std::vector<std::vector<std::int32_t>>{{0}, {7}, {19}, {3, 11, 17}}) {
    const Ran ran = run(make_group(cores), 50, kCores * 2);
    for (const std::uint32_t core : ran.where) {
      EXPECT_NE(std::ranges::find(cores, static_cast<std::int32_t>(core)), cores.end()) << core;
    }
    EXPECT_THAT(ran.times, Each(1U));
    EXPECT_EQ(ran.strayed, 0U);
  }
}

TEST_F(ConfineTest, BlocksThatNoCoreOfTheMaskTookAreRunAndCounted) {
  start(Confine::kMasks);
  if (!has_compiler()) GTEST_SKIP() << backend_->store().check_compiler().text;
  // Five blocks land on cores 0 to 4: none on core 12. As published, all of the work would be lost.
  const Ran ran = run(make_group({12}), 30, 5);
  EXPECT_THAT(ran.times, Each(1U));
  EXPECT_THAT(ran.where, Each(::testing::Ne(kUnwritten)));
  EXPECT_EQ(ran.strayed, 30U);
}

TEST_F(ConfineTest, CountersOfAMaskServeOneKernelAfterAnother) {
  start(Confine::kMasks);
  if (!has_compiler()) GTEST_SKIP() << backend_->store().check_compiler().text;
  EXPECT_THAT(run(make_group({4, 9}), 33, kCores, 7).times, Each(7U));
  EXPECT_THAT(run(make_group({4, 9}), 33, 3, 7).times, Each(7U));
}

TEST(MaskWords, HaveABitForEachCore) {
  const std::vector<std::int32_t> cores = {0, 31, 32, 65};
  EXPECT_EQ(mask_words(66, cores),
            (std::vector<std::uint32_t>{0, 0, 0, 0x80000001, 0x00000001, 0x00000002}));
}

TEST(MaskKernel, TextWithoutTheKernelIsRefused) {
  Source source;
  source.text = "__global__ void other() {\n}\n";
  EXPECT_EQ(mask_kernel(&source).code, SLUICE_INVALID_ARGUMENT);
  EXPECT_FALSE(source.is_masked);
}

TEST(ParseConfine, UnknownWordIsRefusedWithThoseThatAre) {
  Confine confine = Confine::kNothing;
  EXPECT_THAT(parse_confine("mask", &confine).text, HasSubstr("none, contexts, masks"));
  EXPECT_TRUE(parse_confine("masks", &confine).is_ok());
  EXPECT_EQ(confine, Confine::kMasks);
}

}  // namespace
}  // namespace sluice::cuda

// Green contexts and launches on their multiprocessors.

#include <mutex>
#include <set>

#include "emulator/machine/multiprocessors.h"
#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitByCount, RoundsUpByComputeCapability) {
  EXPECT_THAT(split_by_count(132, 6, 11, partition_rule(9, false)),
              ElementsAre(16, 16, 16, 16, 16, 16));
  EXPECT_THAT(split_by_count(132, 6, 11, partition_rule(9, true)),
              ElementsAre(12, 12, 12, 12, 12, 12));
  EXPECT_THAT(split_by_count(84, 2, 1, partition_rule(8, false)), ElementsAre(4, 4));
  EXPECT_THAT(split_by_count(40, 1, 3, partition_rule(7, false)), ElementsAre(4));
}

TEST(SplitByCount, FewerComeBackWhereTheyDoNotFit) {
  EXPECT_THAT(split_by_count(132, 10, 40, partition_rule(9, false)), ElementsAre(40, 40, 40));
  EXPECT_THAT(split_by_count(10, 1, 11, partition_rule(9, true)), ElementsAre());
  EXPECT_THAT(split_by_count(132, 1, 132, partition_rule(9, false)), ElementsAre(132));
}

class PartitionsTest : public EmulatorTest {
 protected:
  void start_hopper() {
    Description description;
    description.devices[0] = {"emulated H100", 9, 0, 132, std::int64_t{1} << 30};
    start(description);
    code_->kernels.emplace("where", HostKernel(0, [this](const ptx::Launch& launch, LaunchMemory&) {
                             seen_.insert(launch.multiprocessors.begin(),
                                          launch.multiprocessors.end());
                             return Fault{};
                           }));
  }
  CuResource whole() {
    CuResource resource = {};
    EXPECT_EQ(cu_.device_get_dev_resource(0, &resource, CuResourceType::kMultiprocessors),
              CuResult::kSuccess);
    return resource;
  }
  CuGreenContext make_green(CuResource part) {
    CuResourceDescriptor descriptor = nullptr;
    CuGreenContext green = nullptr;
    EXPECT_EQ(cu_.dev_resource_generate_desc(&descriptor, &part, 1), CuResult::kSuccess);
    EXPECT_EQ(cu_.green_ctx_create(&green, descriptor, 0, kGreenContextDefaultStream),
              CuResult::kSuccess);
    return green;
  }
  std::set<int> run_in(CuStream stream) {
    seen_.clear();
    EXPECT_EQ(launch("where", {}, stream), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
    return seen_;
  }
  std::set<int> seen_;
};

TEST_F(PartitionsTest, GreenContextsOfOneSplitAreDisjointAndThePrimaryHasAll) {
  start_hopper();
  const CuResource all = whole();
  EXPECT_EQ(all.multiprocessors.count, 132U);
  EXPECT_EQ(all.multiprocessors.min_partition, 8U);
  std::array<CuResource, 2> parts = {};
  unsigned count = 2;
  CuResource rest = {};
  ASSERT_EQ(cu_.dev_sm_resource_split_by_count(parts.data(), &count, &all, &rest, 0, 60),
            CuResult::kSuccess);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(parts[0].multiprocessors.count, 64U);
  EXPECT_EQ(rest.multiprocessors.count, 4U);
  std::set<int> together;
  for (const CuResource& part : parts) {
    CuStream stream = nullptr;
    ASSERT_EQ(cu_.green_ctx_stream_create(&stream, make_green(part), kStreamNonBlocking, 0),
              CuResult::kSuccess);
    const std::set<int> seen = run_in(stream);
    EXPECT_EQ(seen.size(), 64U);
    together.insert(seen.begin(), seen.end());
  }
  EXPECT_EQ(together.size(), 128U);
  EXPECT_EQ(run_in(nullptr).size(), 132U);
}

TEST_F(PartitionsTest, PartIsNotSplitAgainBeforeAContextHasIt) {
  start_hopper();
  const CuResource all = whole();
  CuResource part = {};
  unsigned count = 1;
  ASSERT_EQ(cu_.dev_sm_resource_split_by_count(&part, &count, &all, nullptr, 0, 64),
            CuResult::kSuccess);
  CuResource half = {};
  count = 1;
  EXPECT_EQ(cu_.dev_sm_resource_split_by_count(&half, &count, &part, nullptr, 0, 32),
            CuResult::kInvalidResourceConfiguration);
  EXPECT_THAT(cu_.explain(), HasSubstr("not split again"));
  make_green(part);
  EXPECT_EQ(cu_.dev_sm_resource_split_by_count(&half, &count, &part, nullptr, 0, 32),
            CuResult::kSuccess);
  EXPECT_EQ(half.multiprocessors.count, 32U);
}

TEST_F(PartitionsTest, TwoSplitsOverlapSilently) {
  start_hopper();
  std::set<int> together;
  for (int i = 0; i < 2; ++i) {
    const CuResource all = whole();
    CuResource part = {};
    unsigned count = 1;
    ASSERT_EQ(cu_.dev_sm_resource_split_by_count(&part, &count, &all, nullptr, 0, 64),
              CuResult::kSuccess);
    CuStream stream = nullptr;
    ASSERT_EQ(cu_.green_ctx_stream_create(&stream, make_green(part), kStreamNonBlocking, 0),
              CuResult::kSuccess);
    together.merge(run_in(stream));
  }
  EXPECT_EQ(together.size(), 64U);
}

TEST_F(PartitionsTest, StreamsOfAGreenContextMustNotBlock) {
  start_hopper();
  CuStream stream = nullptr;
  EXPECT_EQ(cu_.green_ctx_stream_create(&stream, make_green(whole()), 0, 0),
            CuResult::kInvalidValue);
}

TEST_F(PartitionsTest, GraphRunsWhereItWasCaptured) {
  start_hopper();
  const CuResource all = whole();
  CuResource part = {};
  unsigned count = 1;
  ASSERT_EQ(cu_.dev_sm_resource_split_by_count(&part, &count, &all, nullptr, 0, 8),
            CuResult::kSuccess);
  CuStream stream = nullptr;
  ASSERT_EQ(cu_.green_ctx_stream_create(&stream, make_green(part), kStreamNonBlocking, 0),
            CuResult::kSuccess);
  CuGraph graph = nullptr;
  CuGraphExec exec = nullptr;
  ASSERT_EQ(cu_.stream_begin_capture(stream, CuCaptureMode::kGlobal), CuResult::kSuccess);
  EXPECT_EQ(launch("where", {}, stream), CuResult::kSuccess);
  ASSERT_EQ(cu_.stream_end_capture(stream, &graph), CuResult::kSuccess);
  ASSERT_EQ(cu_.graph_instantiate_with_flags(&exec, graph, 0), CuResult::kSuccess);
  const CuStream elsewhere = make_stream();
  EXPECT_EQ(cu_.graph_launch(exec, elsewhere), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(elsewhere), CuResult::kSuccess);
  EXPECT_EQ(seen_.size(), 8U);
}

class LaunchesTest : public EmulatorTest {};

TEST_F(LaunchesTest, ParametersAreCopiedBeforeTheCallReturns) {
  start();
  const CuDevicePointer number = make_int(0);
  std::uint64_t address = number;
  std::uint64_t value = 3;
  std::array<void*, 2> parameters = {&address, &value};
  const CuFunction add = find_function("add");
  EXPECT_EQ(cu_.launch_kernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters.data(), nullptr),
            CuResult::kSuccess);
  value = 99;
  EXPECT_EQ(read_int(number), 3);
}

TEST_F(LaunchesTest, BlockThatIsTooLargeIsRefused) {
  start();
  const CuFunction add = find_function("add");
  EXPECT_EQ(cu_.launch_kernel(add, 1, 1, 1, 1024, 2, 1, 0, nullptr, nullptr, nullptr),
            CuResult::kInvalidValue);
  EXPECT_THAT(cu_.explain(), HasSubstr("2048 threads"));
}

TEST_F(LaunchesTest, MachineCodeIsRefusedWithTheReason) {
  start();
  CuLibrary library = nullptr;
  EXPECT_EQ(cu_.library_load_data(&library, "\177ELF", nullptr, nullptr, 0, nullptr, nullptr, 0),
            CuResult::kNoBinaryForGpu);
  EXPECT_THAT(cu_.explain(), HasSubstr("PTX"));
  EXPECT_EQ(cu_.library_load_data(&library, "?", nullptr, nullptr, 0, nullptr, nullptr, 0),
            CuResult::kInvalidPtx);
  EXPECT_EQ(cu_.explain(), "line 1: no code");
}

TEST_F(LaunchesTest, UnknownKernelIsNamed) {
  start();
  CuLibrary library = nullptr;
  CuKernel kernel = nullptr;
  ASSERT_EQ(cu_.library_load_data(&library, "code", nullptr, nullptr, 0, nullptr, nullptr, 0),
            CuResult::kSuccess);
  EXPECT_EQ(cu_.library_get_kernel(&kernel, library, "gemm"), CuResult::kNotFound);
  EXPECT_THAT(cu_.explain(), HasSubstr("\"gemm\""));
}

TEST_F(LaunchesTest, SecondMachineIsRefused) {
  start();
  std::unique_ptr<EmulatedDriver> second;
  EXPECT_EQ(EmulatedDriver::start({}, nullptr, &second).code, SLUICE_FAILED_PRECONDITION);
}

TEST_F(LaunchesTest, TableHasEveryFunction) {
  start();
#define SLUICE_CUDA_ROW(member, name, version, arguments) EXPECT_NE(cu_.member, nullptr) << #name;
  SLUICE_CUDA_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
}

}  // namespace
}  // namespace sluice::cuda::emulator

// Command lists as CUDA graphs on an emulated device: results, and what graphs are bound to.

#include <algorithm>
#include <numeric>
#include <thread>

#include "plugin/list_graphs.h"
#include "plugin/testing/device_lists.h"

namespace sluice::cuda {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class GraphsTest : public DeviceListsTest {};

TEST_F(GraphsTest, ListIsCapturedAtItsSecondRunAndGivesTheSameInEveryOrderOfWork) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    start({.seed = seed});
    Stream& stream = make_stream();
    CommandList& list = make_quadruple();
    for (int i = 0; i < 5; ++i) {
      quadruple(stream, list, static_cast<float>(i));
      EXPECT_EQ(num_captured(), i == 0 ? 0 : 1);
    }
    EXPECT_EQ(backend_->graph_counts().num_refused, 0);
  }
}

TEST_F(GraphsTest, UseDecidesWhetherAndWhenAListIsCaptured) {
  for (const auto& [use, count] :
       {std::pair(GraphUse::kNone, 0), std::pair(GraphUse::kAlways, 1)}) {
    start({.graphs = use});
    Stream& stream = make_stream();
    CommandList& list = make_quadruple();
    for (int i = 0; i < 3; ++i) {
      quadruple(stream, list, static_cast<float>(i));
      EXPECT_EQ(num_captured(), count);
    }
  }
}

TEST_F(GraphsTest, AddressesOfKernelsHaveGraphsOfTheirOwnOfWhichTheLastAreKept) {
  Stream& stream = make_stream();
  const Kernel& kernel = make_add();
  void* const middle = allocate();
  CommandList& list = make_list();  // binding 1 = 8 * binding 0, on the device; 2 is on the host
  add(list, kernel, bound(0), bound(0), fixed(middle));
  add(list, kernel, fixed(middle), fixed(middle), fixed(middle));
  add(list, kernel, fixed(middle), fixed(middle), bound(1));
  copy(list, bound(1), bound(2));
  finish(list);
  CommandList& fill = make_list();
  copy(fill, bound(0), bound(1));
  finish(fill);
  std::vector<void*> memory;
  for (int i = 0; i < 6; ++i) {
    std::vector<float> x(kCount, static_cast<float>(i));
    memory.push_back(allocate());
    EXPECT_EQ(run(stream, fill, {x.data(), memory.back()}).text, "");
  }
  void* const result = allocate();
  std::vector<float> y(kCount);
  const auto run_of = [&](std::size_t i) {
    EXPECT_EQ(run(stream, list, {memory[i], result, y.data()}).text, "");
    EXPECT_THAT(y, Each(static_cast<float>(8 * i)));
  };
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t i : {0, 1, 2, 3}) run_of(i);
  }
  EXPECT_EQ(num_captured(), 4);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t i : {0, 1, 2, 3, 4, 5}) run_of(i);  // more than are kept
  }
  EXPECT_EQ(num_captured(), 4);
  run_of(5);
  run_of(5);
  EXPECT_EQ(num_captured(), 5);
}

TEST_F(GraphsTest, CallersMemoryOnTheDeviceMayBeElsewhereInEachRun) {
  Stream& stream = make_stream();
  const Kernel& kernel = make_add();
  void* const x = allocate();
  CommandList& list = make_list();  // binding 1 = 8 * binding 0, each on the device or on the host
  copy(list, bound(0), fixed(x));
  for (int i = 0; i < 3; ++i) add(list, kernel, fixed(x), fixed(x), fixed(x));
  copy(list, fixed(x), bound(1));
  finish(list);
  CommandList& move = make_list();
  copy(move, bound(0), bound(1));
  finish(move);
  for (int i = 0; i < 7; ++i) {
    std::vector<float> from(kCount, static_cast<float>(i));
    std::vector<float> to(kCount);
    void* const memory[] = {allocate(), allocate()};
    EXPECT_EQ(run(stream, move, {from.data(), memory[0]}).text, "");
    EXPECT_EQ(run(stream, list, {memory[0], memory[1]}).text, "");
    EXPECT_EQ(run(stream, move, {memory[1], to.data()}).text, "");
    EXPECT_THAT(to, Each(8 * from[0]));
  }
  EXPECT_EQ(num_captured(), 1);
  for (int i = 0; i < 3; ++i) {
    std::vector<float> from(kCount, static_cast<float>(i));
    std::vector<float> to(kCount);
    EXPECT_EQ(run(stream, list, {from.data(), to.data()}).text, "");
    EXPECT_THAT(to, Each(8 * from[0]));
  }
  EXPECT_EQ(num_captured(), 2);
}

TEST_F(GraphsTest, CopyFromAnotherDeviceRunsBesideTheGraph) {
  start({.num_devices = 2});
  Stream& first = make_stream();
  Stream& second = make_stream(make_group({}, 1));
  void* const there = allocate();
  void* const here = allocate(kBytes, 1);
  const Kernel& kernel = make_add(1);
  CommandList& fill = make_list();
  copy(fill, bound(0), fixed(there));
  finish(fill);
  CommandList& list = make_list();
  copy(list, fixed(there), fixed(here));
  for (int i = 0; i < 3; ++i) add(list, kernel, fixed(here), fixed(here), fixed(here));
  copy(list, fixed(here), bound(0));
  finish(list);
  for (int i = 0; i < 4; ++i) {
    std::vector<float> x(kCount, static_cast<float>(i));
    std::vector<float> y(kCount);
    EXPECT_EQ(run(first, fill, {x.data()}).text, "");
    EXPECT_EQ(run(second, list, {y.data()}).text, "");
    EXPECT_THAT(y, Each(8 * x[0]));
  }
  EXPECT_EQ(num_captured(), 1);
  EXPECT_EQ(backend_->graph_counts().num_refused, 0);
}

TEST_F(GraphsTest, EachStreamHasItsOwn) {
  Group& group = make_group();
  Stream& one = make_stream(group);
  CommandList& list = make_quadruple();
  for (int i = 0; i < 3; ++i) quadruple(one, list, 1);
  Stream& two = make_stream(group);
  for (int i = 0; i < 3; ++i) quadruple(two, list, 2);
  EXPECT_EQ(num_captured(), 2);
  streams_.pop_back();
  // A new stream may get the address of the destroyed stream. It does not get its graphs.
  Stream& three = make_stream(group);
  for (int i = 0; i < 3; ++i) quadruple(three, list, 3);
  EXPECT_EQ(num_captured(), 3);
}

TEST_F(GraphsTest, DevicesRunTheirListsSideBySide) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    start({.seed = seed, .num_devices = 2});
    Stream* const streams[] = {&make_stream(make_group({}, 0)), &make_stream(make_group({}, 1))};
    CommandList* const lists[] = {&make_quadruple(0), &make_quadruple(1)};
    for (int i = 0; i < 4; ++i) {
      std::vector<float> x(kCount, static_cast<float>(i + 1));
      std::vector<float> y[2] = {std::vector<float>(kCount), std::vector<float>(kCount)};
      for (const std::size_t k : {0, 1}) {
        void* bindings[] = {x.data(), y[k].data()};
        EXPECT_EQ(backend_->submit(*streams[k], *lists[k], bindings).text, "");
      }
      for (const std::size_t k : {1, 0}) {
        EXPECT_EQ(backend_->wait(*streams[k], -1).text, "");
        EXPECT_THAT(y[k], Each(4 * x[0]));
      }
    }
    EXPECT_EQ(num_captured(), 2);
  }
}

TEST_F(GraphsTest, ThreadsCaptureAtTheSameTime) {
  start({.graphs = GraphUse::kAlways});
  Stream* const streams[] = {&make_stream(), &make_stream()};
  std::vector<CommandList*> lists[2];
  for (auto& of_thread : lists) {
    for (int i = 0; i < 5; ++i) of_thread.push_back(&make_quadruple());
  }
  std::thread threads[2];
  for (const std::size_t k : {0, 1}) {
    threads[k] = std::thread([&, k] {
      for (CommandList* const list : lists[k]) quadruple(*streams[k], *list, 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_captured(), 10);
  EXPECT_EQ(backend_->graph_counts().last_refusal, "");
}

TEST_F(GraphsTest, ConfinedStreamsGiveTheSame) {
  for (const Confine confine : {Confine::kContexts, Confine::kMasks}) {
    start({.confine = confine});
    Stream& left = make_stream(make_group({2, 3}));
    CommandList& of_left = make_quadruple();
    Stream& right = make_stream(make_group({4, 5, 6, 7}));
    CommandList& of_right = make_quadruple();
    for (int i = 0; i < 4; ++i) {
      quadruple(left, of_left, static_cast<float>(i));
      quadruple(right, of_right, static_cast<float>(-i));
    }
    EXPECT_EQ(num_captured(), 2);
    for (Stream* const stream : {&left, &right}) {
      std::uint32_t strayed = 1;
      EXPECT_EQ(backend_->count_strayed(*stream, &strayed).text, "");
      EXPECT_EQ(strayed, 0U);
    }
  }
}

TEST_F(GraphsTest, KernelsStayOnTheCoresOfTheirStream) {
  start({.confine = Confine::kContexts});
  Kernel& kernel = const_cast<Kernel&>(make_add());
  // In place of the sum: where each of 16 blocks ran.
  kernel.source.text =
      R"(extern "C" __global__ void sluice_kernel(const float*, const float*, float* where) {
  unsigned core;
  asm("mov.u32 %0, %%smid;" : "=r"(core));
  where[blockIdx.x] = core;
}
)";
  kernel.source.operands = {0, 1, -1};
  kernel.source.grid = {16, 1, 1};
  kernel.source.block = {1, 1, 1};
  kernel.num_blocks = 16;
  ASSERT_EQ(backend_->enter(0).text, "");
  ASSERT_EQ(backend_->store().load(0, kernel.source.text, &kernel.code).text, "");
  Stream& stream = make_stream(make_group({6, 7}));
  void* const memory = allocate();
  CommandList& list = make_list();
  add(list, kernel, fixed(memory), fixed(memory), fixed(memory));
  add(list, kernel, fixed(memory), fixed(memory), fixed(memory));
  copy(list, fixed(memory), bound(0), 64);
  finish(list);
  for (int i = 0; i < 4; ++i) {
    std::vector<float> where(16);
    EXPECT_EQ(run(stream, list, {where.data()}).text, "");
    EXPECT_THAT(where, Each(::testing::AnyOf(6.0F, 7.0F)));
  }
  EXPECT_EQ(num_captured(), 1);
}

TEST_F(GraphsTest, WrongIndexIsReportedWithItsNode) {
  for (const Confine confine : {Confine::kNothing, Confine::kMasks}) {
    start({.confine = confine});
    Stream& stream = make_stream();
    const Kernel& first = make_gather("first");
    const Kernel& second = make_gather("second");
    void* const x = allocate();
    void* const places = allocate(kCount * 8);
    void* const y = allocate();
    CommandList& list = make_list();  // binding 1 = x[binding 0][binding 0], from 2
    copy(list, bound(0), fixed(places), kCount * 8);
    copy(list, bound(2), fixed(x));
    add(list, first, fixed(x), fixed(places), fixed(y));
    copy(list, bound(3), fixed(places), kCount * 8);
    add(list, second, fixed(y), fixed(places), fixed(x));
    copy(list, fixed(x), bound(1));
    finish(list);
    std::vector<float> values(kCount);
    std::iota(values.begin(), values.end(), 0.0F);
    const auto gather = [&](std::int64_t one, std::int64_t two, Status* status) {
      std::vector<std::int64_t> ones(kCount, one);
      std::vector<std::int64_t> twos(kCount, two);
      std::vector<float> result(kCount);
      *status = run(stream, list, {ones.data(), result.data(), values.data(), twos.data()});
      return result;
    };
    Status status;
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(gather(5, i, &status), Each(5.0F));
      EXPECT_EQ(status.text, "");
    }
    EXPECT_EQ(num_captured(), 1);
    gather(3, 64, &status);
    EXPECT_EQ(status.code, SLUICE_OUT_OF_RANGE);
    EXPECT_THAT(status.text, HasSubstr("second"));
    EXPECT_THAT(status.text, HasSubstr("64"));
    gather(-65, 3, &status);
    EXPECT_THAT(status.text, HasSubstr("first"));
    EXPECT_THAT(gather(-1, 3, &status), Each(63.0F));
    EXPECT_EQ(status.text, "");
  }
}

TEST_F(GraphsTest, ListMayEndBeforeItsStreamAndStreamBeforeItsList) {
  Stream& stream = make_stream();
  CommandList& list = make_quadruple();
  for (int i = 0; i < 3; ++i) quadruple(stream, list, 1);
  lists_.pop_back();
  CommandList& next = make_quadruple();
  for (int i = 0; i < 3; ++i) quadruple(stream, next, 2);
  streams_.clear();
  lists_.clear();
  EXPECT_EQ(num_captured(), 2);
}

TEST(ParseGraphUse, UnknownWordIsRefusedWithThoseThatAre) {
  GraphUse use = GraphUse::kRepeated;
  EXPECT_THAT(parse_graph_use("yes", &use).text, HasSubstr("none, repeated, always"));
  EXPECT_TRUE(parse_graph_use("none", &use).is_ok());
  EXPECT_EQ(use, GraphUse::kNone);
}

}  // namespace
}  // namespace sluice::cuda

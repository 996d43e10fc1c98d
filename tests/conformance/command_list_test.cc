// Recording and running: bindings, offsets, order, copies, threads.
#include <algorithm>
#include <thread>
#include <utility>

#include "conformance/fixture.h"

namespace sluice::conformance {
namespace {

using backend::bound_argument;
using backend::fixed_argument;
using ir::ElementType;

constexpr std::int64_t kCount = 1000;
constexpr std::int64_t kBytes = kCount * 4;

/// Kernels of y = Relu(x) over kCount floats, in memory of the device.
class CommandLists : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const ir::Type type = tensor_type(ElementType::kF32, {kCount});
    const auto op = OpMaker("Relu", 14).input(type).output(type).make();
    SLUICE_ASSERT_OK(op);
    SLUICE_REQUIRE_SUPPORT(*op);
    auto made = Kernel::create(plugin, 0, *op);
    SLUICE_ASSERT_OK(made);
    relu = *made;
    auto made_group = group_of_all_cores(plugin);
    SLUICE_ASSERT_OK(made_group);
    group = *made_group;
  }

  /// A finished list of one Relu from binding 0 to binding 1.
  Result<CommandList> relu_list(std::int64_t in_offset = 0, std::int64_t out_offset = 0) {
    CommandList list = SLUICE_TRY(CommandList::create(group));
    const sluice_argument in = bound_argument(0, in_offset);
    const sluice_argument out = bound_argument(1, out_offset);
    SLUICE_TRY(list.add_kernel(relu, {&in, 1}, {&out, 1}));
    SLUICE_TRY(list.finish());
    return list;
  }

  Status run(const CommandList& list, std::vector<void*> bindings) {
    Stream stream = SLUICE_TRY(Stream::create(group));
    SLUICE_TRY(stream.submit(list, bindings));
    return stream.wait();
  }

  std::shared_ptr<const Kernel> relu;
  std::shared_ptr<const Group> group;
};
SLUICE_INSTANTIATE_FOR_PLUGINS(CommandLists);

/// Floats of the device's memory, written and read by copies, as for any device.
class Buffer {
 public:
  Buffer(std::shared_ptr<const Group> group, float first, float step, std::int64_t count = kCount)
      : group_(std::move(group)),
        values_(static_cast<std::size_t>(count)),
        memory_(DeviceMemory::allocate(group_->shared_backend(), 0, count * 4).value()) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = first + step * static_cast<float>(i);
    }
    copy(fixed_argument(values_.data()), fixed_argument(memory_.address()));
  }

  /// What the device has now.
  const std::vector<float>& read() {
    copy(fixed_argument(memory_.address()), fixed_argument(values_.data()));
    return values_;
  }
  void* address() { return memory_.address(); }

 private:
  void copy(const sluice_argument& from, const sluice_argument& to) {
    const auto copied = [&]() -> Status {
      CommandList list = SLUICE_TRY(CommandList::create(group_));
      SLUICE_TRY(list.add_copy(from, to, static_cast<std::int64_t>(values_.size() * 4)));
      SLUICE_TRY(list.finish());
      Stream stream = SLUICE_TRY(Stream::create(group_));
      SLUICE_TRY(stream.submit(list, {}));
      return stream.wait();
    }();
    SLUICE_EXPECT_OK(copied);
  }

  std::shared_ptr<const Group> group_;
  std::vector<float> values_;
  DeviceMemory memory_;
};

std::vector<float> relu_of(std::vector<float> values) {
  for (float& value : values) value = std::max(0.0F, value);
  return values;
}

TEST_P(CommandLists, RunAgainWithOtherBindings) {
  auto list = relu_list();
  SLUICE_ASSERT_OK(list);
  for (const float first : {-500.0F, 3.0F, -10.0F}) {
    Buffer x(group, first, 1);
    Buffer y(group, 77, 0);
    SLUICE_ASSERT_OK(run(*list, {x.address(), y.address()}));
    ASSERT_EQ(y.read(), relu_of(x.read()));
  }
}

TEST_P(CommandLists, OffsetsAreAddedToTheBinding) {
  constexpr std::int64_t kIn = 4096;
  constexpr std::int64_t kOut = 8192;
  auto list = relu_list(kIn, kOut);
  SLUICE_ASSERT_OK(list);
  Buffer x(group, -1500, 1, 4 * kCount);
  Buffer y(group, 77, 0, 4 * kCount);
  SLUICE_ASSERT_OK(run(*list, {x.address(), y.address()}));
  std::vector<float> expected(4 * kCount, 77);
  for (std::size_t i = 0; i < kCount; ++i) {
    expected[kOut / 4 + i] = std::max(0.0F, x.read()[kIn / 4 + i]);
  }
  EXPECT_EQ(y.read(), expected);
}

TEST_P(CommandLists, EachEntrySeesEarlierResults) {
  Buffer x(group, -500, 1);
  Buffer kept(group, 0, 0);
  Buffer y(group, 0, 0);
  auto list = CommandList::create(group);
  SLUICE_ASSERT_OK(list);
  const sluice_argument from = bound_argument(0, 0);
  const sluice_argument middle = fixed_argument(kept.address());
  const sluice_argument to = bound_argument(1, 0);
  SLUICE_ASSERT_OK(list->add_copy(from, middle, kBytes));
  SLUICE_ASSERT_OK(list->add_kernel(relu, {&middle, 1}, {&to, 1}));
  SLUICE_ASSERT_OK(list->add_copy(to, from, kBytes));
  SLUICE_ASSERT_OK(list->add_copy(from, middle, 0));
  SLUICE_ASSERT_OK(list->finish());
  SLUICE_ASSERT_OK(run(*list, {x.address(), y.address()}));
  EXPECT_EQ(kept.read().front(), -500);
  EXPECT_EQ(y.read().front(), 0);
  EXPECT_EQ(x.read().front(), 0);
  EXPECT_EQ(x.read().back(), static_cast<float>(kCount - 501));
}

TEST_P(CommandLists, ListsOfOneStreamRunInOrder) {
  auto first = relu_list();
  auto second = relu_list();
  auto stream = Stream::create(group);
  SLUICE_ASSERT_OK(first);
  SLUICE_ASSERT_OK(second);
  SLUICE_ASSERT_OK(stream);
  Buffer a(group, -500, 1);
  Buffer b(group, 0, 0);
  Buffer c(group, 0, 0);
  SLUICE_ASSERT_OK(stream->submit(*first, std::vector<void*>{a.address(), b.address()}));
  SLUICE_ASSERT_OK(stream->submit(*second, std::vector<void*>{b.address(), c.address()}));
  SLUICE_ASSERT_OK(stream->wait());
  EXPECT_EQ(c.read(), relu_of(a.read()));
}

TEST_P(CommandLists, KernelRunsInTwoListsOnTwoThreads) {
  const auto work = [this](float first, Status& status) {
    status = [&]() -> Status {
      const CommandList list = SLUICE_TRY(relu_list());
      Stream stream = SLUICE_TRY(Stream::create(group));
      Buffer x(group, first, 1);
      const std::vector<float> expected = relu_of(x.read());
      for (int run = 0; run < 50; ++run) {
        Buffer y(group, 77, 0);
        SLUICE_TRY(stream.submit(list, std::vector<void*>{x.address(), y.address()}));
        SLUICE_TRY(stream.wait());
        if (y.read() != expected) return internal_error("run {}: y is wrong", run);
      }
      return ok_status();
    }();
  };
  Status one;
  Status other;
  std::thread thread(work, -300.0F, std::ref(one));
  work(-700.0F, other);
  thread.join();
  SLUICE_EXPECT_OK(one);
  SLUICE_EXPECT_OK(other);
}

/// A plug-in without the extension says so, and its list stays as it was.
TEST_P(CommandLists, ExchangedKernelsComputeTheirShapes) {
  const ir::Type half = tensor_type(ElementType::kF32, {kCount / 2});
  const auto op = OpMaker("Relu", 14).input(half).output(half).make();
  SLUICE_ASSERT_OK(op);
  auto made = Kernel::create(plugin, 0, *op);
  SLUICE_ASSERT_OK(made);
  auto list = relu_list();
  SLUICE_ASSERT_OK(list);
  const std::int32_t entry = 0;
  std::vector<std::pair<std::shared_ptr<const Kernel>, std::int64_t>> kernels = {
      {*made, kCount / 2}, {relu, kCount}, {*made, kCount / 2}};
  for (const auto& [kernel, count] : kernels) {
    const Status exchanged = list->exchange({&entry, 1}, {&kernel, 1});
    const bool has_extension = exchanged.code() != Code::kUnimplemented;
    if (has_extension) SLUICE_ASSERT_OK(exchanged);
    Buffer x(group, -100, 1);
    Buffer y(group, 77, 0);
    SLUICE_ASSERT_OK(run(*list, {x.address(), y.address()}));
    std::vector<float> expected(kCount, 77);
    const auto values = relu_of(x.read());
    std::copy_n(values.begin(), has_extension ? count : kCount, expected.begin());
    EXPECT_EQ(y.read(), expected);
  }
}

TEST_P(CommandLists, RefuseCallsInTheWrongState) {
  auto list = CommandList::create(group);
  auto stream = Stream::create(group);
  SLUICE_ASSERT_OK(list);
  SLUICE_ASSERT_OK(stream);
  EXPECT_FALSE(stream->submit(*list, {}).is_ok()) << "submitted before it is finished";
  SLUICE_ASSERT_OK(list->finish());
  const sluice_argument argument = bound_argument(0, 0);
  EXPECT_FALSE(list->add_kernel(relu, {&argument, 1}, {&argument, 1}).is_ok());
  EXPECT_FALSE(list->add_copy(argument, argument, 4).is_ok());
}

TEST_P(CommandLists, RefuseWrongArguments) {
  auto list = CommandList::create(group);
  SLUICE_ASSERT_OK(list);
  const sluice_argument good = bound_argument(0, 0);
  const sluice_argument absent = backend::absent_argument();
  EXPECT_FALSE(list->add_kernel(relu, {}, {&good, 1}).is_ok()) << "no input";
  EXPECT_FALSE(list->add_kernel(relu, {&good, 1}, {}).is_ok()) << "no output";
  EXPECT_FALSE(list->add_kernel(relu, {&absent, 1}, {&good, 1}).is_ok()) << "absent input";
  EXPECT_FALSE(list->add_copy(good, good, -1).is_ok()) << "negative size";
}

TEST_P(CommandLists, RefuseFewerBindingsThanTheyName) {
  auto list = relu_list();
  auto stream = Stream::create(group);
  SLUICE_ASSERT_OK(list);
  SLUICE_ASSERT_OK(stream);
  Buffer x(group, 0, 1);
  EXPECT_FALSE(stream->submit(*list, std::vector<void*>{x.address()}).is_ok());
  SLUICE_EXPECT_OK(stream->wait());
}

}  // namespace
}  // namespace sluice::conformance

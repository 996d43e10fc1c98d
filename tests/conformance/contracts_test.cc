// The properties that a kernel declares must hold: shared memory, actual dimensions, layouts.
#include "conformance/fixture.h"

namespace sluice::conformance {
namespace {

using backend::fixed_argument;
using ir::ElementType;

class Contracts : public Conformance {
 protected:
  /// One kernel over memory that the host reads and writes.
  Status run(const std::shared_ptr<const Kernel>& kernel, const sluice_argument& in,
             const sluice_argument& out) {
    const auto group = SLUICE_TRY(group_of_all_cores(plugin));
    CommandList list = SLUICE_TRY(CommandList::create(group));
    SLUICE_TRY(list.add_kernel(kernel, {&in, 1}, {&out, 1}));
    SLUICE_TRY(list.finish());
    Stream stream = SLUICE_TRY(Stream::create(group));
    SLUICE_TRY(stream.submit(list, {}));
    return stream.wait();
  }

  void require_host_memory() {
    if (!plugin->devices()[0].has_host_memory) GTEST_SKIP() << "device 0 has no host memory";
  }
};
SLUICE_INSTANTIATE_FOR_PLUGINS(Contracts);

TEST_P(Contracts, KernelThatMayOverwriteItsInputCan) {
  require_host_memory();
  if (IsSkipped()) return;
  const ir::Type type = tensor_type(ElementType::kF32, {1000});
  const auto op = OpMaker("Relu", 14).input(type).output(type).make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
  const auto kernel = Kernel::create(plugin, 0, *op);
  SLUICE_ASSERT_OK(kernel);
  if (!(*kernel)->may_overwrite(0)) GTEST_SKIP() << "Relu takes memory of its own";
  const auto memory = DeviceMemory::allocate(plugin, 0, 4000);
  SLUICE_ASSERT_OK(memory);
  auto* values = static_cast<float*>(memory->address());
  for (int i = 0; i < 1000; ++i) values[i] = static_cast<float>(i - 500);
  const sluice_argument argument = fixed_argument(values);
  SLUICE_ASSERT_OK(run(*kernel, argument, argument));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(values[i], static_cast<float>(std::max(0, i - 500)));
}

TEST_P(Contracts, ActualDimensionsAreReportedAndElementsPacked) {
  require_host_memory();
  if (IsSkipped()) return;
  const auto op = OpMaker("NonZero")
                      .input(tensor_type(ElementType::kF32, {2, 3}))
                      .output(tensor_type(ElementType::kI64, {2, 6}))
                      .make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
  const auto kernel = Kernel::create(plugin, 0, *op);
  SLUICE_ASSERT_OK(kernel);
  alignas(SLUICE_ALIGNMENT) float x[6] = {0, 1, 0, 2, 0, 3};
  alignas(SLUICE_ALIGNMENT) std::int64_t y[12] = {};
  std::int64_t dims[2] = {-1, -1};
  sluice_argument out = fixed_argument(y);
  out.actual_dims = dims;
  SLUICE_ASSERT_OK(run(*kernel, fixed_argument(x), out));
  EXPECT_EQ(dims[0], 2);
  ASSERT_EQ(dims[1], 3);
  const std::vector<std::int64_t> expected = {0, 1, 1, 1, 0, 2};
  EXPECT_EQ(std::vector<std::int64_t>(y, y + 6), expected);
}

TEST_P(Contracts, ReorderRoundTripKeepsElements) {
  const ir::Type plain = tensor_type(ElementType::kF32, {2, 19, 3, 5});
  const ir::Type blocked = plain.with_layout(ir::Layout::kC16);
  const auto reorder = [](const ir::Type& from, const ir::Type& to) {
    return OpMaker("Reorder", 1, "sluice")
        .input(from)
        .output(to)
        .attribute("layout", std::string(ir::layout_name(to.layout())))
        .make();
  };
  const auto there = reorder(plain, blocked);
  const auto back = reorder(blocked, plain);
  SLUICE_ASSERT_OK(there);
  SLUICE_ASSERT_OK(back);
  SLUICE_REQUIRE_SUPPORT(*there);
  SLUICE_REQUIRE_SUPPORT(*back);
  std::vector<double> values(2 * 19 * 15);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Tensor x = Tensor::of(ElementType::kF32, {2, 19, 3, 5}, values);
  const auto middle = run_once(plugin, *there, std::vector<Tensor>{x});
  SLUICE_ASSERT_OK(middle);
  const std::vector<double> blocks = (*middle)[0].values();
  ASSERT_EQ(blocks.size(), 2U * 32 * 15);
  EXPECT_EQ(blocks[1], values[15]) << "the second channel follows the first";
  EXPECT_EQ(blocks[16], values[1]) << "then the next place of the first channel";
  EXPECT_EQ(blocks[15 * 16 + 2], values[18 * 15]) << "channel 18 is third of the second block";
  const auto again = run_once(plugin, *back, *middle);
  SLUICE_ASSERT_OK(again);
  EXPECT_EQ((*again)[0].values(), values);
}

}  // namespace
}  // namespace sluice::conformance

// Inputs that are read in place at any address of an element, and outputs that leave the context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::load;

constexpr std::string_view kKernels = R"(
subgraph @0 "main" {
  input %x : f32[1,3,9,9]
  input %w : f32[5,3,3,3]
  input %m : f32[9,7]
  input %i : i64[4]
  [%c : f32[1,5,7,7]] = Conv.11[%x, %w]
  [%p : f32[1,3,9,7]] = MatMul.13[%x, %m]
  [%t : f32[1,9,9,3]] = Transpose.13[%x] {perm = [0, 3, 2, 1]}
  [%s : f32[1,3,9,9]] = Softmax.13[%x] {axis = -1}
  [%g : f32[4,7]] = Gather.13[%m, %i] {axis = 0}
  [%d : f64[1,3,9,9]] = Cast.13[%x] {to = 11}
  [%e : f32[1,3,9,9]] = Erf.13[%x]
  output [%c, %p, %t, %s, %g, %d, %e]
}
)";

template <typename T>
terms::TensorView view_at(std::vector<std::byte>& memory, std::size_t offset,
                          ir::ElementType element, std::vector<std::int64_t> dims,
                          const std::vector<T>& values) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* data = memory.data() + (64 - address % 64) + offset;
  std::memcpy(data, values.data(), values.size() * sizeof(T));
  return {data, static_cast<std::int64_t>(values.size() * sizeof(T)), element, std::move(dims)};
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i * 37 % 101) / 50.0F - 1.0F;
  }
  return values;
}

Context context_of(const LoadedModel& model) {
  auto context = model.create_context();
  EXPECT_TRUE(context.is_ok()) << context.status().to_string();
  return std::move(context).value();
}

/// Runs kKernels with inputs `offset` bytes behind an aligned address; the bytes of its outputs.
class AtOffset {
 public:
  explicit AtOffset(const LoadedModel& model) : context_(context_of(model)) {}

  std::vector<std::string> run(std::size_t offset) {
    const auto f32 = ir::ElementType::kF32;
    const std::vector<std::int64_t> rows = {8, 0, 3, 1};
    set(0, view_at(memory_[0], offset, f32, {1, 3, 9, 9}, numbers(243)));
    set(1, view_at(memory_[1], offset, f32, {5, 3, 3, 3}, numbers(135)));
    set(2, view_at(memory_[2], offset, f32, {9, 7}, numbers(63)));
    set(3, view_at(memory_[3], offset - offset % 8, ir::ElementType::kI64, {4}, rows));
    const Status status = context_.run();
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    std::vector<std::string> outputs;
    for (std::size_t i = 0; i < 7; ++i) {
      const terms::TensorView& view = context_.output(i);
      outputs.emplace_back(static_cast<const char*>(view.data),
                           static_cast<std::size_t>(view.size_bytes));
    }
    return outputs;
  }

  std::int64_t memory_bytes() const { return context_.memory_bytes(); }

 private:
  void set(std::size_t index, const terms::TensorView& view) {
    const Status status = context_.set_input(index, view);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }

  Context context_;
  std::vector<std::vector<std::byte>> memory_ =
      std::vector<std::vector<std::byte>>(4, std::vector<std::byte>(2048));
};

TEST(Inputs, CpuReadsThemInPlaceAtEveryAddressOfAnElement) {
  AtOffset runs(load(kKernels, "cpu"));
  const auto expected = runs.run(0);
  const std::int64_t without_copies = runs.memory_bytes();
  for (std::size_t offset = 4; offset <= 64; offset += 4) {
    EXPECT_EQ(runs.run(offset), expected) << "offset " << offset;
    EXPECT_EQ(runs.memory_bytes(), without_copies) << "copied at offset " << offset;
  }
}

TEST(Inputs, BetweenTwoElementsTheyAreCopied) {
  AtOffset runs(load(kKernels, "cpu"));
  const auto expected = runs.run(0);
  const std::int64_t without_copies = runs.memory_bytes();
  EXPECT_EQ(runs.run(2), expected);
  EXPECT_GE(runs.memory_bytes(), without_copies + (243 + 135 + 63) * 4);
}

TEST(Inputs, BackendsWithoutTheExtensionGetAlignedCopies) {
  AtOffset runs(load(kKernels, "reference"));
  const auto expected = runs.run(0);
  const std::int64_t without_copies = runs.memory_bytes();
  EXPECT_EQ(runs.run(16), expected);
  EXPECT_GT(runs.memory_bytes(), without_copies);
}

constexpr std::string_view kDouble = R"(
subgraph @0 "main" {
  input %x : f32[N]
  [%y : f32[N]] = Add.14[%x, %x]
  output [%y]
}
)";

TEST(Outputs, TakenMemoryOutlivesRunsAndTheContext) {
  Aligned<float> x({1, 2, 3});
  std::vector<Tensor> taken;
  {
    Context context = context_of(load(kDouble, "cpu"));
    ASSERT_TRUE(context.set_input(0, f32_view(x, {3})).is_ok());
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(context.run().is_ok());
      const void* written = context.output(0).data;
      auto output = context.take_output(0);
      ASSERT_TRUE(output.is_ok()) << output.status().to_string();
      EXPECT_EQ(output->view.data, written);
      taken.push_back(*std::move(output));
      x.data()[0] = 5;
    }
  }
  EXPECT_THAT(floats(taken[0].view), ElementsAre(2, 4, 6));
  EXPECT_THAT(floats(taken[1].view), ElementsAre(10, 4, 6));
}

TEST(Outputs, AreTakenOncePerRunAndNeverIfBound) {
  Aligned<float> x({1, 2, 3});
  Aligned<float> y({0, 0, 0});
  Context context = context_of(load(kDouble, "cpu"));
  ASSERT_TRUE(context.set_input(0, f32_view(x, {3})).is_ok());
  EXPECT_EQ(context.take_output(0).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(context.take_output(1).status().code(), Code::kInvalidArgument);
  ASSERT_TRUE(context.run().is_ok());
  ASSERT_TRUE(context.take_output(0).is_ok());
  EXPECT_THAT(context.take_output(0).status().message(), HasSubstr("was taken"));
  ASSERT_TRUE(context.bind_output(0, y.data(), 12).is_ok());
  ASSERT_TRUE(context.run().is_ok());
  EXPECT_THAT(context.take_output(0).status().message(), HasSubstr("bound"));
}

constexpr std::string_view kWithDefault = R"(
subgraph @0 "main" {
  input %x : f32[3]
  input %k : f32[3]
  const %default : f32[3] = [2.0, 3.0, 4.0]
  [%value : f32[3]] = sluice::InputOrDefault.1[%k, %default]
  [%y : f32[3]] = Mul.14[%x, %value]
  output [%y]
}
)";

TEST(Inputs, WithADefaultMayBeLeftOut) {
  for (const char* backend : {"cpu", "reference"}) {
    const LoadedModel model = load(kWithDefault, backend);
    EXPECT_FALSE(model.signature().inputs[0].has_default);
    EXPECT_TRUE(model.signature().inputs[1].has_default);
    Aligned<float> x({1, 2, 3});
    Aligned<float> k({10, 20, 30});
    Context context = context_of(model);
    ASSERT_TRUE(context.set_input(0, f32_view(x, {3})).is_ok());
    const auto run = [&] {
      EXPECT_TRUE(context.run().is_ok());
      return floats(context.output(0));
    };
    EXPECT_THAT(run(), ElementsAre(2, 6, 12));
    ASSERT_TRUE(context.set_input(1, f32_view(k, {3})).is_ok());
    EXPECT_THAT(run(), ElementsAre(10, 40, 90));
    ASSERT_TRUE(context.reset_input(1).is_ok());
    EXPECT_THAT(run(), ElementsAre(2, 6, 12));
    EXPECT_THAT(context.reset_input(0).message(), HasSubstr("\"x\" has no default value"));
    EXPECT_EQ(context.reset_input(2).code(), Code::kInvalidArgument);
  }
}

TEST(Inputs, WithADefaultOfAnotherShapeHaveNone) {
  std::string text(kWithDefault);
  const std::string_view value = "f32[3] = [2.0, 3.0, 4.0]";
  text.replace(text.find(value), value.size(), "f32[2] = [2.0, 3.0]");
  const package::Executable executable = testing::executable_of(text);
  EXPECT_FALSE(package::signature_of(executable.graph).inputs[1].has_default);
}

}  // namespace
}  // namespace sluice::exec

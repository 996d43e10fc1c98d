// Sequences, optionals and strings: through inputs, steps and outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backend/texts.h"
#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::i64_view;
using testing::load;

Context make_sequence_context(const LoadedModel& model) {
  auto context = model.create_context();
  EXPECT_TRUE(context.is_ok()) << context.status().to_string();
  return std::move(context).value();
}

void run_steps(Context& context) {
  const Status status = context.run();
  ASSERT_TRUE(status.is_ok()) << status.to_string();
}

std::shared_ptr<const Tensor> item(const std::vector<float>& values) {
  Aligned<float> memory(values);
  return *copy_tensor(f32_view(memory, {static_cast<std::int64_t>(values.size())}));
}

Value sequence(std::vector<std::shared_ptr<const Tensor>> items) {
  return {nullptr, std::make_shared<Sequence>(Sequence{ir::ElementType::kF32, std::move(items)})};
}

TEST(Sequence, SequencesAreInputsModifiedAndOutputs) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %s : seq(f32[N])
  input %x : f32[2]
  const %first : i64[] = [0]
  [%more : seq(f32[?])] = SequenceInsert.11[%s, %x, %first]
  [%fewer : seq(f32[?])] = SequenceErase.11[%more]
  [%count : i64[]] = SequenceLength.11[%fewer]
  [%joined : f32[?]] = ConcatFromSequence.11[%more] {axis = 0, new_axis = 0}
  output [%fewer, %count, %joined, %s]
}
)");
  Context context = make_sequence_context(model);
  Aligned<float> x({8, 9});
  ASSERT_TRUE(context.set_input_value(0, sequence({item({1, 2, 3}), item({4})})).is_ok());
  ASSERT_TRUE(context.set_input(1, f32_view(x, {2})).is_ok());
  for (int i = 0; i < 2; ++i) {
    run_steps(context);
    const Value& fewer = context.output_value(0);
    ASSERT_EQ(fewer.sequence->items.size(), 2U);
    EXPECT_THAT(floats(fewer.sequence->items[0]->view), ElementsAre(8, 9));
    EXPECT_THAT(floats(fewer.sequence->items[1]->view), ElementsAre(1, 2, 3));
    EXPECT_EQ(*static_cast<const std::int64_t*>(context.output(1).data), 2);
    EXPECT_THAT(floats(context.output(2)), ElementsAre(8, 9, 1, 2, 3, 4));
    EXPECT_EQ(context.output_value(3).sequence->items.size(), 2U) << "the input stays as it was";
  }
}

std::size_t product(const std::vector<std::int64_t>& dims) {
  std::size_t all = 1;
  for (const std::int64_t dim : dims) all *= static_cast<std::size_t>(dim);
  return all;
}

/// The axis is one of the first item; a shorter item has no place for it.
TEST(Sequence, ItemsOfDifferentRanksCannotBeJoined) {
  using Dims = std::vector<std::int64_t>;
  struct Case {
    Dims first;
    Dims second;
    int axis;
    int new_axis;
  };
  const Case cases[] = {{{2, 3}, {}, 2, 1},     {{2, 3}, {}, -1, 1},       {{4}, {}, 1, 1},
                        {{2, 2, 2}, {2}, 3, 1}, {{2, 3}, {2, 3, 1}, 0, 1}, {{}, {1}, 0, 1},
                        {{2, 3}, {}, 1, 0},     {{2, 3}, {6}, -1, 0},      {{4}, {4, 1}, 0, 0},
                        {{2, 3}, {2, 4}, 0, 1}, {{2, 3}, {3, 3}, 1, 0}};
  for (const Case& one : cases) {
    const LoadedModel model = load(fmt::format(R"(
subgraph @0 "main" {{
  input %a : f32[{}]
  input %b : f32[{}]
  [%s : seq(f32[?])] = SequenceConstruct.11[%a, %b]
  [%joined : f32[?]] = ConcatFromSequence.11[%s] {{axis = {}, new_axis = {}}}
  output [%joined]
}}
)",
                                               fmt::join(one.first, ","),
                                               fmt::join(one.second, ","), one.axis, one.new_axis));
    Context context = make_sequence_context(model);
    const auto ones = [](const Dims& dims) {
      return Aligned<float>(std::vector<float>(product(dims), 1.0F));
    };
    Aligned<float> first = ones(one.first);
    Aligned<float> second = ones(one.second);
    ASSERT_TRUE(context.set_input(0, f32_view(first, one.first)).is_ok());
    ASSERT_TRUE(context.set_input(1, f32_view(second, one.second)).is_ok());
    EXPECT_THAT(context.run().message(), HasSubstr("cannot be joined")) << one.axis;
  }
}

TEST(Sequence, SequenceOfWrongTypeIsRefused) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %s : seq(f32[2])
  [%n : i64[]] = SequenceLength.11[%s]
  output [%n]
}
)");
  Context context = make_sequence_context(model);
  EXPECT_THAT(context.set_input_value(0, sequence({item({1})})).message(),
              HasSubstr("model takes seq(f32[2])"));
  Aligned<float> x({8, 9});
  EXPECT_EQ(context.set_input(0, f32_view(x, {2})).code(), Code::kInvalidArgument);
  EXPECT_EQ(context.set_input_value(0, Value{}).code(), Code::kInvalidArgument);
}

TEST(Sequence, PositionsOutsideAreRefused) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %s : seq(f32[N])
  input %at : i64[]
  [%y : f32[N]] = SequenceAt.11[%s, %at]
  output [%y]
}
)");
  Context context = make_sequence_context(model);
  ASSERT_TRUE(context.set_input_value(0, sequence({item({1}), item({2, 3})})).is_ok());
  for (const std::int64_t at : {-3, 2}) {
    Aligned<std::int64_t> position({at});
    ASSERT_TRUE(context.set_input(1, i64_view(position, {})).is_ok());
    EXPECT_THAT(context.run().message(), HasSubstr("outside a sequence of 2 items"));
  }
  Aligned<std::int64_t> last({-1});
  ASSERT_TRUE(context.set_input(1, i64_view(last, {})).is_ok());
  run_steps(context);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(2, 3));
}

TEST(Optional, MayBeEmptyOrHoldATensor) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %o : optional(f32[N])
  [%has : bool[]] = OptionalHasElement.28[%o]
  [%y : f32[?]] = If.25[%has, %o] {captures = 1, else_branch = @2, then_branch = @1}
  output [%has, %y]
}
subgraph @1 "then" {
  input %o : optional(f32[N])
  [%e : f32[N]] = OptionalGetElement.28[%o]
  [%r : f32[N]] = Neg.13[%e]
  output [%r]
}
subgraph @2 "else" {
  input %o : optional(f32[N])
  const %none : f32[1] = [7.0]
  output [%none]
}
)");
  Context context = make_sequence_context(model);
  ASSERT_TRUE(context.set_input_value(0, Value{}).is_ok());
  run_steps(context);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(context.output(0).data), 0);
  EXPECT_THAT(floats(context.output(1)), ElementsAre(7));
  ASSERT_TRUE(context.set_input_value(0, Value{item({1, 2}), nullptr}).is_ok());
  run_steps(context);
  EXPECT_EQ(*static_cast<const std::uint8_t*>(context.output(0).data), 1);
  EXPECT_THAT(floats(context.output(1)), ElementsAre(-1, -2));
}

/// Three strings as callers have them.
std::vector<std::byte> encoded(const std::vector<std::string>& words) {
  std::vector<sluice_text> texts;
  for (const std::string& word : words) {
    texts.push_back({word.data(), static_cast<std::int64_t>(word.size())});
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(*backend::encoded_bytes(texts)));
  backend::encode_texts(texts, bytes);
  return bytes;
}

TEST(Strings, FlowThroughConstantsKernelsBranchesAndOutputs) {
  const LoadedModel model = load(R"(
subgraph @0 "main" {
  input %x : string[N]
  input %c : bool[]
  const %mark : string[1] = hex 000000000000000002000000000000003c3e
  [%all : string[?]] = Concat.13[%x, %mark] {axis = 0}
  [%y : string[?]] = If.25[%c, %all, %x] {captures = 2, else_branch = @2, then_branch = @1}
  output [%y]
}
subgraph @1 "then" {
  input %all : string[?]
  input %x : string[?]
  output [%all]
}
subgraph @2 "else" {
  input %all : string[?]
  input %x : string[?]
  output [%x]
}
)");
  Context context = make_sequence_context(model);
  auto words = encoded({"one", "", "drei"});
  Aligned<std::uint8_t> condition({1});
  ASSERT_TRUE(context
                  .set_input(0, {words.data(),
                                 static_cast<std::int64_t>(words.size()),
                                 ir::ElementType::kString,
                                 {3}})
                  .is_ok());
  ASSERT_TRUE(context.set_input(1, {condition.data(), 1, ir::ElementType::kBool, {}}).is_ok());
  for (const std::uint8_t value : {1, 0}) {
    *condition.data() = value;
    run_steps(context);
    const terms::TensorView& y = context.output(0);
    const auto wanted = value == 1 ? encoded({"one", "", "drei", "<>"}) : words;
    EXPECT_THAT(y.dims, ElementsAre(value == 1 ? 4 : 3));
    ASSERT_EQ(y.size_bytes, static_cast<std::int64_t>(wanted.size()));
    EXPECT_EQ(std::memcmp(y.data, wanted.data(), wanted.size()), 0);
  }
  words[8] = std::byte{99};  // the first string would end outside
  EXPECT_THAT(context.run().message(), HasSubstr("input \"x\""));
}

}  // namespace
}  // namespace sluice::exec

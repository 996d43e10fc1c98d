// Models in memory, outputs that the caller keeps, sequences, optionals and strings, as a program
// reaches them: through sluice/sluice.hpp and libsluice.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/file.h"
#include "exec/testing/exec_testing.h"
#include "package/package_bytes.h"
#include "sluice/sluice.hpp"
#include "support/paths.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr sluice::Code kInvalidArgument = sluice::Code::kInvalidArgument;
constexpr sluice::Code kNotFound = sluice::Code::kNotFound;
constexpr sluice::Code kFailedPrecondition = sluice::Code::kFailedPrecondition;
constexpr sluice::Code kDataLoss = sluice::Code::kDataLoss;

Context context_of(std::string_view graph_text, std::string_view backend = "cpu") {
  const auto bytes = package::package_bytes(exec::testing::executable_of(graph_text, backend));
  EXPECT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  auto model = Model::open_copy(bytes->view(), 1);
  EXPECT_TRUE(model) << model.error().message;
  return *model->create_context();
}

std::string digits() {
  return testing::source_path("tests/golden/package/format_1_0.sluice").string();
}

std::vector<float> classify(const Model& model) {
  auto context = *model.create_context();
  const std::vector<float> pixels(64, 0.5F);
  EXPECT_FALSE(context.set_input<float>("image", pixels, {1, 1, 8, 8}));
  EXPECT_FALSE(context.run());
  const auto output = context.output<float>(model.output(0).name);
  return {output->values.begin(), output->values.end()};
}

TEST(OpenModel, FromMemoryAndDescriptorsAnswersAsFromThePath) {
  const auto expected = classify(*Model::open(digits(), 1));
  const Bytes file = *map_file(digits());
  EXPECT_EQ(classify(*Model::open_borrowed(file.view(), 1)), expected);
  std::vector<std::byte> copy(file.view().begin(), file.view().end());
  auto copied = Model::open_copy(copy, 1);
  std::fill(copy.begin(), copy.end(), std::byte{0});
  EXPECT_EQ(classify(*copied), expected);
  const int fd = ::open(digits().c_str(), O_RDONLY | O_CLOEXEC);
  auto from_fd = Model::open_fd(fd, 1);
  ::close(fd);
  ASSERT_TRUE(from_fd) << from_fd.error().message;
  EXPECT_EQ(classify(*from_fd), expected);
}

TEST(OpenModel, RefusesDamagedBytesMisalignmentAndClosedDescriptors) {
  const Bytes file = *map_file(digits());
  EXPECT_EQ(Model::open_copy(file.view().first(file.size() / 2)).error().code, kDataLoss);
  EXPECT_EQ(Model::open_copy(std::array<std::byte, 64>{}).error().code, kInvalidArgument);
  const auto moved = Model::open_borrowed(file.view().subspan(8));
  EXPECT_THAT(moved.error().message, HasSubstr("aligned to 64"));
  sluice_model* model = nullptr;
  EXPECT_EQ(sluice_model_open_bytes(nullptr, 1, SLUICE_BYTES_COPY, nullptr, &model),
            SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_model_open_bytes(file.data(), file.size(), 7, nullptr, &model),
            SLUICE_INVALID_ARGUMENT);
  const auto closed = Model::open_fd(-1);
  EXPECT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr("file descriptor -1"));
}

TEST(OpenModel, TellsItsMetadata) {
  const auto model = *Model::open(digits(), 1);
  const auto facts = model.metadata();
  EXPECT_THAT(facts, ::testing::Contains(::testing::Key("ir_version")));
}

TEST(ShortFloats, RoundToTheNearestAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    const float value = static_cast<float>(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(Half(value).bits, half.bits) << bits;
  }
  EXPECT_EQ(static_cast<float>(Half(1.0F + 0x1p-11F)), 1.0F) << "a tie goes to the even";
  EXPECT_EQ(static_cast<float>(Half(1.0F + 0x3p-11F)), 1.0F + 0x2p-10F);
  EXPECT_EQ(static_cast<float>(Half(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(static_cast<float>(Half(65520.0F))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
  EXPECT_EQ(static_cast<float>(BFloat16(-3.0F)), -3.0F);
  EXPECT_EQ(static_cast<float>(BFloat16(1.0F + 0x1p-8F)), 1.0F) << "a tie goes to the even";
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
}

constexpr std::string_view kHalves = R"(
subgraph @0 "main" {
  input %x : f16[N]
  [%y : bf16[N]] = Cast.13[%x] {to = 16}
  output [%y]
}
)";

TEST(ShortFloats, AreInputsAndOutputs) {
  Context context = context_of(kHalves);
  const std::vector<Half> x = {Half(1.5F), Half(-2.0F)};
  ASSERT_FALSE(context.set_input<Half>("x", x, {2}));
  ASSERT_FALSE(context.run());
  const auto y = context.output<BFloat16>("y");
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(static_cast<float>(y->values[0]), 1.5F);
  EXPECT_EQ(static_cast<float>(y->values[1]), -2.0F);
}

TEST(TakeOutput, OutlivesItsContext) {
  std::vector<OwnedOutput<BFloat16>> kept;
  {
    Context context = context_of(kHalves);
    for (const float number : {1.0F, 2.0F}) {
      const std::vector<Half> x = {Half(number)};
      ASSERT_FALSE(context.set_input<Half>("x", x, {1}));
      ASSERT_FALSE(context.run());
      kept.push_back(*context.take_output<BFloat16>("y"));
      EXPECT_EQ(context.output<BFloat16>("y").error().code, kFailedPrecondition);
      EXPECT_EQ(context.take_output<BFloat16>("y").error().code, kFailedPrecondition);
    }
  }
  EXPECT_EQ(static_cast<float>(kept[0].values()[0]), 1.0F);
  EXPECT_EQ(static_cast<float>(kept[1].values()[0]), 2.0F);
  EXPECT_EQ(kept[0].dims()[0], 1);
}

constexpr std::string_view kSequence = R"(
subgraph @0 "main" {
  input %s : seq(f32[N])
  input %x : f32[2]
  [%more : seq(f32[?])] = SequenceInsert.11[%s, %x]
  output [%more]
}
)";

TEST(Elements, SequencesGoInAndComeOutOneByOne) {
  Context context = context_of(kSequence);
  float first[] = {1, 2, 3};
  const std::int64_t three = 3;
  const sluice_array element = {first, sizeof(first), 1, 1, &three};
  ASSERT_FALSE(context.set_input_elements("s", {&element, 1}));
  first[0] = 7;  // the context has a copy
  const std::vector<float> x = {8, 9};
  ASSERT_FALSE(context.set_input<float>("x", x, {2}));
  EXPECT_EQ(context.output_length("more").error().code, kFailedPrecondition);
  ASSERT_FALSE(context.run());
  EXPECT_EQ(*context.output_length("more"), 2U);
  EXPECT_THAT(context.output_element<float>("more", 0)->values, ElementsAre(1, 2, 3));
  EXPECT_THAT(context.output_element<float>("more", 1)->values, ElementsAre(8, 9));
  EXPECT_EQ(context.output_element<float>("more", 2).error().code, kInvalidArgument);
  EXPECT_EQ(context.output_element<float>("less", 0).error().code, kNotFound);
  EXPECT_THAT(context.output<float>("more").error().message, HasSubstr("output_element"));
  ASSERT_FALSE(context.set_input_elements("s", {}));
  ASSERT_FALSE(context.run());
  EXPECT_EQ(*context.output_length("more"), 1U);
}

TEST(Elements, WrongSizeOrTypeIsRefused) {
  Context context = context_of(kSequence);
  float values[] = {1, 2, 3};
  const std::int64_t dim = 3;
  sluice_array element = {values, 8, 1, 1, &dim};
  EXPECT_THAT(context.set_input_elements("s", {&element, 1})->message, HasSubstr("element 0"));
  element = {nullptr, 12, 1, 1, &dim};
  EXPECT_EQ(context.set_input_elements("s", {&element, 1})->code, kInvalidArgument);
  element = {values, 12, 6, 1, &dim};
  EXPECT_EQ(context.set_input_elements("s", {&element, 1})->code, kInvalidArgument);
  element = {values, -12, 1, 1, &dim};
  EXPECT_EQ(context.set_input_elements("s", {&element, 1})->code, kInvalidArgument);
  EXPECT_EQ(sluice_context_set_input_elements(nullptr, "s", nullptr, 0), SLUICE_INVALID_ARGUMENT);
}

TEST(Elements, OptionalsHaveNoneOrOne) {
  Context context = context_of(R"(
subgraph @0 "main" {
  input %o : optional(f32[2])
  [%there : bool[]] = OptionalHasElement.18[%o]
  output [%there]
}
)");
  float values[] = {1, 2};
  const std::int64_t two = 2;
  const sluice_array both[] = {{values, 8, 1, 1, &two}, {values, 8, 1, 1, &two}};
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}}) {
    ASSERT_FALSE(context.set_input_elements("o", std::span(both).first(count)));
    ASSERT_FALSE(context.run());
    EXPECT_EQ(context.output<bool>("there")->values[0], count == 1);
  }
  EXPECT_EQ(context.set_input_elements("o", both)->code, kInvalidArgument);
}

TEST(Strings, AreSetAsStandardStrings) {
  Context context = context_of(R"(
subgraph @0 "main" {
  input %x : string[N]
  const %b : string[1] = hex 0000000000000000010000000000000062
  [%y : bool[N]] = Equal.19[%x, %b]
  output [%y]
}
)",
                               "reference");
  const std::vector<std::string> words = {"a", "b", ""};
  const std::int64_t three = 3;
  ASSERT_FALSE(context.set_input_strings("x", words, {&three, 1}));
  ASSERT_FALSE(context.run());
  EXPECT_THAT(context.output<bool>("y")->values, ElementsAre(false, true, false));
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

TEST(Defaults, AreTheValuesOfInputsThatAreNotSetOrSetBack) {
  Context context = context_of(kWithDefault);
  const std::vector<float> x = {1, 2, 3}, other = {10, 20, 30};
  const auto run = [&] {
    EXPECT_FALSE(context.run());
    const auto output = context.output<float>("y");
    return std::vector<float>(output->values.begin(), output->values.end());
  };
  EXPECT_FALSE(context.set_input<float>("x", x, {3}));
  EXPECT_THAT(run(), ElementsAre(2, 6, 12));
  EXPECT_FALSE(context.set_input<float>("k", other, {3}));
  EXPECT_THAT(run(), ElementsAre(10, 40, 90));
  EXPECT_EQ(context.set_input<float>("k", other, {1, 3})->code, kInvalidArgument);
  EXPECT_FALSE(context.reset_input("k"));
  EXPECT_THAT(run(), ElementsAre(2, 6, 12));
  EXPECT_THAT(context.reset_input("x")->message, HasSubstr("\"x\" has no default"));
  EXPECT_EQ(context.reset_input("z")->code, kNotFound);
}

TEST(Defaults, AreCheckedLikeOtherConstants) {
  const Bytes whole = *package::package_bytes(exec::testing::executable_of(kWithDefault, "cpu"));
  const auto model = Model::open_copy(whole.view(), 1);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->input(0).has_default, 0);
  EXPECT_EQ(model->input(1).has_default, 1);
  std::vector<std::byte> damaged(whole.view().begin(), whole.view().end());
  const std::array<float, 3> value = {2, 3, 4};
  const auto found = std::ranges::search(damaged, std::as_bytes(std::span(value)));
  ASSERT_FALSE(found.empty());
  found.front() ^= std::byte{1};
  EXPECT_EQ(Model::open_copy(damaged, 1).error().code, kDataLoss);
}

TEST(ExpectedDeathTest, ValueOfACallThatFailedEndsTheProgramWithItsMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto model = Model::open("/nowhere/model.sluice");
  ASSERT_FALSE(model);
  EXPECT_DEATH(static_cast<void>(model->create_context()), "call that failed: .*nowhere/model");
  EXPECT_DEATH(static_cast<void>(*model), "call that failed: .*nowhere/model");
}

}  // namespace
}  // namespace sluice

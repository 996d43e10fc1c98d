#include "options/compile_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::options {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<CompileFlags> parse(const std::vector<std::string>& arguments) {
  return parse_compile_flags(arguments);
}

TEST(CompileFlags, TakeValuesInOrder) {
  const auto flags =
      parse({"--shape", "x=1,3", "--shape=y=2", "--backend", "cpu,reference", "--no-pack",
             "--weights", "bf16", "--kv-cache", "f16", "--strassen", "1", "--operators", "ops.so"});
  ASSERT_TRUE(flags.is_ok()) << flags.status().to_string();
  EXPECT_THAT(flags->shapes, ElementsAre("x=1,3", "y=2"));
  EXPECT_THAT(flags->backends, ElementsAre("cpu", "reference"));
  EXPECT_FALSE(flags->pack);
  EXPECT_EQ(flags->weights, "bf16");
  EXPECT_EQ(flags->kv_cache, "f16");
  EXPECT_EQ(flags->strassen, 1);
  EXPECT_EQ(flags->operators, "ops.so");
}

TEST(CompileFlags, PlacesKeepCommasAndAreRepeatable) {
  const auto flags = parse(
      {"--place", "Conv=sim,cpu", "--place=a*=host", "--min-segment", "2", "--max-segments=3"});
  ASSERT_TRUE(flags.is_ok()) << flags.status().to_string();
  EXPECT_THAT(flags->places, ElementsAre("Conv=sim,cpu", "a*=host"));
  EXPECT_EQ(flags->min_segment, 2);
  EXPECT_EQ(flags->max_segments, 3);
  EXPECT_THAT(parse({"--min-segment", "0"}).status().message(), HasSubstr("--min-segment"));
}

TEST(CompileFlags, UnknownOptionErrorNamesTheNearest) {
  EXPECT_THAT(parse({"--wieghts", "bf16"}).status().message(),
              HasSubstr("unknown option \"--wieghts\"; did you mean --weights?"));
  EXPECT_THAT(parse({"--zzzzzzzz"}).status().message(), HasSubstr("there are --shape"));
  EXPECT_THAT(parse({"--help"}).status().message(), HasSubstr("--help"));
  EXPECT_THAT(parse({"--profile", "times.json"}).status().message(), HasSubstr("--operator-times"));
  EXPECT_THAT(parse({"model.onnx"}).status().message(), HasSubstr("model.onnx"));
}

TEST(CompileFlags, WrongValueErrorNamesTheOption) {
  EXPECT_THAT(parse({"--weights", "f64"}).status().message(), HasSubstr("--weights"));
  EXPECT_THAT(parse({"--kv-cache", "f64"}).status().message(), HasSubstr("--kv-cache"));
  EXPECT_THAT(parse({"--strassen", "3"}).status().message(), HasSubstr("not between 0 and 2"));
  EXPECT_THAT(parse({"--weights"}).status().message(), HasSubstr("--weights"));
}

}  // namespace
}  // namespace sluice::options

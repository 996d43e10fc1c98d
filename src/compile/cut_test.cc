#include "compile/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/graph_text.h"

namespace sluice::compile {
namespace {

using ::testing::HasSubstr;

package::Executable chain_to_cut() {
  package::Executable executable;
  executable.graph = ir::parse_graph(R"(
subgraph @0 "main" {
  input %x : f32[4]
  [%a : f32[4]] = Relu.14[%x] "first"
  [%b : f32[4]] = Relu.14[%a] "second"
  [%c : f32[4]] = Relu.14[%b] "third"
  [%d : f32[4]] = Relu.14[%c] "third"
  output [%d]
}
)")
                         .value();
  executable.backends = {"cpu", "reference"};
  executable.backend_of = {{0, 0, 1, 1}};
  return executable;
}

Result<std::vector<package::SegmentSpec>> cut(std::vector<std::string> cuts,
                                              std::vector<std::int32_t> cores) {
  return cut_segments(chain_to_cut(), cuts, cores);
}

TEST(CutSegments, StartAtNamedOperationsAndWhereTheBackendChanges) {
  const auto segments = cut({"second"}, {4, 1, 2});
  ASSERT_TRUE(segments.is_ok()) << segments.status().to_string();
  EXPECT_EQ(*segments, (std::vector<package::SegmentSpec>{
                           {"segment 0", 0, 4}, {"second", 1, 1}, {"segment 1", 2, 2}}));
}

TEST(CutSegments, WithoutCutsOrCoresTheListIsEmpty) { EXPECT_TRUE(cut({}, {})->empty()); }

TEST(CutSegments, UnknownAndAmbiguousNamesAreRefused) {
  EXPECT_THAT(cut({"fourth"}, {}).status().message(), HasSubstr("no operations"));
  EXPECT_THAT(cut({"third"}, {}).status().message(), HasSubstr("several operations"));
}

TEST(CutSegments, CoresThatDoNotFitTheSegmentsAreRefused) {
  EXPECT_THAT(cut({"second"}, {4, 1}).status().message(),
              HasSubstr("the model has 3: \"segment 0\", \"second\", \"segment 1\""));
  EXPECT_THAT(cut({}, {-1, 1}).status().message(), HasSubstr("cannot have -1 cores"));
  EXPECT_THAT(
      cut({}, {0, 1}).status().message(),
      HasSubstr("cannot take all cores that are free (0), because the model has 2 segments"));
}

}  // namespace
}  // namespace sluice::compile

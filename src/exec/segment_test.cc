#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/executors/run_trace.h"
#include "exec/testing/exec_testing.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::executable_of;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;
using testing::registry;

constexpr std::string_view kChain = R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %c : f32[4] = [1.0, -2.0, 3.0, -4.0]
  [%s : f32[4]] = Add.14[%x, %c]
  [%t : f32[4]] = Add.14[%s, %c]
  [%y : f32[4]] = Relu.14[%t]
  output [%y]
}
)";

package::Executable in_two(std::string_view backend) {
  auto executable = executable_of(kChain, backend);
  executable.segments = {{"front", 0, 1}, {"back", 2, 1}};
  return executable;
}

Result<LoadedModel> load_on(package::Executable executable,
                            std::vector<SegmentPlacement> placements) {
  LoadOptions options;
  options.segments = std::move(placements);
  return LoadedModel::load(std::move(executable), registry(), options);
}

TEST(Segments, SegmentsInSequenceEqualTheWholeModel) {
  for (const std::string_view backend : {"reference", "cpu"}) {
    const auto model = load_on(in_two(backend), {{0, {0}}, {0, {0}}});
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    ASSERT_EQ(model->num_segments(), 2U);
    Context context = model->create_context().value();
    Aligned<float> x({1, 1, 1, 1});
    ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
    ASSERT_TRUE(context.begin().is_ok());
    for (const std::size_t segment : {0U, 1U}) {
      ASSERT_TRUE(context.submit_segment(segment).is_ok());
      auto is_done = context.poll_segment(segment);
      while (is_done.is_ok() && !*is_done) is_done = context.poll_segment(segment);
      ASSERT_TRUE(is_done.is_ok()) << is_done.status().to_string();
    }
    ASSERT_TRUE(context.finish().is_ok());
    EXPECT_THAT(floats(context.output(0)), ElementsAre(3, 0, 7, 0));
    ASSERT_TRUE(context.run().is_ok());
    EXPECT_THAT(floats(context.output(0)), ElementsAre(3, 0, 7, 0));
  }
}

TEST(Segments, EachSegmentRunsWithTheKernelsOfItsBackend) {
  for (const std::vector<std::string>& backends :
       {std::vector<std::string>{"reference", "cpu"}, {"cpu", "reference"}}) {
    auto executable = in_two("reference");
    executable.backends = backends;
    executable.backend_of = {{0, 0, 1}};
    const auto model = load_on(std::move(executable), {});
    ASSERT_TRUE(model.is_ok()) << model.status().to_string();
    Context context = model->create_context().value();
    RunTrace trace;
    context.set_trace(&trace);
    Aligned<float> x({1, 1, 1, 1});
    ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
    ASSERT_TRUE(context.run().is_ok());
    std::vector<std::string> ran;
    for (const ListTime& list : trace.take()) ran.push_back(list.backend);
    EXPECT_EQ(ran, backends);
    EXPECT_THAT(floats(context.output(0)), ElementsAre(3, 0, 7, 0));
  }
}

TEST(Segments, SegmentsOnEqualCoresShareThem) {
  const auto shared = load_on(in_two("reference"), {{0, {0}}, {0, {0}}});
  ASSERT_TRUE(shared.is_ok());
  EXPECT_EQ(shared->group_of(0), shared->group_of(1));
}

TEST(Segments, PlacementsThatDoNotFitAreRefused) {
  EXPECT_THAT(load_on(in_two("reference"), {{0, {0}}}).status().message(),
              HasSubstr("has 2 segments; placements are given for 1"));
  EXPECT_THAT(load_on(in_two("reference"), {{0, {0}}, {7, {0}}}).status().message(),
              HasSubstr("no device 7"));
  EXPECT_FALSE(load_on(in_two("cpu"), {{0, {0}}, {0, {100000}}}).is_ok());
}

TEST(Segments, InconsistentSegmentsOfAPackageAreRefused) {
  auto executable = in_two("reference");
  for (const std::vector<package::SegmentSpec>& segments :
       {std::vector<package::SegmentSpec>{{"a", 1, 1}},
        {{"a", 0, 1}, {"b", 0, 1}},
        {{"a", 0, 1}, {"b", 3, 1}},
        {{"a", 0, 1}, {"b", 1, 0}},
        {{"a", 0, -1}}}) {
    executable.segments = segments;
    EXPECT_EQ(load_on(executable, {}).status().code(), Code::kDataLoss);
  }
}

TEST(LoadedModel, PlacedAgainSharesConstantsAndKernels) {
  const auto first = load_on(in_two("cpu"), {{0, {0}}, {0, {0}}});
  ASSERT_TRUE(first.is_ok());
  LoadOptions options;
  options.segments = {{0, {0}}, {0, {0}}};
  const auto second = first->place(options);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_EQ(&first->executable(), &second->executable());
  EXPECT_NE(first->group_of(0), second->group_of(0));
  Context context = second->create_context().value();
  Aligned<float> x({1, 1, 1, 1});
  ASSERT_TRUE(context.set_input(0, f32_view(x, {4})).is_ok());
  ASSERT_TRUE(context.run().is_ok());
  EXPECT_THAT(floats(context.output(0)), ElementsAre(3, 0, 7, 0));
}

}  // namespace
}  // namespace sluice::exec

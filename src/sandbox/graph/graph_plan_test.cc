#include "sandbox/graph/graph_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Has a signature and takes no request.
class Typed final : public runtime::RequestSink {
 public:
  Typed(const std::vector<std::pair<std::string, std::string>>& inputs,
        const std::vector<std::pair<std::string, std::string>>& outputs) {
    for (const auto& [name, type] : inputs) {
      signature_.inputs.push_back({name, ir::parse_type(type).value(), -1});
    }
    for (const auto& [name, type] : outputs) {
      signature_.outputs.push_back({name, ir::parse_type(type).value(), -1});
    }
  }
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& /*request*/) override {
    return invalid_argument("none is taken");
  }
  bool cancel(std::uint64_t /*id*/) override { return false; }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    return is_done();
  }
  void tell_waiters() override {}

 private:
  terms::Signature signature_;
};

std::shared_ptr<runtime::RequestSink> same(const std::string& type) {
  return std::make_shared<Typed>(std::vector<std::pair<std::string, std::string>>{{"x", type}},
                                 std::vector<std::pair<std::string, std::string>>{{"y", type}});
}

terms::GraphRequest request_of(const std::vector<std::string>& nodes,
                               const std::vector<std::string>& edges,
                               const std::vector<std::string>& outputs = {}) {
  terms::GraphRequest request;
  for (const std::string& node : nodes) request.nodes.push_back({node, {}});
  for (const std::string& edge : edges)
    request.edges.push_back(terms::GraphEdge::parse(edge).value());
  for (const std::string& port : outputs)
    request.outputs.push_back(terms::GraphPort::parse(port).value());
  return request;
}

std::vector<std::string> names(const std::vector<terms::TensorSpec>& specs) {
  std::vector<std::string> all;
  for (const terms::TensorSpec& spec : specs) all.push_back(spec.name);
  return all;
}

TEST(GraphPlan, StepsStandBehindTheirSourcesInTheOrderOfTheNodes) {
  const auto plan = plan_graph(request_of({"c", "a", "b"}, {"a.y=b.x", "b.y=c.x"}),
                               {same("f32[4]"), same("f32[4]"), same("f32[4]")});
  ASSERT_TRUE(plan.is_ok()) << plan.status().to_string();
  EXPECT_EQ(plan->steps[0].name + plan->steps[1].name + plan->steps[2].name, "abc");
  EXPECT_THAT(names(plan->signature.inputs), ElementsAre("a.x"));
  EXPECT_THAT(names(plan->signature.outputs), ElementsAre("c.y"));
  EXPECT_EQ(plan->steps[2].inputs.at(0), (GraphSource{1, 0}));
}

TEST(GraphPlan, TensorOfSeveralReadersIsReleasedByTheLastUnlessItIsAnOutput) {
  const std::vector<std::string> edges = {"a.y=b.x", "a.y=c.x"};
  const auto sinks = [] {
    return std::vector<std::shared_ptr<runtime::RequestSink>>{same("f32[4]"), same("f32[4]"),
                                                              same("f32[4]")};
  };
  const auto plan = plan_graph(request_of({"a", "b", "c"}, edges), sinks());
  EXPECT_THAT(names(plan->signature.outputs), ElementsAre("b.y", "c.y"));
  EXPECT_THAT(plan->steps[1].releases, IsEmpty());
  EXPECT_THAT(plan->steps[2].releases, ElementsAre(GraphSource{0, 0}));
  const auto wanted = plan_graph(request_of({"a", "b", "c"}, edges, {"a.y"}), sinks());
  EXPECT_THAT(names(wanted->signature.outputs), ElementsAre("a.y", "b.y", "c.y"));
  EXPECT_THAT(wanted->steps[2].releases, IsEmpty());
}

TEST(GraphPlan, ErrorsNameFunctionsAndTensors) {
  const auto refusal = [](const terms::GraphRequest& request,
                          const std::string& second = "f32[4]") {
    const auto plan = plan_graph(request, {same("f32[4]"), same(second)});
    EXPECT_EQ(terms::runtime_code_of(plan.status()), RuntimeCode::kInvalid);
    return plan.is_ok() ? std::string() : plan.status().message();
  };
  const std::vector<std::string> ab = {"a", "b"};
  EXPECT_THAT(refusal(request_of(ab, {"a.y=b.x"}), "f32[5]"),
              HasSubstr("a.y is f32[4], and b.x takes f32[5]"));
  EXPECT_THAT(refusal(request_of(ab, {"a.y=b.x"}), "i32[4]"), HasSubstr("b.x takes i32[4]"));
  EXPECT_THAT(refusal(request_of(ab, {"a.y=b.x"}), "f32[4,1]"), HasSubstr("b.x"));
  EXPECT_THAT(refusal(request_of(ab, {"a.y=b.x", "b.y=a.x"})), HasSubstr("circle"));
  EXPECT_THAT(refusal(request_of(ab, {"a.y=b.x", "a.y=b.x"})), HasSubstr("b.x has two edges"));
  EXPECT_THAT(refusal(request_of(ab, {"a.z=b.x"})), HasSubstr("a.z: the function has no such"));
  EXPECT_THAT(refusal(request_of(ab, {"c.y=b.x"})), HasSubstr("c.y: the graph has no function"));
  EXPECT_THAT(refusal(request_of({"a", "a"}, {})), HasSubstr("two functions are called a"));
  EXPECT_THAT(refusal(request_of({"a", "b.c"}, {})), HasSubstr("\"b.c\" is no name"));
  EXPECT_THAT(refusal(request_of({}, {})), HasSubstr("at least one"));
  EXPECT_TRUE(plan_graph(request_of(ab, {"a.y=b.x"}), {same("f32[N]"), same("f32[4]")}).is_ok())
      << "a run tells";
}

TEST(GraphPlan, NamesReplaceThoseOfNodesAndAnInputFeedsSeveral) {
  GraphNames own;
  own.inputs = {{"photo", {{"first step", "x"}, {"b", "x"}}}};
  own.outputs = {{"name", {"b", "y"}}};
  const auto plan =
      plan_graph(request_of({"first step", "b"}, {}), {same("f32[N]"), same("f32[4]")}, &own);
  ASSERT_TRUE(plan.is_ok()) << plan.status().to_string();
  EXPECT_THAT(names(plan->signature.inputs), ElementsAre("photo"));
  EXPECT_EQ(plan->signature.inputs[0].type.to_string(), "f32[4]") << "fits both readers";
  EXPECT_THAT(names(plan->signature.outputs), ElementsAre("name"));
  EXPECT_THAT(plan->outputs, ElementsAre(GraphSource{1, 0}));
  EXPECT_EQ(plan->steps[1].inputs.at(0), (GraphSource{GraphSource::kInput, 0}));
}

TEST(GraphPlan, NamedInputsMustFitAndNoneMayBeLeftOut) {
  const auto refusal = [](const GraphNames& own, const std::string& second) {
    const auto plan = plan_graph(request_of({"a", "b"}, {}), {same("f32[4]"), same(second)}, &own);
    return plan.is_ok() ? std::string() : plan.status().message();
  };
  GraphNames own;
  own.inputs = {{"in", {{"a", "x"}, {"b", "x"}}}};
  EXPECT_THAT(refusal(own, "f32[5]"),
              HasSubstr("input \"in\": a.x takes f32[4], and b.x takes f32[5]"));
  EXPECT_THAT(refusal(own, "i32[4]"), HasSubstr("b.x takes i32[4]"));
  own.outputs = {{"out", {"b", "z"}}};
  EXPECT_THAT(refusal(own, "f32[4]"), HasSubstr("b.z: the model has no such output; it has y"));
  own.inputs = {{"in", {{"a", "x"}}}};
  EXPECT_THAT(refusal(own, "f32[4]"), HasSubstr("b: nothing gives the input \"x\""));
}

TEST(GraphPlan, PortsSplitAtTheFirstDot) {
  EXPECT_EQ(terms::GraphPort::parse("a.b.c").value(), (terms::GraphPort{"a", "b.c"}));
  for (const char* bad : {"", ".", "a", "a.", ".b"})
    EXPECT_FALSE(terms::GraphPort::parse(bad).is_ok());
  EXPECT_FALSE(terms::GraphEdge::parse("a.y").is_ok());
}

}  // namespace
}  // namespace sluice::sandbox

// Graphs of functions through the installed headers: in this process, and over a daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "sluice/backend.h"
#include "sluice/statistics.hpp"
#include "sluice/trace/trace.hpp"
#include "support/process.h"
#include "two_places.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Tensor;

/// Two functions of f32[N]: "doubler" computes 2 x, "adder" x + 1.
class GraphsIn : public TwoPlaces {
 protected:
  GraphsIn()
      : doubler_(deploy("doubler", [](Tensor x) { return x * 2; })),
        adder_(deploy("adder", [](Tensor x) { return x + 1; })) {}

  template <typename Function>
  LoadedModel deploy(const std::string& name, Function function) {
    auto package = trace::compile(function, {{"x", "f32[N]"}});
    EXPECT_TRUE(package) << package.error().message;
    const std::string path = (folder_ / (name + ".sluice")).string();
    EXPECT_FALSE(package->save(path));
    return load({.path = path, .function = FunctionOptions()});
  }
  LoadedModel deploy_graph(const GraphOptions& options) {
    auto graph = runtime_.deploy_graph(options);
    EXPECT_TRUE(graph) << graph.error().message;
    return std::move(*graph);
  }
  Error refusal(const GraphOptions& options) {
    const auto graph = runtime_.deploy_graph(options);
    return graph ? Error{} : graph.error();
  }
  static std::vector<float> values(const Reply& reply, const std::string& name) {
    const auto output = reply.output<float>(name);
    EXPECT_TRUE(output) << output.error().message;
    return {output->values.begin(), output->values.end()};
  }

  static constexpr const char* kChain = R"({"functions": ["a=doubler", "b=adder"],
      "edges": ["a.output=b.x"], "outputs": ["a.output"]})";
  const std::vector<float> x_ = {1, 2, 3};
  const std::vector<InputTensor> inputs_ = {tensor<float>("a.x", x_, {3})};
  LoadedModel doubler_;
  LoadedModel adder_;
};
INSTANTIATE_TEST_SUITE_P(Places, GraphsIn,
                         ::testing::Values(Place::kLocal, Place::kRing, Place::kGrpc));

TEST_P(GraphsIn, GraphIsDeployedRunListedAndRemoved) {
  auto graph = deploy_graph({.text = kChain, .name = "chain"});
  const auto info = graph.info();
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->name, "chain");
  ASSERT_EQ(info->inputs.size(), 1U);
  EXPECT_EQ(info->inputs[0].name, "a.x");
  for (int i = 0; i < 3; ++i) {
    const auto reply = graph.infer(inputs_);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_THAT(values(*reply, "a.output"), ElementsAre(2, 4, 6));
    EXPECT_THAT(values(*reply, "b.output"), ElementsAre(3, 5, 7));
  }
  const auto later = graph.submit(inputs_)->wait();
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_THAT(values(*later, "b.output"), ElementsAre(3, 5, 7));
  EXPECT_EQ(statistics_of(runtime_, graph)->accepted, 4);
  EXPECT_EQ(runtime_.models()->size(), 3U);
  EXPECT_EQ(runtime_.find_model("chain")->id(), graph.id());
  EXPECT_EQ(graph.stop()->code, Code::kFailedPrecondition) << "its functions are stopped";

  EXPECT_EQ(sluice_runtime_unload(runtime_.get(), adder_.id(), 0), SLUICE_FAILED_PRECONDITION);
  EXPECT_THAT(sluice_last_error(), HasSubstr("graph chain"));
  EXPECT_FALSE(graph.unload());
  EXPECT_FALSE(adder_.unload());
  EXPECT_EQ(runtime_.models()->size(), 1U);
}

TEST_P(GraphsIn, GraphComesFromAFileAndNamesFunctionsByTheirHandles) {
  const std::string path = (folder_ / "pair.json").string();
  std::ofstream(path) << R"({"functions": ["a=)" << doubler_.id() << R"(", "adder"]})";
  const auto graph = deploy_graph({.path = path});
  EXPECT_EQ(graph.info()->name, "pair");
  const auto reply = graph.infer({inputs_[0], tensor<float>("adder.x", x_, {3})});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(values(*reply, "a.output"), ElementsAre(2, 4, 6));
  EXPECT_THAT(values(*reply, "adder.output"), ElementsAre(2, 3, 4));
}

TEST_P(GraphsIn, WhatIsNoGraphIsRefusedWithItsPlace) {
  if (usable_processors().size() < 2) {
    GTEST_SKIP() << "a model beside a lane of functions needs two processors";
  }
  EXPECT_EQ(refusal({.path = (folder_ / "none.json").string()}).code, Code::kNotFound);
  EXPECT_EQ(refusal({}).code, Code::kInvalidArgument);
  EXPECT_THAT(refusal({.path = "a.json", .text = kChain}).message, HasSubstr("exactly one"));
  const auto absent = refusal({.text = R"({"functions": ["a=absent"]})"});
  EXPECT_EQ(absent.code, Code::kNotFound);
  EXPECT_THAT(absent.message, HasSubstr("\"absent\""));
  EXPECT_THAT(refusal({.text = "{"}).message, HasSubstr("line 1"));
  EXPECT_THAT(refusal({.text = R"({"functions": [1]})"}).message, HasSubstr("graph.functions[0]"));
  EXPECT_THAT(refusal({.text = R"({"functions": ["a=adder", "b=adder"],
                                   "edges": ["a.output=b.x", "b.output=a.x"]})"})
                  .message,
              HasSubstr("circle"));
  EXPECT_EQ(refusal({.text = std::string((1 << 20) + 1, ' ')}).code, Code::kInvalidArgument);
  const auto model = load();
  EXPECT_FALSE(refusal({.text = R"({"functions": ["format_1_0"]})"}).message.empty())
      << "a model that is no function";
}

TEST_P(GraphsIn, WrongInputNamesGraphAndFunction) {
  const auto graph = deploy_graph({.text = kChain});
  EXPECT_EQ(graph.info()->name, "graph");
  const std::vector<double> wrong = {1};
  EXPECT_THAT(graph.infer({tensor<double>("a.x", wrong, {1})}).error().message,
              HasSubstr("function a"));
  EXPECT_EQ(graph.infer({}).error().code, Code::kInvalidArgument);
}

TEST_P(GraphsIn, ClosedRuntimeEndsItsGraphs) {
  const auto graph = deploy_graph({.text = kChain});
  std::vector<Request> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(std::move(*graph.submit(inputs_)));
  EXPECT_FALSE(runtime_.close());
  for (Request& request : requests) {
    const auto reply = request.wait();
    if (!reply) {
      EXPECT_NE(reply.error().code, Code::kOk);
    }
  }
  EXPECT_EQ(graph.infer(inputs_).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice::testing

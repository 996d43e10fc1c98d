// Programs of a session, and joined requests of a model, computed on the host's processors.
#include <gmock/gmock.h>

#include <deque>
#include <numeric>
#include <set>
#include <utility>

#include "exec/testing/exec_testing.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"
#include "session/session.h"

namespace sluice::session {
namespace {

using exec::testing::Aligned;
using exec::testing::executable_of;
using exec::testing::f32_view;
using runtime::Reply;
using runtime::Request;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// y = x + c, and s = x * w.
constexpr std::string_view kTwoConstants = R"(
subgraph @0 "main" {
  input %x : f32[2]
  const %c : f32[2] = [10.0, 20.0]
  const %w : f32[2] = [2.0, 3.0]
  [%y : f32[2]] = Add.14[%x, %c]
  [%s : f32[2]] = Mul.14[%x, %w]
  output [%y, %s]
}
)";

/// A session whose every tensor moves through a callback that notes the tensor's name.
class ProgramClaims : public ::testing::TestWithParam<const char*> {
 protected:
  ProgramClaims() {
    auto session = Session::create(executable_of(kTwoConstants, GetParam()), system_clock());
    EXPECT_TRUE(session.is_ok()) << session.status().to_string();
    session_ = std::move(session).value();
  }

  void provide(const std::string& name, float value) {
    const auto fill = [this, name, value](const terms::TensorView& target) {
      std::fill_n(static_cast<float*>(target.data), 2, value);
      moved_.push_back(name);
      return ok_status();
    };
    ASSERT_TRUE(session_->bind_source(name, DataProvider(fill)).is_ok());
  }
  void consume(const std::string& name) {
    const auto read = [this, name](const terms::TensorView& source) {
      values_[name] = static_cast<const float*>(source.data)[1];
      moved_.push_back(name);
      return ok_status();
    };
    ASSERT_TRUE(session_->bind_sink(name, DataConsumer(read)).is_ok());
  }
  void provide_and_consume_all() {
    for (const char* name : {"x", "c", "w"}) provide(name, 5);
    for (const char* name : {"y", "s"}) consume(name);
  }
  std::vector<std::string> take_moved() { return std::exchange(moved_, {}); }

  std::unique_ptr<Session> session_;
  std::vector<std::string> moved_;
  std::map<std::string, float> values_;
};

TEST_P(ProgramClaims, LoadMainAndSaveMoveDisjointTensors) {
  provide_and_consume_all();
  ASSERT_TRUE(session_->load(runtime::testing::registry()).is_ok());
  EXPECT_THAT(take_moved(), UnorderedElementsAre("c", "w"));
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(session_->run_main().is_ok());
    EXPECT_THAT(take_moved(), ElementsAre("x", "y", "s")) << "run " << run;
  }
  EXPECT_EQ(values_["y"], 10);
  EXPECT_EQ(values_["s"], 25);
  ASSERT_TRUE(session_->run_save().is_ok());
  EXPECT_THAT(take_moved(), IsEmpty()) << "no constant has a sink";
}

TEST_P(ProgramClaims, EveryTensorBelongsToTheProgramThatMovesIt) {
  provide_and_consume_all();
  std::map<Program, std::set<std::string>> listed;
  for (const ProgramTensor& tensor : session_->tensors()) {
    listed[tensor.program()].insert(tensor.name);
  }
  const auto as_set = [](const std::vector<std::string>& names) {
    return std::set(names.begin(), names.end());
  };
  ASSERT_TRUE(session_->load(runtime::testing::registry()).is_ok());
  EXPECT_EQ(as_set(take_moved()), listed[Program::kLoad]);
  ASSERT_TRUE(session_->run_main().is_ok());
  EXPECT_EQ(as_set(take_moved()), listed[Program::kMain]);
}

TEST_P(ProgramClaims, SaveIsOptionalAndMovesOnlyConstantsWithASink) {
  provide_and_consume_all();
  consume("w");
  ASSERT_TRUE(session_->load(runtime::testing::registry()).is_ok());
  ASSERT_TRUE(session_->run_main().is_ok()) << "without a save before";
  take_moved();
  ASSERT_TRUE(session_->run_save().is_ok());
  EXPECT_THAT(take_moved(), ElementsAre("w")) << "not c, which has no sink; no input, no output";
  EXPECT_EQ(values_["w"], 5) << "the user's value, not the compiled one";
  ASSERT_TRUE(session_->run_main().is_ok()) << "save changes nothing";
  EXPECT_EQ(values_["s"], 25);
}

INSTANTIATE_TEST_SUITE_P(Backends, ProgramClaims, ::testing::Values("cpu", "reference"));

/// Rows of two inputs through a model that was compiled for two rows at a time.
class BatchClaims : public ::testing::Test {
 protected:
  BatchClaims() : engine_(runtime::testing::registry(), drivers_, {runtime::testing::cpu_map(1)}) {
    runtime::LoadRequest load = runtime::testing::load_of(runtime::testing::model_of(R"(
subgraph @0 "main" {
  input %a : f32[2,3]
  input %b : f32[2,3]
  [%y : f32[2,3]] = Add.14[%a, %b]
  output [%y]
}
)"));
    load.batching = terms::BatchOptions();
    const auto model = engine_.load(load);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    if (model.is_ok()) sink_ = engine_.sink(*model).value();
  }

  Reply add(std::vector<std::int64_t> dims_of_a, std::vector<std::int64_t> dims_of_b) {
    Request request;
    for (const auto& dims : {dims_of_a, dims_of_b}) {
      std::vector<float> values(static_cast<std::size_t>(dims[0] * dims[1]));
      std::iota(values.begin(), values.end(), 1.0F);
      memory_.emplace_back(values);
      request.inputs.push_back(f32_view(memory_.back(), dims));
    }
    return runtime::infer(*sink_, std::move(request));
  }

  std::deque<Aligned<float>> memory_;
  runtime::ThreadDrivers drivers_;
  runtime::Engine engine_;
  std::shared_ptr<runtime::RequestSink> sink_;
};

TEST_F(BatchClaims, RequestsOfOtherSizesAreSplitAndPadded) {
  for (const std::int64_t rows : {1, 2, 3, 8}) {
    const Reply reply = add({rows, 3}, {rows, 3});
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    ASSERT_THAT(reply.outputs.at(0).view.dims, ElementsAre(rows, 3));
    const auto last = static_cast<std::size_t>(rows * 3 - 1);
    EXPECT_EQ(runtime::testing::floats(reply.outputs[0])[last], static_cast<float>(2 * (last + 1)));
  }
}

TEST_F(BatchClaims, OtherDimensionsAndUnequalBatchSizesAreRefused) {
  const Reply other = add({2, 4}, {2, 3});
  EXPECT_EQ(other.code, RuntimeCode::kBadInput);
  EXPECT_THAT(other.errors.to_status().message(), HasSubstr("\"a\": got f32[2,4]"));
  const Reply unequal = add({2, 3}, {3, 3});
  EXPECT_EQ(unequal.code, RuntimeCode::kBadInput);
}

}  // namespace
}  // namespace sluice::session

#include "session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "exec/testing/exec_testing.h"
#include "package/npy.h"
#include "package/package.h"
#include "support/paths.h"

namespace sluice::session {
namespace {

using exec::testing::Aligned;
using exec::testing::executable_of;
using exec::testing::f32_view;
using exec::testing::registry;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// y = x + c, and s = x * w.
constexpr std::string_view kGraph = R"(
subgraph @0 "main" {
  input %x : f32[2]
  const %c : f32[2] = [10.0, 20.0]
  const %w : f32[2] = [2.0, 3.0]
  [%y : f32[2]] = Add.14[%x, %c]
  [%s : f32[2]] = Mul.14[%x, %w]
  output [%y, %s]
}
)";

ir::Constant pair_of(float a, float b) {
  const std::vector<float> values = {a, b};
  return {ir::Type::tensor(ir::ElementType::kF32, ir::Shape{2}),
          MutableBytes::copy_of(std::as_bytes(std::span(values))).freeze()};
}

class SessionTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> make(SessionOptions options = {}) {
    auto session = Session::create(executable_of(kGraph), system_clock(), std::move(options));
    EXPECT_TRUE(session.is_ok()) << session.status().to_string();
    return std::move(session).value();
  }
  /// Binds x, y and s to memory of this test, loads and runs once.
  void run(Session& session) {
    ASSERT_TRUE(session.bind_source("x", f32_view(x_, {2})).is_ok());
    ASSERT_TRUE(session.bind_sink("y", terms::OutputMemory{y_.data(), 8}).is_ok());
    ASSERT_TRUE(session.bind_sink("s", terms::OutputMemory{s_.data(), 8}).is_ok());
    const Status loaded = session.load(registry());
    ASSERT_TRUE(loaded.is_ok()) << loaded.to_string();
    const Status run = session.run_main();
    ASSERT_TRUE(run.is_ok()) << run.to_string();
  }

  Aligned<float> x_{{1, 1}};
  Aligned<float> y_{{0, 0}};
  Aligned<float> s_{{0, 0}};
};

TEST_F(SessionTest, ListsTheTensorsOfItsPrograms) {
  const auto session = make();
  std::vector<std::string> names;
  for (const ProgramTensor& tensor : session->tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("c", "w", "x", "y", "s"));
  EXPECT_EQ(session->tensors()[0].program(), Program::kLoad);
  EXPECT_EQ(session->tensors()[2].program(), Program::kMain);
}

TEST_F(SessionTest, CompiledConstantsNeedNoBinding) {
  const auto session = make();
  run(*session);
  EXPECT_EQ(y_.data()[0], 11);
  EXPECT_EQ(y_.data()[1], 21);
  EXPECT_EQ(s_.data()[1], 3);
}

TEST_F(SessionTest, StoredTensorDataIsBoundBeforeTheFirstRun) {
  SessionOptions options;
  options.stored.emplace("c", pair_of(100, 200));
  const auto session = make(std::move(options));
  run(*session);
  EXPECT_EQ(y_.data()[1], 201);
  EXPECT_EQ(s_.data()[1], 3) << "the other as compiled";
}

TEST_F(SessionTest, UserDataOverridesStoredData) {
  SessionOptions options;
  options.stored.emplace("c", pair_of(100, 200));
  const auto session = make(std::move(options));
  ASSERT_TRUE(session->bind_source("c", pair_of(7, 8)).is_ok());
  run(*session);
  EXPECT_EQ(y_.data()[1], 9);
}

TEST_F(SessionTest, BoundConstantChangesInBodiesToo) {
  // `simplify_captures` leaves a copy in each body, and main need not have one.
  constexpr std::string_view kBranches = R"(
subgraph @0 "main" {
  input %p : bool[]
  input %x : f32[2]
  const %c : f32[2] = [10.0, 20.0]
  [%b : f32[2]] = If.25[%p, %x] {captures = 1, else_branch = @2, then_branch = @1}
  [%y : f32[2]] = Add.14[%b, %c]
  output [%y]
}
subgraph @1 "then" {
  input %x : f32[2]
  const %c : f32[2] = [10.0, 20.0]
  const %w : f32[2] = [2.0, 3.0]
  [%t : f32[2]] = Mul.14[%x, %c]
  [%s : f32[2]] = Add.14[%t, %w]
  output [%s]
}
subgraph @2 "else" {
  input %x : f32[2]
  output [%x]
}
)";
  auto session = Session::create(executable_of(kBranches), system_clock(), {}).value();
  const bool is_then = true;
  const ir::Constant p{ir::Type::tensor(ir::ElementType::kBool, ir::Shape{}),
                       MutableBytes::copy_of(std::as_bytes(std::span(&is_then, 1))).freeze()};
  ASSERT_TRUE(session->bind_source("p", p).is_ok());
  ASSERT_TRUE(session->bind_source("x", f32_view(x_, {2})).is_ok());
  ASSERT_TRUE(session->bind_source("c", pair_of(100, 200)).is_ok());
  ASSERT_TRUE(session->bind_source("w", pair_of(7, 8)).is_ok());
  ASSERT_TRUE(session->bind_sink("y", terms::OutputMemory{y_.data(), 8}).is_ok());
  const Status loaded = session->load(registry());
  ASSERT_TRUE(loaded.is_ok()) << loaded.to_string();
  ASSERT_TRUE(session->run_main().is_ok());
  EXPECT_EQ(y_.data()[0], 100 + 7 + 100);
  EXPECT_EQ(y_.data()[1], 200 + 8 + 200);
}

TEST_F(SessionTest, NameOfDifferentConstantsCannotBeBound) {
  constexpr std::string_view kBranches = R"(
subgraph @0 "main" {
  input %p : bool[]
  [%y : f32[2]] = If.25[%p] {captures = 0, else_branch = @2, then_branch = @1}
  output [%y]
}
subgraph @1 "then" {
  const %c : f32[2] = [10.0, 20.0]
  output [%c]
}
subgraph @2 "else" {
  const %c : f32[2] = [1.0, 2.0]
  output [%c]
}
)";
  const package::Executable executable = executable_of(kBranches);
  auto session = Session::create(executable, system_clock(), {}).value();
  EXPECT_EQ(session->bind_source("c", pair_of(1, 2)).code(), Code::kNotFound);
  const auto replaced = exec::replace_constants(executable, {{"c", pair_of(1, 2)}});
  EXPECT_THAT(replaced.status().message(), HasSubstr("2 different ones"));
}

TEST_F(SessionTest, ConstantThatABodyShapesWithIsRefused) {
  constexpr std::string_view kBranches = R"(
subgraph @0 "main" {
  input %p : bool[]
  input %x : f32[2]
  const %n : i64[2] = [1, 2]
  [%y : f32[1, 2]] = If.25[%p, %n, %x] {captures = 2, else_branch = @1, then_branch = @1}
  output [%y]
}
subgraph @1 "then" {
  input %n : i64[2]
  input %x : f32[2]
  [%z : f32[1, 2]] = Reshape.14[%x, %n]
  output [%z]
}
)";
  const auto replaced = exec::replace_constants(
      executable_of(kBranches), {{"n", ir::make_i64_constant({2, 1}, ir::Shape{2})}});
  EXPECT_EQ(replaced.status().code(), Code::kUnimplemented) << replaced.status().to_string();
}

TEST_F(SessionTest, PredicatesSelectAutomaticBindings) {
  const auto value_of_y = [&](BindPredicate predicate) {
    SessionOptions options;
    options.stored.emplace("c", pair_of(100, 200));
    options.binds_stored = std::move(predicate);
    run(*make(std::move(options)));
    return y_.data()[1];
  };
  EXPECT_EQ(value_of_y(bind_all()), 201);
  EXPECT_EQ(value_of_y([](const ProgramTensor&) { return false; }), 21);
  EXPECT_EQ(value_of_y([](const ProgramTensor& tensor) { return tensor.name == "w"; }), 21);
  const auto is_constant = [](const ProgramTensor& tensor) {
    return tensor.role == TensorRole::kConstant;
  };
  EXPECT_EQ(value_of_y(is_constant), 201);
}

TEST_F(SessionTest, VerifyNamesEveryTensorWithoutSourceOrSink) {
  const auto session = make();
  ASSERT_TRUE(session->bind_sink("y", terms::OutputMemory{y_.data(), 8}).is_ok());
  ASSERT_TRUE(session->load(registry()).is_ok());
  const Status status = session->run_main();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "input \"x\" of type f32[2] has no source; output \"s\" of type f32[2] has no sink");
}

TEST_F(SessionTest, CallbacksMoveDataWhenAProgramAsks) {
  const auto session = make();
  float next = 1;
  std::vector<float> seen;
  ASSERT_TRUE(session
                  ->bind_source("x", DataProvider([&](const terms::TensorView& target) {
                                  static_cast<float*>(target.data)[0] = next++;
                                  static_cast<float*>(target.data)[1] = 0;
                                  return ok_status();
                                }))
                  .is_ok());
  ASSERT_TRUE(session
                  ->bind_sink("y", DataConsumer([&](const terms::TensorView& source) {
                                seen.push_back(static_cast<const float*>(source.data)[0]);
                                return ok_status();
                              }))
                  .is_ok());
  ASSERT_TRUE(session->bind_sink("s", terms::OutputMemory{s_.data(), 8}).is_ok());
  ASSERT_TRUE(session->load(registry()).is_ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->run_main().is_ok());
  EXPECT_THAT(seen, ElementsAre(11, 12, 13));
}

TEST_F(SessionTest, ProgramContinuesOnceItsDataIsBound) {
  const auto session = make();
  std::vector<std::string> events;
  ASSERT_TRUE(session
                  ->bind_source("x", DataProvider([&](const terms::TensorView& target) {
                                  events.emplace_back("asked for x");
                                  std::fill_n(static_cast<float*>(target.data), 2, 5.0F);
                                  events.emplace_back("x is there");
                                  return ok_status();
                                }))
                  .is_ok());
  for (const char* name : {"y", "s"}) {
    ASSERT_TRUE(
        session
            ->bind_sink(name, DataConsumer([&events, name](const terms::TensorView& source) {
                          const float first = static_cast<const float*>(source.data)[0];
                          events.push_back(fmt::format("{} is {}", name, first));
                          return ok_status();
                        }))
            .is_ok());
  }
  ASSERT_TRUE(session->load(registry()).is_ok());
  EXPECT_TRUE(events.empty()) << "nothing is asked for before the program that wants it";
  ASSERT_TRUE(session->run_main().is_ok());
  EXPECT_THAT(events, ElementsAre("asked for x", "x is there", "y is 15", "s is 10"));
}

TEST_F(SessionTest, ProviderErrorFailsTheRun) {
  const auto session = make();
  ASSERT_TRUE(session
                  ->bind_source("c", DataProvider([](const terms::TensorView&) {
                                  return Status(Code::kUnavailable, "the store is down");
                                }))
                  .is_ok());
  const Status status = session->load(registry());
  EXPECT_EQ(status.message(), "providing \"c\": the store is down");
}

TEST_F(SessionTest, SaveBringsSelectedConstantsBack) {
  const auto session = make();
  ASSERT_TRUE(session->bind_source("c", pair_of(7, 8)).is_ok());
  Aligned<float> saved({0, 0});
  ASSERT_TRUE(session->bind_sink("c", terms::OutputMemory{saved.data(), 8}).is_ok());
  EXPECT_EQ(session->run_save().code(), Code::kFailedPrecondition) << "nothing is loaded";
  run(*session);
  ASSERT_TRUE(session->run_save().is_ok());
  EXPECT_EQ(saved.data()[0], 7);
  EXPECT_EQ(saved.data()[1], 8);
}

TEST_F(SessionTest, SaveMovesSelectedTensorsOnly) {
  const auto session = make();
  run(*session);
  const float y = y_.data()[0];
  EXPECT_TRUE(session->run_save().is_ok());
  EXPECT_EQ(y_.data()[0], y) << "an output is main's to move";
}

TEST_F(SessionTest, StoredDataCanBeAnInput) {
  SessionOptions options;
  options.stored.emplace("x", pair_of(4, 6));
  const auto session = make(std::move(options));
  ASSERT_TRUE(session->bind_sink("y", terms::OutputMemory{y_.data(), 8}).is_ok());
  ASSERT_TRUE(session->bind_sink("s", terms::OutputMemory{s_.data(), 8}).is_ok());
  ASSERT_TRUE(session->load(registry()).is_ok());
  ASSERT_TRUE(session->run_main().is_ok());
  EXPECT_EQ(y_.data()[0], 14);
  EXPECT_EQ(s_.data()[1], 18);
}

TEST_F(SessionTest, PackageFileIsOpenedAndLoaded) {
  const sluice::testing::TempDir folder;
  ASSERT_TRUE(package::write_package(executable_of(kGraph), folder / "m.sluice").is_ok());
  auto executable = package::read_package(folder / "m.sluice");
  ASSERT_TRUE(executable.is_ok()) << executable.status().to_string();
  auto session = Session::create(std::move(*executable), system_clock());
  ASSERT_TRUE(session.is_ok()) << session.status().to_string();
  run(**session);
  EXPECT_EQ(y_.data()[1], 21);
}

TEST_F(SessionTest, ProviderIsCalledWhenTheSegmentThatReadsItsInputStarts) {
  package::Executable executable = executable_of(R"(
subgraph @0 "main" {
  input %x : f32[2]
  input %late : f32[2]
  [%y : f32[2]] = Add.14[%x, %x]
  [%z : f32[2]] = Add.14[%y, %late]
  output [%y, %z]
}
)");
  executable.segments = {{"first", 0, 1}, {"second", 1, 1}};
  auto session = Session::create(std::move(executable), system_clock()).value();
  Aligned<float> z({0, 0});
  float seen = 0;
  const auto provide = [&](const terms::TensorView& target) {
    seen = y_.data()[0];
    std::fill_n(static_cast<float*>(target.data), 2, 100.0F);
    return ok_status();
  };
  ASSERT_TRUE(session->bind_source("x", f32_view(x_, {2})).is_ok());
  ASSERT_TRUE(session->bind_source("late", DataProvider(provide)).is_ok());
  ASSERT_TRUE(session->bind_sink("y", terms::OutputMemory{y_.data(), 8}).is_ok());
  ASSERT_TRUE(session->bind_sink("z", terms::OutputMemory{z.data(), 8}).is_ok());
  ASSERT_TRUE(session->load(registry()).is_ok());
  for (int run = 0; run < 2; ++run) {
    y_.data()[0] = -1;
    ASSERT_TRUE(session->run_main().is_ok());
    EXPECT_EQ(seen, 2 * x_.data()[0]) << "the first segment has computed y";
    EXPECT_EQ(z.data()[1], 100 + 2 * x_.data()[1]);
  }
}

TEST_F(SessionTest, WrongSourcesAreNamed) {
  const auto session = make();
  Aligned<float> three({1, 2, 3});
  EXPECT_THAT(session->bind_source("x", f32_view(three, {3})).message(),
              HasSubstr("\"x\": got f32[3], model takes f32[2]"));
  EXPECT_EQ(session->bind_source("q", f32_view(three, {3})).code(), Code::kNotFound);
  EXPECT_EQ(session->bind_source("y", f32_view(x_, {2})).code(), Code::kInvalidArgument);
  EXPECT_EQ(session->bind_sink("x", terms::OutputMemory{y_.data(), 8}).code(),
            Code::kInvalidArgument);
  SessionOptions options;
  options.stored.emplace("q", pair_of(1, 2));
  EXPECT_THAT(Session::create(executable_of(kGraph), system_clock(), options).status().message(),
              HasSubstr("stored tensor \"q\""));
}

TEST_F(SessionTest, ProgramsRunInTheirStateOnly) {
  const auto session = make();
  EXPECT_EQ(session->run_main().code(), Code::kFailedPrecondition);
  run(*session);
  EXPECT_EQ(session->load(registry()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(session->bind_source("c", pair_of(1, 2)).code(), Code::kFailedPrecondition);
  session->stop();
  EXPECT_EQ(session->run_main().code(), Code::kFailedPrecondition);
  EXPECT_EQ(session->load(registry()).code(), Code::kFailedPrecondition);
  session->stop();
}

TEST_F(SessionTest, NpyFilesAreStoredTensors) {
  const sluice::testing::TempDir folder;
  const ir::Constant value = pair_of(7, 8);
  ASSERT_TRUE(package::write_npy(folder / "c.npy", value.type, value.data.view()).is_ok());
  ASSERT_TRUE(write_file_atomically(folder / "notes.txt", value.data.view()).is_ok());
  SessionOptions options;
  auto stored = map_npy_folder(folder.path());
  ASSERT_TRUE(stored.is_ok()) << stored.status().to_string();
  options.stored = std::move(*stored);
  run(*make(std::move(options)));
  EXPECT_EQ(y_.data()[1], 9);
  ASSERT_TRUE(write_file_atomically(folder / "w.npy", value.data.view()).is_ok());
  EXPECT_THAT(map_npy_folder(folder.path()).status().message(), HasSubstr("w.npy"));
  EXPECT_EQ(map_npy_folder(folder / "none").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace sluice::session

// Where the threads of a model that was opened with `cores` compute: an operator of the program
// tells on which processor it runs, and which ones its thread may use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "onnx_model.h"
#include "sluice/compile.hpp"
#include "sluice/operators.hpp"
#include "support/process.h"

namespace sluice {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using testing::usable_processors;
using Processors = std::vector<int>;

constexpr const char* kCoresDomain = "com.example.cores";
constexpr int kManyRuns = 50;

void keep_to(const Processors& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

/// What `thread` may use; empty if it has ended.
Processors processors_of(pid_t thread) {
  Processors found;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(thread, sizeof set, &set) != 0) return found;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<std::size_t>(processor), &set)) found.push_back(processor);
  }
  return found;
}

/// Where operators ran, by the model that they belong to. Safe from any thread.
class Places {
 public:
  void clear() {
    const std::lock_guard lock(mutex_);
    here_ = {};
    allowed_ = {};
  }
  void add(std::size_t model) {
    const int here = sched_getcpu();
    const Processors allowed = processors_of(0);
    const std::lock_guard lock(mutex_);
    here_[model].insert(here);
    allowed_[model].insert(allowed);
  }
  std::set<int> here(std::size_t model) const {
    const std::lock_guard lock(mutex_);
    return here_[model];
  }
  std::set<Processors> allowed(std::size_t model) const {
    const std::lock_guard lock(mutex_);
    return allowed_[model];
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::set<int>, 3> here_;
  std::array<std::set<Processors>, 3> allowed_;
};

Places& places() {
  static Places all;
  return all;
}

/// Inputs of all models here: the number that the operator notes its places by, 64 x 64 times.
std::vector<float> number(std::size_t model) {
  return std::vector<float>(64 * 64, static_cast<float>(model));
}

std::optional<Error> note(const plugin::Call& call) {
  places().add(static_cast<std::size_t>(call.input_elements<float>(0)[0]));
  return std::nullopt;
}

/// x -> Relu, on the plug-in for the host -> `kind` -> y, for a kernel that is registered here.
std::vector<std::byte> package_with(const std::string& kind,
                                    std::optional<Error> (*run)(const plugin::Call& call)) {
  Operator op;
  op.domain = kCoresDomain;
  op.name = kind;
  op.run = run;
  const auto error = register_operator(std::move(op));
  EXPECT_TRUE(!error || error->code == Code::kAlreadyExists) << error->message;
  auto package = compile_bytes(
      testing::onnx_model({{"", "Relu", {"x"}, {"a"}}, {kCoresDomain, kind, {"a"}, {"y"}}},
                          {{"x", 1, {"64", "64"}}}, {{"y", 1, {"64", "64"}}}));
  EXPECT_TRUE(package) << package.error().message;
  if (!package) return {};
  const auto bytes = *package->bytes();
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> noting_package() { return package_with("NotesItsPlace", note); }

Expected<Model> open_on(const std::vector<std::byte>& package, std::vector<std::int32_t> cores) {
  OpenOptions options;
  options.cores = std::move(cores);
  return Model::open_copy(package, options);
}

/// A run that notes its places under `model`.
std::optional<Error> run_once(Context& context, std::size_t model) {
  const std::vector<float> x = number(model);
  if (auto error = context.set_input("x", x, {64, 64})) return error;
  return context.run();
}

/// Runs the model on a thread of this affinity, which every run must give back. Returns the last
/// run's error.
std::optional<Error> run_on(const Processors& own, const Model& model, std::size_t number,
                            int num_runs = kManyRuns) {
  std::optional<Error> error;
  std::thread caller([&] {
    keep_to(own);
    auto context = model.create_context();
    for (int i = 0; i < num_runs; ++i) {
      error = run_once(*context, number);
      ASSERT_EQ(processors_of(0), own);
    }
  });
  caller.join();
  return error;
}

class Cores : public ::testing::Test {
 protected:
  void SetUp() override {
    if (usable_.size() < 2) {
      GTEST_SKIP() << "needs two processors; the test may use " << usable_.size();
    }
    places().clear();
  }

  int processor(std::size_t core) const { return usable_[core]; }

  const Processors usable_ = usable_processors();
};

TEST_F(Cores, CallerFromAnotherProcessorComputesOnTheAskedCore) {
  const auto package = noting_package();
  for (const std::size_t core : {0U, 1U}) {
    const auto model = open_on(package, {static_cast<std::int32_t>(core)});
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_FALSE(run_on({processor(1 - core)}, *model, core));
    EXPECT_FALSE(run_on(usable_, *model, core));
    EXPECT_THAT(places().here(core), ElementsAre(processor(core)));
    EXPECT_THAT(places().allowed(core), ElementsAre(Processors{processor(core)}));
  }
}

TEST_F(Cores, CallersOfSeveralModelsComputeAtOnceEachOnItsCore) {
  const auto package = noting_package();
  const std::array models = {*open_on(package, {0}), *open_on(package, {1})};
  std::vector<std::jthread> callers;
  for (std::size_t i = 0; i < 6; ++i) {
    callers.emplace_back([&, core = i % 2] {
      // One of the three callers of a model comes from the other core.
      const Processors own = i < 2 ? Processors{processor(1 - core)} : usable_;
      EXPECT_FALSE(run_on(own, models[core], core));
    });
  }
  callers.clear();
  for (const std::size_t core : {0U, 1U}) {
    EXPECT_THAT(places().here(core), ElementsAre(processor(core)));
    EXPECT_THAT(places().allowed(core), ElementsAre(Processors{processor(core)}));
  }
}

/// What the operator of the next test runs: a model on another core.
std::function<std::optional<Error>()>& inner_run() {
  static std::function<std::optional<Error>()> run;
  return run;
}

TEST_F(Cores, NestedRunGivesTheCallerBackToTheOuterRunsCore) {
  const auto inner = open_on(noting_package(), {1});
  auto context = inner->create_context();
  inner_run() = [&] { return run_once(*context, 1); };
  const auto outer = open_on(package_with("RunsAnother",
                                          [](const plugin::Call&) -> std::optional<Error> {
                                            places().add(0);
                                            auto error = inner_run()();
                                            places().add(2);
                                            return error;
                                          }),
                             {0});
  EXPECT_FALSE(run_on(usable_, *outer, 0));
  EXPECT_FALSE(run_on({processor(1)}, *outer, 0));
  EXPECT_THAT(places().allowed(0), ElementsAre(Processors{processor(0)}));
  EXPECT_THAT(places().allowed(1), ElementsAre(Processors{processor(1)}));
  EXPECT_THAT(places().allowed(2), ElementsAre(Processors{processor(0)}));
  EXPECT_THAT(places().here(2), ElementsAre(processor(0)));
  inner_run() = nullptr;
}

TEST_F(Cores, FailedRunGivesTheCallersAffinityBack) {
  const auto fails =
      open_on(package_with("FailsThere",
                           [](const plugin::Call& call) {
                             note(call);
                             return std::optional(Error{Code::kDataLoss, "not today"});
                           }),
              {1});
  const auto throws = open_on(package_with("ThrowsThere",
                                           [](const plugin::Call& call) -> std::optional<Error> {
                                             note(call);
                                             throw std::runtime_error("oh");
                                           }),
                              {1});
  for (const Model* model : {&*fails, &*throws}) {
    EXPECT_TRUE(run_on(usable_, *model, 1));
    EXPECT_TRUE(run_on({processor(0)}, *model, 1));
  }
  EXPECT_THAT(places().allowed(1), ElementsAre(Processors{processor(1)}));
  std::thread([&] {
    auto context = fails->create_context();
    EXPECT_TRUE(context->run()) << "no input is set";
    EXPECT_EQ(processors_of(0), usable_);
  }).join();
}

TEST_F(Cores, CallerThatIsInsideTheAskedCoresIsNotMoved) {
  const auto model = open_on(noting_package(), {0, 1});
  EXPECT_FALSE(run_on({processor(1)}, *model, 1));
  EXPECT_THAT(places().allowed(1), ElementsAre(Processors{processor(1)}));
}

TEST_F(Cores, ModelWithoutCoresLeavesItsCallerAlone) {
  const auto package = noting_package();
  for (const std::int32_t num_threads : {0, 1}) {
    const auto model = *Model::open_copy(package, num_threads);
    EXPECT_FALSE(run_on({processor(1)}, model, 1));
  }
  EXPECT_THAT(places().allowed(1), ElementsAre(Processors{processor(1)}));
}

TEST_F(Cores, WorkersMayUseOneAskedCoreEach) {
  const Processors asked = {processor(0), processor(1)};
  const std::set<pid_t> before = testing::threads_of(getpid());
  const auto model = open_on(noting_package(), {1, 0});
  ASSERT_TRUE(model) << model.error().message;
  std::vector<pid_t> workers;
  for (const pid_t thread : testing::threads_of(getpid())) {
    if (!before.contains(thread)) workers.push_back(thread);
  }
  ASSERT_THAT(workers, SizeIs(1)) << "the caller computes on the other core";
  // The worker gives way to a caller on its core, and stays on the two all the same.
  for (int i = 0; i < kManyRuns; ++i) {
    EXPECT_FALSE(run_on({asked[static_cast<std::size_t>(i) % 2]}, *model, 0, 1));
    const Processors allowed = processors_of(workers.front());
    ASSERT_THAT(allowed, SizeIs(1));
    EXPECT_THAT(asked, Contains(allowed.front()));
  }
}

TEST_F(Cores, CoreThatDoesNotExistIsRefused) {
  const auto model = open_on(noting_package(), {static_cast<std::int32_t>(usable_.size())});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kOutOfRange) << model.error().message;
}

}  // namespace
}  // namespace sluice

// Random calls, right and wrong ones, against the rules.
//
// SLUICE_STRESS_OPERATIONS=1000000 for the long form, SLUICE_STRESS_SEED to repeat a run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "package/executable.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_rules.h"
#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/manual_clock.h"

namespace sluice::runtime {
namespace {

using testing::EngineRules;

constexpr int kCores = 6;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const std::vector<std::vector<std::int32_t>>& shapes() {
  static const std::vector<std::vector<std::int32_t>> kShapes = {{1}, {1, 1}, {2, 1}, {3}};
  return kShapes;
}

EngineOptions options_of(topology::DeviceMap map) {
  EngineOptions options;
  options.devices = std::move(map);
  return options;
}

class Player {
 public:
  Player(testing::TestEngine& engine, ManualDrivers& drivers, std::uint64_t seed)
      : engine_(engine), drivers_(drivers), random_(seed) {
    for (const auto& cores : shapes()) executables_.push_back(testing::add_relu_in(cores));
  }

  void play() {
    switch (pick(12)) {
      case 0: return create_group();
      case 1: return destroy_group();
      case 2: return load();
      case 3: return start();
      case 4: return stop();
      case 5: return unload();
      case 6: return infer();
      case 7:
      case 8: return post();
      case 9: return poll();
      case 10: return wait();
      default: return cancel();
    }
  }

  void check_all() {
    ASSERT_EQ(engine_.num_free_cores(), rules_.num_free());
    ASSERT_EQ(engine_.list_groups().size(), rules_.groups.size());
    const auto infos = engine_.list_models();
    ASSERT_EQ(infos.size(), rules_.models.size());
    for (const terms::ModelInfo& info : infos) {
      ASSERT_EQ(info.phase, rules_.models.at(terms::ModelHandle(info.handle)).phase);
    }
  }

 private:
  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  /// Mostly a handle that lives, sometimes one that did, sometimes none.
  template <typename Handle, typename Map>
  Handle any(const Map& live, const std::vector<Handle>& ever) {
    if (!live.empty() && pick(8) != 0) {
      return std::next(live.begin(), static_cast<std::ptrdiff_t>(pick(live.size())))->first;
    }
    return ever.empty() ? Handle{} : ever[pick(ever.size())];
  }
  template <typename Handle>
  void remember(std::vector<Handle>& ever, Handle handle) {
    if (ever.size() >= 64) ever.erase(ever.begin());
    ever.push_back(handle);
  }
  terms::ModelHandle any_model() { return any(rules_.models, models_); }
  testing::Cookie any_cookie() { return any(rules_.cookies, cookies_); }

  void expect(const Status& status, RuntimeCode expected, const char* call) {
    ASSERT_EQ(terms::runtime_code_of(status), expected) << call << ": " << status.to_string();
  }

  void create_group() {
    terms::CoreRequest request;
    request.num_cores = static_cast<std::int32_t>(1 + pick(4));
    const bool fits = rules_.has_free_range(request.num_cores);
    const auto group = engine_.create_group(request);
    expect(group.status(), fits ? RuntimeCode::kOk : RuntimeCode::kNotEnoughCores, "create_group");
    if (!group.is_ok()) return;
    ASSERT_TRUE(rules_.take(*group, cores_of(*group), false));
    remember(groups_, *group);
  }

  std::vector<terms::CoreRef> cores_of(terms::CoreGroupId id) const {
    for (const terms::GroupInfo& info : engine_.list_groups()) {
      if (info.id == id) return info.cores;
    }
    return {};
  }

  void destroy_group() {
    const terms::CoreGroupId group = any(rules_.groups, groups_);
    expect(engine_.destroy_group(group), rules_.on_destroy(group), "destroy_group");
  }

  void load() {
    if (rules_.models.size() >= 12) return;
    const std::size_t shape = pick(shapes().size());
    LoadRequest request = testing::load_of(executables_[shape]);
    request.depth = static_cast<int>(1 + pick(3));
    request.queue_limit = static_cast<int>(pick(3));
    if (pick(3) != 0) request.group = any(rules_.groups, groups_);
    const auto refusal = rules_.refuses_load(shapes()[shape], request.group);
    const auto model = engine_.load(request);
    expect(model.status(), refusal.value_or(RuntimeCode::kOk), "load");
    if (!model.is_ok()) return;
    const terms::CoreGroupId group = engine_.info(*model).value().group;
    if (!request.group) {
      ASSERT_TRUE(rules_.take(group, cores_of(group), true));
    }
    rules_.on_loaded(*model, group, request.depth + *request.queue_limit);
    remember(models_, *model);
    remember(groups_, group);
  }

  void start() {
    const terms::ModelHandle model = any_model();
    expect(engine_.start(model), rules_.on_start(model), "start");
  }
  void stop() {
    const terms::ModelHandle model = any_model();
    expect(engine_.stop(model), rules_.on_stop(model), "stop");
  }
  void unload() {
    const terms::ModelHandle model = any_model();
    expect(engine_.unload(model), rules_.on_unload(model), "unload");
  }

  void infer() {
    const terms::ModelHandle model = any_model();
    const RuntimeCode expected = rules_.on_post(model);
    const auto value = static_cast<float>(pick(1000));
    const Reply reply = engine_.infer(model, testing::request_of(value));
    ASSERT_EQ(reply.code, expected) << reply.errors.to_status().to_string();
    if (expected != RuntimeCode::kOk) return;
    ASSERT_EQ(testing::floats(reply.outputs[0])[0], value + 1);
    finish_all();
  }

  void post() {
    const terms::ModelHandle model = any_model();
    const RuntimeCode expected = rules_.on_post(model);
    Request request = testing::request_of(1);
    request.priority = static_cast<std::int32_t>(pick(3));
    const bool is_late = pick(16) == 0;
    if (is_late) request.deadline_ns = 0;
    const auto cookie = engine_.post(model, request);
    const bool is_known = expected != RuntimeCode::kInvalidHandle;
    expect(cookie.status(), is_late && is_known ? RuntimeCode::kTimeout : expected, "post");
    if (!cookie.is_ok()) return;
    rules_.cookies[*cookie] = RuntimeCode::kPending;
    rules_.models[model].in_flight.insert(*cookie);
    remember(cookies_, *cookie);
  }

  void take(testing::Cookie cookie, const Reply& reply) {
    const auto it = rules_.cookies.find(cookie);
    const RuntimeCode expected =
        it == rules_.cookies.end() ? RuntimeCode::kInvalidHandle : it->second;
    ASSERT_EQ(reply.code, expected) << reply.errors.to_status().to_string();
    if (it != rules_.cookies.end() && expected != RuntimeCode::kPending) rules_.cookies.erase(it);
  }

  void poll() {
    const testing::Cookie cookie = any_cookie();
    take(cookie, engine_.poll(cookie));
  }

  void wait() {
    const testing::Cookie cookie = any_cookie();
    const auto it = rules_.cookies.find(cookie);
    if (it != rules_.cookies.end() && it->second == RuntimeCode::kPending) finish_all();
    take(cookie, engine_.wait(cookie, kNoDeadline));
  }

  /// Requests in flight end only here: the rules need no order of them.
  void finish_all() {
    while (drivers_.step_all().has_moved) continue;
    rules_.on_wait();
  }

  void cancel() {
    const testing::Cookie cookie = any_cookie();
    const auto it = rules_.cookies.find(cookie);
    const bool is_known = it != rules_.cookies.end();
    expect(engine_.cancel(cookie), is_known ? RuntimeCode::kOk : RuntimeCode::kInvalidHandle,
           "cancel");
    if (!is_known || it->second != RuntimeCode::kPending) return;
    it->second = RuntimeCode::kCancelled;
    for (auto& [handle, model] : rules_.models) model.in_flight.erase(cookie);
  }

  testing::TestEngine& engine_;
  ManualDrivers& drivers_;
  std::mt19937_64 random_;
  EngineRules rules_{kCores};
  std::vector<std::shared_ptr<const package::Executable>> executables_;
  std::vector<terms::CoreGroupId> groups_;
  std::vector<terms::ModelHandle> models_;
  std::vector<testing::Cookie> cookies_;
};

TEST(EngineRandom, RandomCallsKeepTheInvariants) {
  const std::uint64_t seed = number_from("SLUICE_STRESS_SEED", std::random_device{}());
  const std::uint64_t count = number_from("SLUICE_STRESS_OPERATIONS", 20'000);
  std::printf("SLUICE_STRESS_SEED=%llu, %llu operations\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(count));
  ManualClock clock;
  clock.advance(1);  // a deadline of 0 has passed
  ManualDrivers drivers(clock);
  testing::TestEngine engine(testing::registry(), drivers,
                             options_of(testing::pretended_cpu_map(kCores)));
  Player player(engine, drivers, seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_NO_FATAL_FAILURE(player.play()) << "operation " << i;
    if (::testing::Test::HasFatalFailure()) FAIL() << "operation " << i;
    if (i % 64 == 0) player.check_all();
  }
}

/// One of several threads that make random calls: each reply must be one that the rules allow.
void play_freely(testing::TestEngine& engine, std::uint64_t seed, std::uint64_t count,
                 const std::shared_ptr<const package::Executable>& executable,
                 std::atomic<std::int64_t>& answers) {
  std::mt19937_64 random(seed);
  std::vector<terms::ModelHandle> own;
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::uint64_t i = 0; i < count; ++i) {
    const terms::ModelHandle model = own.empty() ? terms::ModelHandle{} : own[pick(own.size())];
    switch (pick(8)) {
      case 0: {
        const auto loaded = engine.load(testing::load_of(executable));
        if (loaded.is_ok()) own.push_back(*loaded);
        break;
      }
      case 1:
        if (engine.unload(model).is_ok()) std::erase(own, model);
        break;
      case 2: (void)engine.stop(model).is_ok(); break;
      case 3: (void)engine.start(model).is_ok(); break;
      case 4: {
        Request request = testing::request_of(1);
        request.deadline_ns = engine.clock().now_ns() + static_cast<std::int64_t>(pick(200'000));
        const auto cookie = engine.post(model, request);
        if (!cookie.is_ok()) break;
        if (pick(2) == 0) (void)engine.cancel(*cookie).is_ok();
        const Reply reply = engine.wait(*cookie, kNoDeadline);
        ASSERT_TRUE(reply.code == RuntimeCode::kOk || reply.code == RuntimeCode::kTimeout ||
                    reply.code == RuntimeCode::kCancelled);
        ++answers;
        break;
      }
      default: {
        const Reply reply = engine.infer(model, testing::request_of(2));
        if (reply.code == RuntimeCode::kOk) {
          ASSERT_EQ(testing::floats(reply.outputs[0])[0], 3);
        }
        ++answers;
      }
    }
  }
}

TEST(EngineRandom, RandomThreadsAllGetRepliesAndLeakNothing) {
  const std::uint64_t seed = number_from("SLUICE_STRESS_SEED", std::random_device{}());
  const std::uint64_t count = number_from("SLUICE_STRESS_OPERATIONS", 20'000) / 40;
  std::printf("SLUICE_STRESS_SEED=%llu\n", static_cast<unsigned long long>(seed));
  ThreadDrivers drivers;
  testing::TestEngine engine(testing::registry(), drivers,
                             options_of(testing::pretended_cpu_map(kCores)));
  const auto executable = testing::add_relu();
  std::atomic<std::int64_t> answers = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] { play_freely(engine, seed + t, count, executable, answers); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(answers, 0);
  engine.shutdown();
  EXPECT_EQ(engine.num_free_cores(), kCores);
  EXPECT_TRUE(engine.list_models().empty());
}

}  // namespace
}  // namespace sluice::runtime

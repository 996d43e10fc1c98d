// A lane beside a model of a cell that dies at random: in any call, between calls, more often than
// its group allows, and unable to restore a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "runtime/model/lifecycle.h"
#include "runtime/packages/package_cache.h"
#include "runtime/testing/engine_testing.h"
#include "sandbox/function_sink.h"

namespace sluice::sandbox {
namespace {

using runtime::Reply;
using terms::ModelHandle;
using terms::ModelPhase;
using terms::runtime_error;

constexpr terms::CoreGroupId kGroup{7};

/// The rules of worker::WorkerGroup without processes: models keep their phases over a death, an
/// order of a dead cell fails, a model starts if none is started, and a group that died too often
/// stays failed until it is revived.
class DyingCell final : public runtime::ModelHost {
 public:
  explicit DyingCell(std::uint64_t seed) : random_(seed) {}

  LaneHost host() {
    return {this, [](const auto&) -> Result<terms::CoreGroupId> { return kGroup; },
            [](terms::CoreGroupId) { return ok_status(); },
            [this](terms::CoreGroupId) { return life(); },
            [this](terms::CoreGroupId) { return revive(); }};
  }
  /// The cell dies at one order in so many; 0: it lives.
  void set_deaths(int one_in) {
    const std::lock_guard lock(mutex_);
    one_in_ = one_in;
  }
  int num_deaths() const { return num_deaths_; }
  /// Orders that no correct lane gives to a cell that lives.
  int num_wrong_orders() const { return num_wrong_orders_; }

  Clock& clock() override { return system_clock(); }
  Result<ModelHandle> load(const runtime::LoadRequest&, const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(obey());
    models_[next_model_] = ModelPhase::kLoaded;
    return ModelHandle{next_model_++};
  }
  Status start(ModelHandle handle) override {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(obey());
    for (const auto& [id, phase] : models_) {
      if (phase == ModelPhase::kStarted) return wrong("a model is started");
    }
    return change(handle, runtime::ModelAction::kStart);
  }
  Status stop(ModelHandle handle, std::int64_t) override {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(obey());
    return change(handle, runtime::ModelAction::kStop);
  }
  Status reset(ModelHandle handle) override {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(obey());
    return change(handle, runtime::ModelAction::kReset);
  }
  Status unload(ModelHandle handle, std::int64_t) override {
    const std::lock_guard lock(mutex_);
    models_.erase(static_cast<std::uint64_t>(handle));
    return ok_status();
  }
  Result<terms::ModelInfo> info(ModelHandle handle) const override {
    const std::lock_guard lock(mutex_);
    const auto it = models_.find(static_cast<std::uint64_t>(handle));
    if (it == models_.end()) return runtime_error(RuntimeCode::kInvalidHandle, "no such model");
    terms::ModelInfo info;
    info.phase = it->second;
    return info;
  }
  std::vector<terms::ModelInfo> list_models() const override { return {}; }
  Result<runtime::ModelStatisticsSnapshot> statistics(ModelHandle) const override {
    return runtime::ModelStatisticsSnapshot();
  }
  Result<terms::Health> health(ModelHandle) const override { return terms::Health(); }
  Result<std::shared_ptr<runtime::RequestSink>> sink(ModelHandle handle) const override {
    auto* self = const_cast<DyingCell*>(this);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return std::shared_ptr<runtime::RequestSink>(std::make_shared<Sink>(*self, handle));
  }
  void shutdown(std::int64_t) override {}

 private:
  /// Answers in `submit`.
  class Sink final : public runtime::RequestSink {
   public:
    Sink(DyingCell& cell, ModelHandle handle) : cell_(cell), handle_(handle) {}
    const terms::Signature& signature() const override { return signature_; }
    int depth() const override { return 1; }
    Clock& clock() const override { return system_clock(); }
    Result<std::uint64_t> submit(runtime::Request& request) override {
      const Status done = cell_.compute(handle_);
      const auto on_done = std::move(request.on_done);
      on_done(done.is_ok() ? Reply() : runtime::failed_reply(done));
      return std::uint64_t{1};
    }
    bool cancel(std::uint64_t) override { return false; }
    bool wait(const std::function<bool()>& is_done, std::int64_t) override { return is_done(); }
    void tell_waiters() override {}

   private:
    DyingCell& cell_;
    const ModelHandle handle_;
    const terms::Signature signature_;
  };

  // Requires, here and below: mutex_ is held.
  bool happens(int one_in) {
    return one_in > 0 && std::uniform_int_distribution(1, one_in)(random_) == 1;
  }
  static Status dead() { return runtime_error(RuntimeCode::kDeviceError, "the cell died"); }
  Status wrong(const std::string& what) {
    ++num_wrong_orders_;
    return runtime_error(RuntimeCode::kFailed, "{}", what);
  }
  /// Whether the cell lives before an order, and after it.
  Status obey() {
    if (looks_until_ready_ > 0 || has_failed_) return dead();
    if (!happens(one_in_)) return ok_status();
    ++num_deaths_;
    looks_until_ready_ = std::uniform_int_distribution(1, 3)(random_);
    if (happens(8)) {
      has_failed_ = true;
      for (auto& [id, phase] : models_) phase = ModelPhase::kFailed;
    }
    // A death is seen late, so that the lane may look before and after the whole restart.
    if (!has_failed_ && happens(3)) live_again();
    return dead();
  }
  void live_again() {
    looks_until_ready_ = 0;
    ++number_;
    for (auto& [id, phase] : models_) {
      if (happens(20)) phase = ModelPhase::kFailed;  // it could not be restored
    }
  }
  Status change(ModelHandle handle, runtime::ModelAction action) {
    const auto it = models_.find(static_cast<std::uint64_t>(handle));
    if (it == models_.end()) return wrong("no such model");
    const auto next = runtime::next_phase(it->second, action);
    if (!next.is_ok()) return wrong(next.status().message());
    it->second = *next;
    return ok_status();
  }
  Status compute(ModelHandle handle) {
    const std::lock_guard lock(mutex_);
    SLUICE_TRY(obey());
    const auto it = models_.find(static_cast<std::uint64_t>(handle));
    if (it == models_.end() || it->second != ModelPhase::kStarted) return wrong("not started");
    return ok_status();
  }
  HostLife life() {
    const std::lock_guard lock(mutex_);
    if (has_failed_) return {HostLife::State::kFailed, number_};
    // Between two orders, too.
    if (looks_until_ready_ == 0 && happens(one_in_ * 8)) looks_until_ready_ = 2, ++num_deaths_;
    if (looks_until_ready_ > 0 && --looks_until_ready_ == 0) live_again();
    if (looks_until_ready_ > 0) return {HostLife::State::kRestarts, number_};
    return {HostLife::State::kServes, number_};
  }
  Status revive() {
    const std::lock_guard lock(mutex_);
    has_failed_ = false;
    for (auto& [id, phase] : models_) phase = ModelPhase::kStopped;
    live_again();
    return ok_status();
  }

  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  int one_in_ = 0;
  std::map<std::uint64_t, ModelPhase> models_;
  std::uint64_t next_model_ = 1;
  std::int64_t number_ = 0;
  int looks_until_ready_ = 0;
  bool has_failed_ = false;
  std::atomic<int> num_deaths_ = 0;
  std::atomic<int> num_wrong_orders_ = 0;
};

class LaneDeaths : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  std::shared_ptr<Function> make_function(int number) {
    auto function = std::make_shared<Function>();
    function->name = fmt::format("f{}", number);
    function->load.package = packages_.open(executable_);
    function->load.depth = 1;
    function->queue_limit = 8;
    lane_->add(function);
    return function;
  }
  RuntimeCode ask(const std::shared_ptr<Function>& function) {
    FunctionSink sink(lane_, function);
    return runtime::infer(sink, runtime::testing::request_of(1)).code;
  }
  /// A request, mostly; a start, a stop, or a removal after which another function is added.
  void do_something(std::shared_ptr<Function>& function, std::mt19937_64& random) {
    const int what = std::uniform_int_distribution(0, 19)(random);
    if (what == 0) {
      lane_->remove(function);
      function = make_function(num_functions_++);
    } else if (what <= 2) {
      const Status status = what == 1 ? lane_->warm(function) : lane_->cool(function);
      EXPECT_TRUE(status.is_ok() || terms::runtime_code_of(status) == RuntimeCode::kDeviceError)
          << status.to_string();
    } else {
      const RuntimeCode code = ask(function);
      EXPECT_TRUE(code == RuntimeCode::kOk || code == RuntimeCode::kDeviceError ||
                  code == RuntimeCode::kModelFailed)
          << static_cast<int>(code);
    }
  }

  DyingCell cell_{GetParam()};
  runtime::PackageCache packages_;
  const std::shared_ptr<const package::Executable> executable_ = runtime::testing::add_relu();
  std::shared_ptr<Lane> lane_ = std::make_shared<Lane>(cell_.host(), kGroup);
  int num_functions_ = 4;
};

TEST_P(LaneDeaths, EveryFunctionAnswersOnceTheDeathsEnd) {
  std::mt19937_64 random(GetParam());
  std::vector<std::shared_ptr<Function>> functions;
  for (int i = 0; i < num_functions_; ++i) functions.push_back(make_function(i));
  for (int round = 0; round < 10; ++round) {
    cell_.set_deaths(static_cast<int>(3 + GetParam() % 10));
    for (int i = 0; i < 20; ++i) do_something(functions[random() % functions.size()], random);
    cell_.set_deaths(0);
    for (const auto& function : functions) EXPECT_EQ(ask(function), RuntimeCode::kOk);
  }
  EXPECT_GT(cell_.num_deaths(), 10);
  EXPECT_EQ(cell_.num_wrong_orders(), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LaneDeaths, ::testing::Range<std::uint64_t>(0, 40));

}  // namespace
}  // namespace sluice::sandbox

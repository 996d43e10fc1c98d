// Models that stand for several loaded ones.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/runtime/runtime.h"
#include "session/model_runner.h"

namespace sluice::api {

/// A ModelRunner as a request sink; keeps the sinks of its replicas.
class CombinedModel final : public runtime::RequestSink {
 public:
  CombinedModel(std::string name, std::vector<std::shared_ptr<runtime::RequestSink>> replicas)
      : name_(std::move(name)), replicas_(std::move(replicas)) {}
  /// Before all other calls. Fails: as RequestSink::join and session::ModelRunner::create.
  Status start(const terms::RunnerOptions& options,
               const std::optional<terms::BatchOptions>& batching);

  const std::string& name() const { return name_; }
  const terms::Signature& signature() const override { return runner_->signature(); }
  int depth() const override { return runner_->sink().depth(); }
  std::int64_t batch_rows() const override { return runner_->sink().batch_rows(); }
  Clock& clock() const override { return runner_->sink().clock(); }
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override { return runner_->sink().cancel(id); }
  bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) override {
    return runner_->sink().wait(is_done, deadline_ns);
  }
  void tell_waiters() override { runner_->sink().tell_waiters(); }
  /// Every request has its reply at the end.
  void shutdown() { runner_->shutdown(); }

 private:
  const std::string name_;
  const std::vector<std::shared_ptr<runtime::RequestSink>> replicas_;
  std::unique_ptr<session::ModelRunner> runner_;  // destroyed before the replicas, which it uses
};

/// Handles for combined models. Safe across threads.
class CombinedModels {
 public:
  /// Distinguishes these handles from the engine's, which count from below.
  static bool is_handle(std::uint64_t model) { return (model & kBits) == kBit; }

  std::uint64_t add(std::shared_ptr<CombinedModel> model);
  /// Fails: kInvalidHandle.
  Result<std::shared_ptr<CombinedModel>> find(std::uint64_t model) const;
  /// As find, and later calls fail.
  Result<std::shared_ptr<CombinedModel>> remove(std::uint64_t model);
  std::map<std::uint64_t, std::shared_ptr<CombinedModel>> all() const;

 private:
  static constexpr std::uint64_t kBits = std::uint64_t{3} << 62U;
  static constexpr std::uint64_t kBit = std::uint64_t{1} << 62U;

  mutable std::mutex mutex_;
  std::uint64_t next_ = kBit;
  std::map<std::uint64_t, std::shared_ptr<CombinedModel>> models_;
};

}  // namespace sluice::api

// Models that stand for several loaded ones.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/handle_table.h"
#include "runtime/model_host.h"
#include "session/replica_set.h"

namespace sluice::session {

/// A model host whose models are replica sets of the models of other hosts. Safe from any thread.
/// Every Status has a RuntimeCode.
class CombinedHost final : public runtime::ModelHost {
 public:
  explicit CombinedHost(Clock& clock) : clock_(clock) {}
  ~CombinedHost() override { shutdown(0); }

  /// Takes requests from now on. A replica that is unloaded refuses its requests.
  /// Fails: as ReplicaSet::create.
  Result<terms::ModelHandle> combine(std::string name, const ReplicaSet::Replicas& replicas,
                                     const terms::ReplicaOptions& options);

  Clock& clock() override { return clock_; }
  /// Fails: a package is no combined model.
  Result<terms::ModelHandle> load(const runtime::LoadRequest& request,
                                  const std::stop_token& stop) override;
  // A combined model is always started, and holds no memory. These fail: kFailed.
  Status start(terms::ModelHandle handle) override;
  Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;
  Status reset(terms::ModelHandle handle) override;
  /// Cancels the requests that no replica has yet, and waits for the others. Its models stay.
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;

  Result<terms::ModelInfo> info(terms::ModelHandle handle) const override;
  std::vector<terms::ModelInfo> list_models() const override;
  // Its models have them. These fail: kInvalidHandle.
  Result<runtime::ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<terms::Health> health(terms::ModelHandle handle) const override;
  Result<std::shared_ptr<runtime::RequestSink>> sink(terms::ModelHandle handle) const override;

  /// Requires: the hosts of its models are shut down, so that every request has its reply.
  void shutdown(std::int64_t drain_deadline_ns) override;

 private:
  using Combined = std::pair<std::string, std::shared_ptr<ReplicaSet>>;

  Result<std::shared_ptr<Combined>> find(terms::ModelHandle handle) const;

  Clock& clock_;
  runtime::HandleTable<Combined> combined_{runtime::HandleKind::kCombined};
};

}  // namespace sluice::session

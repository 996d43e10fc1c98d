// Models that stand for several loaded ones.
#pragma once

#include <memory>
#include <string>

#include "runtime/table_host.h"
#include "session/replica_set.h"

namespace sluice::session {

struct CombinedModel {
  std::string name;
  std::shared_ptr<ReplicaSet> set;
};

/// A model host whose models are replica sets of the models of other hosts. Safe from any thread.
/// Every Status has a RuntimeCode.
class CombinedHost final : public runtime::TableHost<CombinedModel> {
 public:
  explicit CombinedHost(Clock& clock) : TableHost(runtime::HandleKind::kCombined), clock_(clock) {}
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
  /// Cancels the requests that no replica has yet, and waits for the others. Its models stay.
  Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) override;

  /// Its models have them. Fails: kInvalidHandle.
  Result<runtime::ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const override;
  Result<std::shared_ptr<runtime::RequestSink>> sink(terms::ModelHandle handle) const override;

  /// Requires: the hosts of its models are shut down, so that every request has its reply.
  void shutdown(std::int64_t drain_deadline_ns) override;

 private:
  terms::ModelInfo describe(std::uint64_t handle, const CombinedModel& combined) const override;

  Clock& clock_;
};

}  // namespace sluice::session

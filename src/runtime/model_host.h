// Runs models, in this process or in workers.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "runtime/model/load_request.h"
#include "runtime/request/request.h"
#include "runtime/statistics/health.h"
#include "runtime/statistics/model_statistics.h"
#include "terms/model.h"

namespace sluice::runtime {

/// Engine, worker::WorkerPool and others implement it and document the calls. Safe from any thread.
/// Times are on `clock()`.
class ModelHost {
 public:
  ModelHost() = default;
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;
  virtual ~ModelHost() = default;

  virtual Clock& clock() = 0;
  virtual Result<terms::ModelHandle> load(const LoadRequest& request,
                                          const std::stop_token& stop) = 0;
  virtual Status start(terms::ModelHandle handle) = 0;
  virtual Status stop(terms::ModelHandle handle, std::int64_t drain_deadline_ns) = 0;
  virtual Status reset(terms::ModelHandle handle) { return stop(handle, 0); }
  virtual Status unload(terms::ModelHandle handle, std::int64_t drain_deadline_ns) = 0;
  virtual Result<terms::ModelInfo> info(terms::ModelHandle handle) const = 0;
  virtual std::vector<terms::ModelInfo> list_models() const = 0;
  virtual Result<ModelStatisticsSnapshot> statistics(terms::ModelHandle handle) const = 0;
  /// What its requests and its phase say.
  virtual Result<terms::Health> health(terms::ModelHandle handle) const {
    const auto requests = SLUICE_TRY(statistics(handle));
    return health_of(requests, SLUICE_TRY(info(handle)).phase == terms::ModelPhase::kFailed);
  }
  virtual Result<std::shared_ptr<RequestSink>> sink(terms::ModelHandle handle) const = 0;
  virtual Result<terms::Signature> signature(terms::ModelHandle handle) const {
    const auto model = SLUICE_TRY(sink(handle));
    return model->signature();
  }
  /// Whether a model of another host serves one of this host's, and is listed as that one.
  virtual bool uses(const terms::ModelInfo& /*other*/) const { return false; }
  virtual void shutdown(std::int64_t drain_deadline_ns) = 0;
};

}  // namespace sluice::runtime

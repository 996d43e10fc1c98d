// What runs models: this process, or others on its behalf.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/model/loader.h"
#include "runtime/request.h"
#include "runtime/statistics/health.h"

namespace sluice::runtime {

/// Identifies a loaded model until it is unloaded, then nothing.
enum class ModelHandle : std::uint64_t {};

/// Where a group's models run.
enum class Isolation : std::uint8_t {
  kStream,  ///< in the process that has the engine, beside those of other groups
  kProcess  ///< in a worker process of the group's own, which is started anew when it dies
};
/// "stream", "process".
std::string_view isolation_name(Isolation isolation);
/// Fails: kInvalid naming what there is.
Result<Isolation> parse_isolation(std::string_view name);

/// The process that runs a group's models.
struct WorkerInfo {
  Isolation isolation = Isolation::kStream;  ///< without a process of its own: the rest is empty
  std::int64_t process = -1;                 ///< -1 while there is none
  std::int64_t num_restarts = 0;
  std::string state;   ///< "starting", "ready", "restarting", "failed"
  std::string reason;  ///< why it died last
};

/// Implemented by Engine and by worker::WorkerPool; what the calls do stands there. Safe from any
/// thread. Times are on `clock()`.
class ModelHost {
 public:
  ModelHost() = default;
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;
  virtual ~ModelHost() = default;

  virtual Clock& clock() = 0;
  virtual Result<ModelHandle> load(const LoadRequest& request, const std::stop_token& stop) = 0;
  virtual Status start(ModelHandle handle) = 0;
  virtual Status stop(ModelHandle handle, std::int64_t drain_deadline_ns) = 0;
  virtual Status reset(ModelHandle handle) = 0;
  virtual Status unload(ModelHandle handle, std::int64_t drain_deadline_ns) = 0;
  virtual Result<ModelInfo> info(ModelHandle handle) const = 0;
  virtual std::vector<ModelInfo> list_models() const = 0;
  virtual Result<ModelStatisticsSnapshot> statistics(ModelHandle handle) const = 0;
  virtual Result<Health> health(ModelHandle handle) const = 0;
  virtual Result<std::shared_ptr<RequestSink>> sink(ModelHandle handle) const = 0;
  virtual void shutdown(std::int64_t drain_deadline_ns) = 0;
};

}  // namespace sluice::runtime

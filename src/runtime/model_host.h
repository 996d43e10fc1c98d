// Runs models, in this process or in workers.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/model/loader.h"
#include "runtime/request/request.h"
#include "runtime/statistics/health.h"

namespace sluice::runtime {

/// Identifies a loaded model; stale after its unload.
enum class ModelHandle : std::uint64_t {};

/// The process that runs a group's models.
enum class Isolation : std::uint8_t {
  kStream,  ///< the process of the engine
  kProcess  ///< a worker of the group, which is restarted when it dies
};
/// "stream", "process".
std::string_view isolation_name(Isolation isolation);
/// Fails: kInvalid; the message lists the names.
Result<Isolation> parse_isolation(std::string_view name);

/// The worker of a group.
struct WorkerInfo {
  Isolation isolation = Isolation::kStream;  ///< kStream: the other fields are empty
  std::int64_t process = -1;                 ///< -1 while there is none
  std::int64_t num_restarts = 0;
  std::string state;   ///< "starting", "ready", "silent", "restarting", "failed"
  std::string reason;  ///< of its last death
};

/// Engine and worker::WorkerPool implement it and document the calls. Safe from any thread. Times
/// are on `clock()`.
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

// The runtime behind a sluice_runtime handle: an engine in this process, or a daemon.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "package/executable.h"
#include "runtime/engine.h"
#include "sandbox/function.h"
#include "sandbox/graph/graph_plan.h"
#include "session/model_runner.h"

namespace sluice::api {

/// Where waiting for cores ends: 0 at once, -1 never.
using TimeoutNs = std::int64_t;

struct GroupSettings {
  topology::CoreRequest cores;
  std::optional<runtime::Isolation> isolation;
  TimeoutNs timeout_ns = 0;
};

struct LoadSettings {
  std::string path;
  bool is_server_path = false;
  Bytes package;  ///< in place of `path`; aligned as package::parse_package requires
  std::string name;
  std::optional<topology::CoreGroupId> group;
  int depth = 0;
  std::optional<int> max_waiting;
  runtime::NanPolicy nan_policy = runtime::NanPolicy::kPass;
  bool is_on_demand = false;
  bool is_pinned = false;
  std::optional<runtime::Isolation> isolation;
  TimeoutNs timeout_ns = 0;
  std::optional<sandbox::FunctionOptions> function = {};
  std::optional<std::int64_t> max_recorded_bytes = {};
  std::optional<std::uint64_t> seed = {};              ///< of random operators
  std::optional<runtime::BatchOptions> batching = {};  ///< none: every request runs alone
};

inline Status unknown_model(std::uint64_t model) {
  return runtime::runtime_error(runtime::RuntimeCode::kInvalidHandle,
                                "no model has handle {:#x}, or it was unloaded", model);
}

/// For calls about the exchange, which daemons alone have.
inline Status no_exchange() {
  return unimplemented(
      "a runtime in this process keeps no tensors between requests: connect to a daemon");
}

/// Several loaded models, or one, that serve as one.
struct CombineSettings {
  std::vector<std::uint64_t> models;
  std::string name;
  session::RunnerOptions runner;
  std::optional<runtime::BatchOptions> batching;  ///< none: requests run one by one
};

struct ModelDescription {
  runtime::ModelInfo info;
  package::Signature signature;
  bool is_on_demand = false;
};

/// One inference. Tensors without a name are in the order of the signature. Memory is borrowed
/// until the reply.
struct InferCall {
  struct Input {
    std::string name;
    exec::TensorView view;
    /// Index of a tensor in the exchange, which `view` does not hold then; 0: none.
    std::uint64_t exchange = 0;
  };
  struct Output {
    std::string name;
    runtime::OutputMemory memory;
  };

  std::uint64_t model = 0;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::int64_t timeout_ns = 0;  ///< 0: none
  std::int32_t priority = 0;
  bool wants_detail = false;
  std::vector<std::string> kept_outputs = {};  ///< stay in the exchange, by name
  std::int64_t keep_ns = 0;                    ///< 0: the daemon's default

  bool uses_exchange() const {
    return !kept_outputs.empty() ||
           std::ranges::any_of(inputs, [](const Input& input) { return input.exchange != 0; });
  }
};

/// A tensor that another daemon offers, and how this one fetches it.
struct FetchSettings {
  std::string from;  ///< HOST:PORT of the other daemon's exchange
  std::uint64_t exchange = 0;
  std::string key;
  std::int64_t ttl_ns = 0;      ///< of the copy; 0: the daemon's default
  std::int64_t timeout_ns = 0;  ///< 0: none
};

struct InferReply {
  Status status;  ///< an error comes without outputs
  runtime::RuntimeCode code = runtime::RuntimeCode::kOk;
  std::vector<InferCall::Input> outputs;
  runtime::ReplyDetail detail;
  bool has_detail = false;            ///< the call wanted it
  std::shared_ptr<const void> owner;  ///< of the outputs' memory
};

/// Memory of a caller that a daemon maps, too.
struct SharedMemory {
  std::span<std::byte> memory;
  std::shared_ptr<const void> owner;
};

struct Latency {
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

/// Of a model since its load.
struct ModelStatistics {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t waiting = 0;
  std::int64_t max_waiting = 0;
  std::int64_t num_starts = 0;
  std::int64_t busy_ns = 0;
  std::vector<runtime::CodeCount> answered;
  Latency queue;
  Latency copy;
  Latency compute;
  Latency total;
  std::int64_t recorded_bytes = 0;
  std::int64_t joined = 0;
};

using OnReply = std::function<void(InferReply)>;

/// A submitted request.
class Flight {
 public:
  Flight() = default;
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;
  virtual ~Flight() = default;

  /// Ends the request with kCancelled unless it has finished.
  virtual void cancel() = 0;
  /// Waits until `is_done`, which becomes true before the request's OnReply returns; at most
  /// `timeout_ns`, -1 without limit. May run requests on this thread.
  virtual void wait(const std::function<bool()>& is_done, TimeoutNs timeout_ns) = 0;
};

/// Safe from any thread. sluice/runtime.h documents the calls. Every Status has a RuntimeCode.
class Runtime {
 public:
  Runtime() = default;
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  /// Requires: `shutdown` has returned, and no call is running.
  virtual ~Runtime() = default;

  virtual Result<std::vector<topology::Device>> devices() = 0;

  virtual Result<std::uint64_t> create_group(const GroupSettings& settings) = 0;
  virtual Status destroy_group(std::uint64_t group) = 0;
  virtual Result<std::vector<runtime::GroupInfo>> groups() = 0;

  virtual Result<std::uint64_t> load(const LoadSettings& settings) = 0;
  virtual Result<runtime::Footprint> estimate(const LoadSettings& settings) = 0;
  /// A model from then on. Fails: as sandbox::GraphHost::deploy.
  virtual Result<std::uint64_t> deploy_graph(const sandbox::GraphRequest& request) = 0;
  virtual Status start(std::uint64_t model) = 0;
  virtual Status stop(std::uint64_t model, std::int64_t drain_ns) = 0;
  virtual Status reset(std::uint64_t model) = 0;
  virtual Status unload(std::uint64_t model, std::int64_t drain_ns) = 0;
  /// 0: all; else one element.
  virtual Result<std::vector<ModelDescription>> models(std::uint64_t model) = 0;

  /// Unload it before its models. Fails: kInvalidHandle; as session::ModelRunner::create.
  virtual Result<std::uint64_t> combine(const CombineSettings& settings) = 0;
  /// Accepts requests for a model, here or after the model's end. Not after that of the runtime.
  virtual Result<std::shared_ptr<runtime::RequestSink>> sink(std::uint64_t model) = 0;

  /// Zeroed. Fails: kInvalidArgument for a size that is not positive; kResourceExhausted.
  virtual Result<SharedMemory> share(std::int64_t size_bytes) = 0;

  /// Tensors that stay between requests, by an index. These fail with no_exchange() unless the
  /// runtime is a daemon.
  virtual Result<std::uint64_t> put_tensor(const exec::TensorView& /*view*/,
                                           std::int64_t /*ttl_ns*/) {
    return no_exchange();
  }
  /// One output without a name.
  virtual InferReply get_tensor(std::uint64_t /*exchange*/) {
    InferReply reply;
    reply.status = no_exchange();
    return reply;
  }
  virtual Status remove_tensor(std::uint64_t /*exchange*/) { return no_exchange(); }
  /// The key for other daemons.
  virtual Result<std::string> offer_tensor(std::uint64_t /*exchange*/) { return no_exchange(); }
  virtual Result<std::uint64_t> fetch_tensor(const FetchSettings& /*settings*/) {
    return no_exchange();
  }

  virtual Result<ModelStatistics> statistics(std::uint64_t model) = 0;
  virtual Result<runtime::Health> health(std::uint64_t model) = 0;
  virtual Result<std::uint64_t> start_profile(const runtime::ProfileSettings& settings) = 0;
  virtual Result<runtime::Profile> stop_profile(std::uint64_t profile) = 0;

  /// Blocks until the reply.
  virtual InferReply infer(const InferCall& call) = 0;
  /// Calls `on_reply` exactly once unless it fails.
  virtual Result<std::shared_ptr<Flight>> submit(const InferCall& call, OnReply on_reply) = 0;

  /// Refuses new calls and ends all requests; each has its reply when this returns.
  virtual void shutdown(std::int64_t drain_ns) = 0;
};

}  // namespace sluice::api

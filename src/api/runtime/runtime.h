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
#include "terms/core_request.h"
#include "terms/graph.h"
#include "terms/load.h"
#include "terms/replicas.h"
#include "terms/runtime_code.h"
#include "terms/server/profile.h"
#include "terms/server/statistics.h"
#include "terms/tensors/request.h"
#include "terms/tensors/signature.h"

namespace sluice::runtime {
class RequestSink;
}

namespace sluice::api {

/// Where waiting for cores ends: 0 at once, -1 never.
using TimeoutNs = std::int64_t;

struct GroupSettings {
  terms::CoreRequest cores;
  std::optional<terms::Isolation> isolation;
  TimeoutNs timeout_ns = 0;
};

struct LoadSettings {
  terms::LoadOptions options;
  std::string path;
  bool is_server_path = false;
  Bytes package;  ///< in place of `path`; aligned as package::parse_package requires
  TimeoutNs timeout_ns = 0;
};

inline Status unknown_model(std::uint64_t model) {
  return terms::runtime_error(RuntimeCode::kInvalidHandle,
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
  terms::ReplicaOptions replicas;
  std::optional<terms::BatchOptions> batching;  ///< none: requests run one by one
};

struct ModelDescription {
  terms::ModelInfo info;
  terms::Signature signature;
  bool is_on_demand = false;
};

/// One inference. Tensors without a name are in the order of the signature. Memory is borrowed
/// until the reply.
struct InferCall {
  std::uint64_t model = 0;
  std::vector<terms::NamedTensor> inputs;
  std::vector<terms::NamedMemory> outputs;
  std::int64_t timeout_ns = 0;  ///< 0: none
  std::int32_t priority = 0;
  bool wants_detail = false;
  std::vector<std::string> kept_outputs = {};  ///< stay in the exchange, by name
  std::int64_t ttl_ns = 0;                     ///< 0: the daemon's default
  std::string traceparent = {};                ///< for a daemon's traces; empty: none
  std::string tracestate = {};

  bool uses_exchange() const {
    return !kept_outputs.empty() ||
           std::ranges::any_of(inputs,
                               [](const terms::NamedTensor& input) { return input.exchange != 0; });
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
  RuntimeCode code = RuntimeCode::kOk;
  std::vector<terms::NamedTensor> outputs;
  terms::ReplyDetail detail;
  bool has_detail = false;            ///< the call wanted it
  std::shared_ptr<const void> owner;  ///< of the outputs' memory
};

/// Memory of a caller that a daemon maps, too.
struct SharedMemory {
  std::span<std::byte> memory;
  std::shared_ptr<const void> owner;
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

  virtual Result<std::vector<terms::Device>> devices() = 0;

  virtual Result<std::uint64_t> create_group(const GroupSettings& settings) = 0;
  virtual Status destroy_group(std::uint64_t group) = 0;
  virtual Result<std::vector<terms::GroupInfo>> groups() = 0;

  virtual Result<std::uint64_t> load(const LoadSettings& settings) = 0;
  virtual Result<terms::Footprint> estimate(const LoadSettings& settings) = 0;
  /// A model from then on. Fails: as sandbox::GraphHost::deploy.
  virtual Result<std::uint64_t> deploy_graph(const terms::GraphRequest& request) = 0;
  virtual Status start(std::uint64_t model) = 0;
  virtual Status stop(std::uint64_t model, std::int64_t drain_ns) = 0;
  virtual Status reset(std::uint64_t model) = 0;
  virtual Status unload(std::uint64_t model, std::int64_t drain_ns) = 0;
  /// 0: all; else one element.
  virtual Result<std::vector<ModelDescription>> models(std::uint64_t model) = 0;

  /// Unload it before its models. Fails: kInvalidHandle; as session::ReplicaSet::create.
  virtual Result<std::uint64_t> combine(const CombineSettings& settings) = 0;
  /// Accepts requests for a model, here or after the model's end. Not after that of the runtime.
  virtual Result<std::shared_ptr<runtime::RequestSink>> sink(std::uint64_t model) = 0;

  /// Zeroed. Fails: kInvalidArgument for a size that is not positive; kResourceExhausted.
  virtual Result<SharedMemory> share(std::int64_t size_bytes) = 0;

  /// Tensors that stay between requests, by an index. These fail with no_exchange() unless the
  /// runtime is a daemon.
  virtual Result<std::uint64_t> put_tensor(const terms::TensorView& /*view*/,
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
  /// As rpc::client::Client::bring_tensor.
  virtual Result<std::optional<terms::DeviceId>> bring_tensor(std::uint64_t /*exchange*/,
                                                              terms::DeviceId /*device*/) {
    return no_exchange();
  }
  /// The key for other daemons.
  virtual Result<std::string> offer_tensor(std::uint64_t /*exchange*/) { return no_exchange(); }
  virtual Result<std::uint64_t> fetch_tensor(const FetchSettings& /*settings*/) {
    return no_exchange();
  }

  virtual Result<terms::ModelStatistics> statistics(std::uint64_t model) = 0;
  virtual Result<terms::Health> health(std::uint64_t model) = 0;
  virtual Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings) = 0;
  virtual Result<terms::Profile> stop_profile(std::uint64_t profile) = 0;

  /// Blocks until the reply.
  virtual InferReply infer(const InferCall& call) = 0;
  /// Calls `on_reply` exactly once unless it fails.
  virtual Result<std::shared_ptr<Flight>> submit(const InferCall& call, OnReply on_reply) = 0;

  // Requests that a daemon keeps for any connection of the session.
  virtual const std::string& session_token() const {
    static const std::string none;
    return none;
  }
  virtual Result<std::uint64_t> post(const InferCall& /*call*/) {
    return unimplemented("a posted request is a daemon's: requests here are this program's own");
  }
  /// As rpc::client::Client::take_reply.
  virtual Result<InferReply> take_reply(std::uint64_t request, TimeoutNs /*timeout_ns*/) {
    return cancel_posted(request);
  }
  virtual Status cancel_posted(std::uint64_t request) {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "no daemon has request {:#x}",
                                request);
  }

  /// Refuses new calls and ends all requests; each has its reply when this returns.
  virtual void shutdown(std::int64_t drain_ns) = 0;
};

}  // namespace sluice::api

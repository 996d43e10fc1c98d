#include "api/runtime/local_runtime.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "api/runtime/arrange.h"
#include "api/runtime/machine.h"
#include "api/runtime/shared_memory.h"
#include "exec/random/random_source.h"
#include "package/package.h"
#include "runtime/demand/demand_host.h"
#include "runtime/host_directory.h"
#include "sandbox/graph/graph_host.h"
#include "session/combined_host.h"

namespace sluice::api {
namespace {

Status refuse_isolation(const std::optional<terms::Isolation>& isolation) {
  if (isolation != terms::Isolation::kProcess) return ok_status();
  return unimplemented(
      "groups of this runtime run in this process; only a daemon has worker processes");
}

/// A refusal and a failed run look alike to the caller: one reply with a code and a status.
InferReply refusal(const Status& status) {
  InferReply reply;
  reply.status = status;
  reply.code = terms::runtime_code_of(status);
  return reply;
}

class LocalFlight final : public Flight {
 public:
  LocalFlight(std::shared_ptr<runtime::RequestSink> sink, std::uint64_t id)
      : sink_(std::move(sink)), id_(id) {}
  void cancel() override { sink_->cancel(id_); }
  void wait(const std::function<bool()>& is_done, TimeoutNs timeout_ns) override {
    sink_->wait(is_done, deadline_after(sink_->clock(), timeout_ns));
  }

 private:
  const std::shared_ptr<runtime::RequestSink> sink_;
  const std::uint64_t id_;
};

class LocalRuntime final : public Runtime {
 public:
  LocalRuntime(Machine machine, runtime::EngineOptions options, std::int64_t demand_budget_bytes)
      : machine_(std::move(machine)),
        engine_(machine_.plugins, *machine_.drivers, std::move(options)),
        on_demand_(engine_, demand_budget_bytes) {
    using Kind = runtime::HandleKind;
    hosts_.add(Kind::kEngine, engine_);
    hosts_.add(Kind::kOnDemand, on_demand_);
    hosts_.add(Kind::kFunction, functions_);
    hosts_.add(Kind::kGraph, graphs_);
    hosts_.add(Kind::kCombined, combined_);
  }

  Result<std::vector<terms::Device>> devices() override { return machine_.devices.devices; }

  Result<std::uint64_t> create_group(const GroupSettings& settings) override {
    // Refused rather than ignored: a program that asks for a process of its own relies on it.
    SLUICE_TRY(refuse_isolation(settings.isolation));
    // May wait for cores; the caller's thread waits, and no lock of the runtime is held.
    const auto id = SLUICE_TRY(engine_.create_group(settings.cores, policy(settings.timeout_ns)));
    return static_cast<std::uint64_t>(id.value());
  }
  Status destroy_group(std::uint64_t group) override {
    // A handle outside the range of group ids becomes an invalid id: the engine says NOT_FOUND.
    const auto id = group > INT32_MAX ? terms::CoreGroupId()
                                      : terms::CoreGroupId(static_cast<std::int32_t>(group));
    return engine_.destroy_group(id);
  }
  Result<std::vector<terms::GroupInfo>> groups() override { return engine_.list_groups(); }

  Result<std::uint64_t> load(const LoadSettings& settings) override {
    auto request = SLUICE_TRY(request_of(settings));
    if (settings.options.is_on_demand) return load_on(on_demand_, request);
    if (settings.options.function) {
      return static_cast<std::uint64_t>(
          SLUICE_TRY(functions_.deploy(request, *settings.options.function)));
    }
    request.may_share = true;  // as a daemon's models, which take turns where all cores are in use
    return load_on(engine_, request);
  }
  Result<terms::Footprint> estimate(const LoadSettings& settings) override {
    return engine_.estimate(SLUICE_TRY(request_of(settings)));
  }
  Result<std::uint64_t> deploy_graph(const terms::GraphRequest& request) override {
    return static_cast<std::uint64_t>(SLUICE_TRY(graphs_.deploy(request)));
  }

  Status start(std::uint64_t model) override {
    return hosts_.find(model).start(terms::ModelHandle{model});
  }
  Status stop(std::uint64_t model, std::int64_t drain_ns) override {
    return hosts_.find(model).stop(terms::ModelHandle{model}, after(drain_ns));
  }
  Status reset(std::uint64_t model) override {
    return hosts_.find(model).reset(terms::ModelHandle{model});
  }
  Status unload(std::uint64_t model, std::int64_t drain_ns) override {
    // A function within a graph must stay as long as the graph.
    SLUICE_TRY(graphs_.check_unused(terms::ModelHandle{model}));
    return hosts_.find(model).unload(terms::ModelHandle{model}, after(drain_ns));
  }

  Result<std::vector<ModelDescription>> models(std::uint64_t model) override {
    std::vector<ModelDescription> found;
    if (model != 0) {
      terms::ModelInfo info = SLUICE_TRY(hosts_.find(model).info(terms::ModelHandle{model}));
      ModelDescription one = SLUICE_TRY(describe(std::move(info)));
      found.push_back(std::move(one));
      return found;
    }
    for (terms::ModelInfo& info : hosts_.list()) {
      auto one = describe(std::move(info));
      if (one.is_ok()) found.push_back(std::move(*one));  // else it was unloaded meanwhile
    }
    return found;
  }

  Result<std::uint64_t> combine(const CombineSettings& settings) override {
    session::ReplicaSet::Replicas replicas;
    // Sinks, not handles: a replica that is unloaded answers with an error and does not dangle.
    for (const std::uint64_t model : settings.models) replicas.push_back(SLUICE_TRY(sink(model)));
    if (settings.batching) {
      for (const auto& replica : replicas) SLUICE_TRY(replica->join(*settings.batching));
    }
    return static_cast<std::uint64_t>(
        SLUICE_TRY(combined_.combine(settings.name, replicas, settings.replicas)));
  }
  Result<std::shared_ptr<runtime::RequestSink>> sink(std::uint64_t model) override {
    return hosts_.find(model).sink(terms::ModelHandle{model});
  }

  Result<SharedMemory> share(std::int64_t size_bytes) override {
    return allocate_pages(size_bytes);
  }

  Result<terms::ModelStatistics> statistics(std::uint64_t model) override {
    return runtime::summary_of(
        SLUICE_TRY(hosts_.find(model).statistics(terms::ModelHandle{model})));
  }
  Result<terms::Health> health(std::uint64_t model) override {
    return hosts_.find(model).health(terms::ModelHandle{model});
  }
  Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings) override {
    terms::ProfileSettings wanted = settings;
    if (settings.model) wanted.model = SLUICE_TRY(on_demand_.awake(*settings.model));
    return engine_.start_profile(wanted);
  }
  Result<terms::Profile> stop_profile(std::uint64_t profile) override {
    return engine_.stop_profile(profile);
  }

  InferReply infer(const InferCall& call) override {
    auto prepared = prepare(call);
    if (!prepared.is_ok()) return refusal(prepared.status());
    return name_outputs(runtime::infer(*prepared->sink, std::move(prepared->request)),
                        prepared->sink->signature(), call.wants_detail);
  }

  Result<std::shared_ptr<Flight>> submit(const InferCall& call, OnReply on_reply) override {
    auto prepared = SLUICE_TRY(prepare(call));
    // The sink lives until the reply, and keeps a model on demand awake.
    prepared.request.on_done = [sink = prepared.sink, has_detail = call.wants_detail,
                                on_reply = std::move(on_reply)](runtime::Reply reply) {
      on_reply(name_outputs(std::move(reply), sink->signature(), has_detail));
    };
    const std::uint64_t id = SLUICE_TRY(prepared.sink->submit(prepared.request));
    return std::shared_ptr<Flight>(std::make_shared<LocalFlight>(prepared.sink, id));
  }

  void shutdown(std::int64_t drain_ns) override { hosts_.shutdown(after(drain_ns)); }

 private:
  struct Prepared {
    std::shared_ptr<runtime::RequestSink> sink;
    runtime::Request request;
  };

  static Result<std::uint64_t> load_on(runtime::ModelHost& host,
                                       const runtime::LoadRequest& request) {
    return static_cast<std::uint64_t>(SLUICE_TRY(host.load(request, {})));
  }

  Result<ModelDescription> describe(terms::ModelInfo info) const {
    const std::uint64_t handle = info.handle;
    auto signature = SLUICE_TRY(hosts_.find(handle).signature(terms::ModelHandle{handle}));
    const bool is_on_demand = runtime::kind_of(handle) == runtime::HandleKind::kOnDemand;
    return ModelDescription{std::move(info), std::move(signature), is_on_demand};
  }

  std::int64_t after(std::int64_t duration_ns) {
    return deadline_after(engine_.clock(), std::max<std::int64_t>(duration_ns, 0));
  }

  topology::WaitPolicy policy(TimeoutNs timeout_ns) {
    // 0 asks once, a negative number waits without end.
    if (timeout_ns == 0) return topology::WaitPolicy::fail();
    if (timeout_ns < 0) return topology::WaitPolicy::wait();
    return topology::WaitPolicy::until(after(timeout_ns));
  }

  Result<runtime::LoadRequest> request_of(const LoadSettings& settings) {
    SLUICE_TRY(refuse_isolation(settings.options.isolation));
    runtime::LoadRequest request(settings.options);
    request.path = settings.path;
    if (settings.package.data() != nullptr) {
      request.executable = std::make_shared<const package::Executable>(
          SLUICE_TRY(package::parse_package(settings.package)));
    }
    request.wait = policy(settings.timeout_ns);
    if (settings.options.seed) request.random = exec::RandomSource::create(settings.options.seed);
    return request;
  }

  Result<Prepared> prepare(const InferCall& call) {
    if (call.uses_exchange()) return no_exchange();
    Prepared prepared;
    prepared.sink = SLUICE_TRY(sink(call.model));
    prepared.request = SLUICE_TRY(arrange(call, prepared.sink->signature()));
    if (call.timeout_ns > 0) prepared.request.deadline_ns = after(call.timeout_ns);
    return prepared;
  }

  const Machine machine_;
  runtime::Engine engine_;
  // Each of these uses those above it, so they must be destroyed in the reverse order.
  sandbox::FunctionHost functions_{engine_, {}};
  sandbox::GraphHost graphs_{functions_, /*exchange=*/nullptr};
  runtime::DemandHost on_demand_;
  session::CombinedHost combined_{engine_.clock()};
  runtime::HostDirectory hosts_;
};

}  // namespace

Result<std::unique_ptr<Runtime>> create_local_runtime(const LocalOptions& options) {
  runtime::EngineOptions engine;
  Machine machine = SLUICE_TRY(find_machine(options));
  engine.devices = machine.devices;
  const std::int64_t budget_bytes = options.demand_budget_bytes > 0
                                        ? options.demand_budget_bytes
                                        : std::numeric_limits<std::int64_t>::max();
  return std::unique_ptr<Runtime>(
      std::make_unique<LocalRuntime>(std::move(machine), std::move(engine), budget_bytes));
}

}  // namespace sluice::api

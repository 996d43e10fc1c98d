#include "api/runtime/local_runtime.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/runtime/arrange.h"
#include "api/runtime/combined_models.h"
#include "api/runtime/demand_models.h"
#include "api/runtime/machine.h"
#include "api/runtime/shared_memory.h"
#include "package/package.h"
#include "sandbox/graph/graph_host.h"

namespace sluice::api {
namespace {

Status refuse_isolation(const std::optional<terms::Isolation>& isolation) {
  if (isolation != terms::Isolation::kProcess) return ok_status();
  return unimplemented(
      "groups of this runtime run in this process; only a daemon has worker processes");
}

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
  LocalRuntime(Machine machine, runtime::EngineOptions options)
      : machine_(std::move(machine)),
        engine_(machine_.plugins, *machine_.drivers, std::move(options)) {}

  Result<std::vector<terms::Device>> devices() override { return machine_.devices.devices; }

  Result<std::uint64_t> create_group(const GroupSettings& settings) override {
    SLUICE_TRY(refuse_isolation(settings.isolation));
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
    if (settings.options.is_on_demand) {
      return demand_.add(engine_, std::move(request), settings.options.is_pinned);
    }
    if (settings.options.function) {
      return static_cast<std::uint64_t>(
          SLUICE_TRY(functions_.deploy(request, *settings.options.function)));
    }
    request.may_share = true;  // as a daemon's models, which take turns where all cores are in use
    return static_cast<std::uint64_t>(SLUICE_TRY(engine_.load(request)));
  }
  Result<terms::Footprint> estimate(const LoadSettings& settings) override {
    return engine_.estimate(SLUICE_TRY(request_of(settings)));
  }
  Result<std::uint64_t> deploy_graph(const terms::GraphRequest& request) override {
    return static_cast<std::uint64_t>(SLUICE_TRY(graphs_.deploy(request)));
  }

  Status start(std::uint64_t model) override {
    SLUICE_TRY(refuse_change(model));
    return host_of(model).start(terms::ModelHandle{model});
  }
  Status stop(std::uint64_t model, std::int64_t drain_ns) override {
    SLUICE_TRY(refuse_change(model));
    return host_of(model).stop(terms::ModelHandle{model}, after(drain_ns));
  }
  Status reset(std::uint64_t model) override {
    SLUICE_TRY(refuse_change(model));
    return host_of(model).reset(terms::ModelHandle{model});
  }
  Status unload(std::uint64_t model, std::int64_t drain_ns) override {
    if (CombinedModels::is_handle(model)) {
      SLUICE_TRY(combined_.remove(model))->shutdown();
      return ok_status();
    }
    if (!DemandModels::is_handle(model)) {
      SLUICE_TRY(graphs_.check_unused(terms::ModelHandle{model}));
      return host_of(model).unload(terms::ModelHandle{model}, after(drain_ns));
    }
    // Removed first: from here on no request can load the model again.
    const auto entry = SLUICE_TRY(demand_.remove(model));
    return engine_.remove_on_demand(entry->key, after(drain_ns));
  }

  Result<std::vector<ModelDescription>> models(std::uint64_t model) override {
    std::vector<ModelDescription> found;
    if (model == 0) {
      const auto on_demand = demand_.all();
      for (const auto& [handle, entry] : on_demand) found.push_back(describe(handle, *entry));
      for (const auto& [handle, one] : combined_.all()) found.push_back(describe(handle, *one));
      add_models(graphs_, found);
      add_models(functions_, found);
      for (const terms::ModelInfo& info : engine_.list_models()) {
        if (functions_.owns(info.group)) continue;  // the function's business
        const auto is_it = [&](const auto& one) {
          return engine_.find_loaded(one.second->key) == terms::ModelHandle{info.handle};
        };
        if (std::ranges::any_of(on_demand, is_it)) continue;
        const auto sink = engine_.sink(terms::ModelHandle{info.handle});
        if (sink.is_ok()) found.push_back({info, (*sink)->signature(), false});
      }
    } else if (CombinedModels::is_handle(model)) {
      found.push_back(describe(model, *SLUICE_TRY(combined_.find(model))));
    } else if (DemandModels::is_handle(model)) {
      found.push_back(describe(model, *SLUICE_TRY(demand_.find(model))));
    } else {
      auto info = SLUICE_TRY(host_of(model).info(terms::ModelHandle{model}));
      const auto sink = SLUICE_TRY(host_of(model).sink(terms::ModelHandle{model}));
      found.push_back({std::move(info), sink->signature(), false});
    }
    return found;
  }

  Result<std::uint64_t> combine(const CombineSettings& settings) override {
    std::vector<std::shared_ptr<runtime::RequestSink>> replicas;
    for (const std::uint64_t model : settings.models) replicas.push_back(SLUICE_TRY(sink(model)));
    auto combined = std::make_shared<CombinedModel>(settings.name, std::move(replicas));
    SLUICE_TRY(combined->start(settings.runner, settings.batching));
    return combined_.add(std::move(combined));
  }
  Result<std::shared_ptr<runtime::RequestSink>> sink(std::uint64_t model) override {
    if (CombinedModels::is_handle(model)) {
      return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(combined_.find(model)));
    }
    SLUICE_TRY(refuse_change(model));
    return host_of(model).sink(terms::ModelHandle{model});
  }

  Result<SharedMemory> share(std::int64_t size_bytes) override {
    return allocate_pages(size_bytes);
  }

  Result<terms::ModelStatistics> statistics(std::uint64_t model) override {
    return runtime::summary_of(
        SLUICE_TRY(host_of(model).statistics(SLUICE_TRY(loaded_handle(model)))));
  }
  Result<terms::Health> health(std::uint64_t model) override {
    return host_of(model).health(SLUICE_TRY(loaded_handle(model)));
  }
  Result<std::uint64_t> start_profile(const terms::ProfileSettings& settings) override {
    terms::ProfileSettings wanted = settings;
    if (settings.model) {
      wanted.model = SLUICE_TRY(loaded_handle(static_cast<std::uint64_t>(*settings.model)));
    }
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
    // The sink and the use of a model on demand live until the reply.
    prepared.request.on_done = [sink = prepared.sink, use = prepared.use,
                                has_detail = call.wants_detail,
                                on_reply = std::move(on_reply)](runtime::Reply reply) {
      on_reply(name_outputs(std::move(reply), sink->signature(), has_detail));
    };
    const std::uint64_t id = SLUICE_TRY(prepared.sink->submit(prepared.request));
    return std::shared_ptr<Flight>(std::make_shared<LocalFlight>(prepared.sink, id));
  }

  void shutdown(std::int64_t drain_ns) override {
    const std::int64_t deadline_ns = after(drain_ns);
    graphs_.shutdown(deadline_ns);  // whose requests go on to their next functions
    functions_.shutdown(deadline_ns);
    engine_.shutdown(deadline_ns);
    for (const auto& [handle, combined] : combined_.all()) combined->shutdown();
  }

 private:
  /// Fails: kInvalidHandle for an unknown combined model or model on demand; kFailed for one that
  /// exists.
  Status refuse_change(std::uint64_t model) const {
    if (CombinedModels::is_handle(model)) {
      SLUICE_TRY(combined_.find(model));
      return terms::runtime_error(RuntimeCode::kFailed,
                                  "a combined model is started and stopped by its models");
    }
    if (!DemandModels::is_handle(model)) return ok_status();
    SLUICE_TRY(demand_.find(model));
    return terms::runtime_error(RuntimeCode::kFailed,
                                "a model on demand is started and stopped by its requests");
  }

  struct Prepared {
    std::shared_ptr<runtime::RequestSink> sink;
    std::shared_ptr<runtime::DemandLoader::Use> use;  ///< of a model on demand
    runtime::Request request;
  };

  static void add_models(const runtime::ModelHost& host, std::vector<ModelDescription>& to) {
    for (terms::ModelInfo& info : host.list_models()) {
      const auto sink = host.sink(terms::ModelHandle{info.handle});
      if (sink.is_ok()) to.push_back({std::move(info), (*sink)->signature(), false});
    }
  }

  runtime::ModelHost& host_of(std::uint64_t model) {
    if (sandbox::GraphHost::is_handle(model)) return graphs_;
    if (sandbox::FunctionHost::is_handle(model)) return functions_;
    return engine_;
  }

  std::int64_t after(std::int64_t duration_ns) {
    return deadline_after(engine_.clock(), std::max<std::int64_t>(duration_ns, 0));
  }

  topology::WaitPolicy policy(TimeoutNs timeout_ns) {
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

  static ModelDescription describe(std::uint64_t handle, const CombinedModel& combined) {
    ModelDescription description;
    description.info.handle = handle;
    description.info.name = combined.name();
    description.info.phase = terms::ModelPhase::kStarted;
    description.info.depth = combined.depth();
    description.signature = combined.signature();
    return description;
  }

  ModelDescription describe(std::uint64_t handle, const DemandModels::Entry& entry) {
    ModelDescription description;
    const auto loaded = engine_.find_loaded(entry.key);
    auto info = loaded ? engine_.info(*loaded)
                       : Result<terms::ModelInfo>(make_error(Code::kNotFound, "not loaded"));
    if (info.is_ok()) {
      description.info = std::move(*info);
    } else {
      description.info.name = entry.name;
      description.info.phase = terms::ModelPhase::kUnloaded;
      description.info.footprint = entry.footprint;
    }
    description.info.handle = handle;
    description.signature = entry.signature;
    description.is_on_demand = true;
    return description;
  }

  /// The engine's handle. Fails: kInvalidHandle, also for a model on demand that is not in memory.
  Result<terms::ModelHandle> loaded_handle(std::uint64_t model) {
    if (CombinedModels::is_handle(model)) {
      return terms::runtime_error(RuntimeCode::kInvalidHandle,
                                  "a combined model has no statistics: ask its models");
    }
    if (!DemandModels::is_handle(model)) return terms::ModelHandle{model};
    const auto entry = SLUICE_TRY(demand_.find(model));
    const auto loaded = engine_.find_loaded(entry->key);
    if (loaded) return *loaded;
    return terms::runtime_error(RuntimeCode::kInvalidHandle,
                                "model \"{}\" is not in memory now: its next request loads it",
                                entry->name);
  }

  Result<Prepared> prepare(const InferCall& call) {
    if (call.uses_exchange()) return no_exchange();
    Prepared prepared;
    terms::ModelHandle handle{call.model};
    if (DemandModels::is_handle(call.model)) {
      const auto entry = SLUICE_TRY(demand_.find(call.model));
      prepared.use =
          std::make_shared<runtime::DemandLoader::Use>(SLUICE_TRY(engine_.use(entry->key)));
      handle = terms::ModelHandle{prepared.use->handle()};
    }
    prepared.sink = SLUICE_TRY(sink(static_cast<std::uint64_t>(handle)));
    prepared.request = SLUICE_TRY(arrange(call, prepared.sink->signature()));
    if (call.timeout_ns > 0) prepared.request.deadline_ns = after(call.timeout_ns);
    return prepared;
  }

  const Machine machine_;
  runtime::Engine engine_;
  // Each of these uses those above it, so they must be destroyed in the reverse order.
  sandbox::FunctionHost functions_{engine_, {}};
  sandbox::GraphHost graphs_{functions_, /*exchange=*/nullptr};
  DemandModels demand_;
  CombinedModels combined_;  ///< destroyed before the engine, whose models it uses
};

}  // namespace

Result<std::unique_ptr<Runtime>> create_local_runtime(const LocalOptions& options) {
  runtime::EngineOptions engine;
  Machine machine = SLUICE_TRY(find_machine(options));
  engine.devices = machine.devices;
  if (options.demand_budget_bytes > 0) engine.demand_budget_bytes = options.demand_budget_bytes;
  return std::unique_ptr<Runtime>(
      std::make_unique<LocalRuntime>(std::move(machine), std::move(engine)));
}

}  // namespace sluice::api

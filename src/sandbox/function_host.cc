#include "sandbox/function_host.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/process/with_lock.h"
#include "runtime/engine.h"
#include "runtime/inference/group_scheduler.h"
#include "runtime/model/request_name.h"
#include "runtime/packages/package_cache.h"
#include "sandbox/function_sink.h"
#include "sandbox/programs/program_model.h"

namespace sluice::sandbox {

using runtime::LoadRequest;
using terms::ModelHandle;
using terms::runtime_error;

namespace {

Status check_request(const LoadRequest& request) {
  if (request.group) {
    return runtime_error(RuntimeCode::kInvalid,
                         "a function runs on a lane of functions; leave out the group");
  }
  return terms::check(request);
}

Status check_footprint(const Function& function) {
  const std::int64_t quota = function.options.memory_bytes;
  if (quota == 0 || function.footprint.total_bytes() <= quota) return ok_status();
  return runtime_error(RuntimeCode::kOutOfResources,
                       "function \"{}\" takes {}, its quota is {} bytes; deploy it with a larger "
                       "quota or a smaller depth",
                       function.name, function.footprint.to_string(), quota);
}

struct KeptFile {
  explicit KeptFile(int opened) : file(opened) {}
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;
  ~KeptFile() { ::close(file); }

  int file;
};

/// A cell loads the package from this file each time, whatever happens to its name.
Status keep_file(Function& function) {
  runtime::LoadRequest& load = function.load;
  const int file = load.package_fd >= 0 ? fcntl(load.package_fd, F_DUPFD_CLOEXEC, 0)
                                        : ::open(load.path.c_str(), kReadFlags);
  if (file < 0) {
    return runtime_error(RuntimeCode::kInvalid, "function \"{}\": its package cannot be kept: {}",
                         function.name, std::strerror(errno));
  }
  load.package_fd = file;
  function.package_file = std::make_shared<KeptFile>(file);
  return ok_status();
}

}  // namespace

FunctionHost::FunctionHost(runtime::Engine& engine, const FunctionHostOptions& options)
    : TableHost(runtime::HandleKind::kFunction, "function", "no longer"),
      engine_(engine),
      options_(options),
      daemons_(host_of(engine)) {}

Clock& FunctionHost::clock() { return engine_.clock(); }

LaneHost FunctionHost::host_of(runtime::Engine& engine) {
  return {&engine, [&engine](const auto& request) { return engine.create_group(request); },
          [&engine](terms::CoreGroupId group) { return engine.destroy_group(group); },
          [](terms::CoreGroupId /*group*/) { return HostLife(); },
          [](terms::CoreGroupId /*group*/) { return ok_status(); }};
}

/// Maps the package and checks it against the options.
Status FunctionHost::open_package(Function& function, const LoadRequest& request,
                                  terms::Isolation isolation) {
  // Opened once: every later start uses this mapping, whatever happens to the file's name.
  function.load.package = SLUICE_TRY(engine_.open(request));
  const auto executable = SLUICE_TRY(function.load.package->executable());
  if (isolation == terms::Isolation::kProcess) {
    SLUICE_TRY(keep_file(function));  // a cell's process prepares it
  } else {
    function.load.package->keep_ready();
  }
  // From here on the function is its mapped package; a path could name another file by now.
  function.load.path.clear();
  function.signature = package::signature_of(executable->graph);
  if (function.options.batch_rows > 1) {
    // No delay: only requests that wait for a turn anyway are joined.
    function.load.batching = terms::BatchOptions{function.options.batch_rows, 0};
    function.joining = SLUICE_TRY(runtime::join_rule(fmt::format("function \"{}\"", function.name),
                                                     *executable, *function.load.batching));
    function.signature = function.joining->signature;
  }
  function.footprint = SLUICE_TRY(engine_.estimate(function.load));
  return check_footprint(function);
}

Result<std::shared_ptr<Function>> FunctionHost::open(const LoadRequest& request,
                                                     const terms::FunctionOptions& options,
                                                     terms::Isolation isolation) {
  SLUICE_TRY(check(options));
  SLUICE_TRY(check_request(request));
  auto function = std::make_shared<Function>();
  function->name = runtime::name_of(request, "function");
  function->options = options;
  function->load = request;
  function->load.name = function->name;
  function->load.function = options;  // a load bounds its contexts by the quota
  function->load.depth = std::max(1, request.depth);
  function->queue_limit =
      request.queue_limit.value_or(terms::kWaitingPerSlot * function->load.depth);
  function->load.queue_limit = 0;  // requests wait in the lane
  if (options.program) {
    function->signature = program_signature();
  } else {
    SLUICE_TRY(open_package(*function, request, isolation));
  }
  return function;
}

/// With `most` places, or fewer where fewer cores are free. A function of one core of the host runs
/// on any place of a lane. Places of several cores, of other devices and of cells are lanes of
/// their own, where a function stays.
Result<std::shared_ptr<Lane>> FunctionHost::make_lane(const LaneHost& host, std::int32_t most) {
  const terms::CoreRequest one_place = {.num_cores = options_.lane_cores};
  if (host.models != &engine_) {
    return std::make_shared<Lane>(host, SLUICE_TRY(host.create_group(one_place)));
  }
  const std::int32_t num_free = std::max(engine_.num_free_cores(), 1);
  std::int32_t count = options_.lane_cores == 1 ? std::min(most, num_free) : 1;
  const auto reserve = [&] {
    const terms::CoreRequest places = {.num_cores = count, .kind = std::string(terms::kCpuKind)};
    return engine_.create_group(count > 1 ? places : one_place);
  };
  auto group = reserve();
  for (; !group.is_ok() && count > 1; group = reserve()) --count;
  const terms::CoreGroupId id = SLUICE_TRY(std::move(group));
  return std::make_shared<Lane>(host, id, LanePlaces{count, engine_.find_group(id)->group().cpus});
}

/// A new lane while there are fewer places of its kind than the options allow, else the one with
/// the least expected load.
Result<std::shared_ptr<Lane>> FunctionHost::choose_lane(const Function& function,
                                                        terms::Isolation isolation) {
  const bool is_program = function.options.program.has_value();
  const bool is_cell = !is_program && isolation == terms::Isolation::kProcess;
  const LaneHost& packages = is_cell ? cells_ : daemons_;
  const LaneHost& host = is_program ? programs_ : packages;
  if (host.models == nullptr && is_program) {
    return runtime_error(RuntimeCode::kInvalid, "programs cannot be deployed here");
  }
  if (host.models == nullptr) {
    return runtime_error(RuntimeCode::kInvalid, "isolation: there are no cells here; leave it out");
  }
  std::vector<std::shared_ptr<Lane>> lanes;
  {
    const std::lock_guard lock(lanes_mutex_);
    if (!is_open_) {
      return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                    "the functions are shut down");
    }
    // A copy, so that create_group and expected_load run without lanes_mutex_.
    std::ranges::copy_if(lanes_, std::back_inserter(lanes),
                         [&](const auto& lane) { return lane->host() == host.models; });
  }
  std::int32_t most = is_cell ? options_.num_cells : options_.num_lanes;
  for (const auto& lane : lanes) most -= lane->num_places();
  if (most > 0) {
    // Without lanes_mutex_: a cell's group starts a process. change_mutex_ of the caller keeps a
    // second deployment out.
    auto made = make_lane(host, most);
    if (made.is_ok()) {
      const std::lock_guard lock(lanes_mutex_);
      return lanes_.emplace_back(std::move(*made));
    }
    if (lanes.empty()) return made.status().with_context("cores for functions");
  }
  return *std::ranges::min_element(lanes, {},
                                   [](const auto& lane) { return lane->expected_load(); });
}

Result<ModelHandle> FunctionHost::deploy(const LoadRequest& request,
                                         const terms::FunctionOptions& options,
                                         terms::Isolation isolation) {
  // Serialises deployments and removals, so that a lane that is empty now is still empty when it is
  // dropped. Lock order: change_mutex_, then lanes_mutex_.
  const std::lock_guard change(change_mutex_);
  if (models_.all().size() >= kMaxFunctions) {
    return runtime_error(RuntimeCode::kOutOfResources,
                         "{} functions are deployed, which is the limit; remove one",
                         kMaxFunctions);
  }
  auto function = SLUICE_TRY(open(request, options, isolation));
  const std::shared_ptr<Lane> lane = SLUICE_TRY(choose_lane(*function, isolation));
  function->load.group = lane->group();
  // In this process the lane's turns replace those of the group.
  if (lane->host() == &engine_) function->load.cores_beside_others = options_.lane_cores;
  // Added before it is warmed: the lane's memory and turns then count it.
  lane->add(function);
  // A deployment that cannot start is refused at once, not at its first request.
  const Status status = lane->warm(function);
  if (!status.is_ok()) {
    lane->remove(function);
    drop_lane_if_empty(lane);
    return status.with_context(fmt::format("deploying function \"{}\"", function->name));
  }
  return ModelHandle(models_.insert(std::make_shared<FunctionSink>(lane, function)));
}

Result<ModelHandle> FunctionHost::load(const LoadRequest& request, const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return runtime_error(RuntimeCode::kCancelled, "the deployment was cancelled");
  }
  return deploy(request, {});
}

Result<terms::FunctionState> FunctionHost::state(ModelHandle handle) const {
  const auto sink = SLUICE_TRY(find(handle));
  return sink->lane()->state(*sink->function());
}

bool FunctionHost::is_in_cell(ModelHandle handle) const {
  const auto sink = find(handle);
  return sink.is_ok() && (*sink)->lane()->host() != &engine_;
}

bool FunctionHost::uses(const terms::ModelInfo& other) const {
  const std::lock_guard lock(lanes_mutex_);
  return std::ranges::any_of(lanes_,
                             [&](const auto& lane) { return lane->group() == other.group; });
}

Status FunctionHost::start(ModelHandle handle) {
  const auto sink = SLUICE_TRY(find(handle));
  return sink->lane()->warm(sink->function());
}

Status FunctionHost::stop(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  const auto sink = SLUICE_TRY(find(handle));
  return sink->lane()->cool(sink->function());
}

Status FunctionHost::unload(ModelHandle handle, std::int64_t /*drain_deadline_ns*/) {
  const std::lock_guard change(change_mutex_);
  SLUICE_TRY(find(handle));
  const auto sink = models_.remove(static_cast<std::uint64_t>(handle));
  if (sink == nullptr) return find(handle).status();
  sink->lane()->remove(sink->function());
  drop_lane_if_empty(sink->lane());
  return ok_status();
}

void FunctionHost::drop_lane_if_empty(const std::shared_ptr<Lane>& lane) {
  if (!lane->is_empty()) return;
  lane->shutdown(0);
  const std::lock_guard lock(lanes_mutex_);
  std::erase(lanes_, lane);
}

terms::ModelInfo FunctionHost::describe(std::uint64_t handle, const FunctionSink& sink) const {
  terms::ModelInfo info = sink.lane()->info(*sink.function());
  info.handle = handle;
  return info;
}

Result<runtime::ModelStatisticsSnapshot> FunctionHost::statistics(ModelHandle handle) const {
  const auto sink = SLUICE_TRY(find(handle));
  return sink->lane()->statistics(*sink->function());
}

Result<terms::Health> FunctionHost::health(ModelHandle handle) const {
  const auto sink = SLUICE_TRY(find(handle));
  return sink->lane()->health(*sink->function());
}

Result<std::shared_ptr<runtime::RequestSink>> FunctionHost::sink(ModelHandle handle) const {
  return std::shared_ptr<runtime::RequestSink>(SLUICE_TRY(find(handle)));
}

/// The lanes drain at the same time: each refuses new requests when its turn comes, and all have
/// the same deadline.
void FunctionHost::shutdown(std::int64_t drain_deadline_ns) {
  const auto lanes = with_lock(lanes_mutex_, [&] {
    is_open_ = false;
    return std::exchange(lanes_, {});
  });
  for (const auto& lane : lanes) lane->shutdown(drain_deadline_ns);
}

}  // namespace sluice::sandbox

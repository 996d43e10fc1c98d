#include "worker/program/server.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <utility>

#include "backend/extensions/device_reset.h"
#include "backend/registry.h"
#include "base/process/memory_limit.h"
#include "base/process/privileges.h"
#include "base/process/start_thread.h"
#include "base/system/processor.h"
#include "exec/random/random_source.h"
#include "runtime/engine.h"
#include "runtime/inference/simulated_drivers.h"
#include "terms/load_json.h"
#include "topology/map/device_map_json.h"
#include "worker/program/confine.h"
#include "worker/program/requests.h"
#include "worker/protocol/arena.h"
#include "worker/protocol/channel.h"
#include "worker/protocol/model_info.h"
#include "worker/protocol/package_file.h"
#include "worker/protocol/profile_pages.h"
#include "worker/protocol/setup.h"

namespace sluice::worker {
namespace {

using nlohmann::json;
using terms::ModelHandle;

// Below the largest number, so that sums of two fields do not overflow.
constexpr std::int64_t kMaxInt64 = std::int64_t{1} << 62;
/// Limit of the last words of a worker.
constexpr std::size_t kMaxReasonBytes = 1500;

/// Pins this thread and all threads that it starts.
Status stay_on(const std::vector<std::int32_t>& cpus) {
  if (cpus.empty()) return ok_status();
  set_process_cpus(cpus);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::int32_t cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return ok_status();
  return make_error(Code::kUnavailable, "staying on processors of the group: {}",
                    std::strerror(errno));
}

class Server {
 public:
  explicit Server(int socket) : channel_(shm::Fd(socket)) {}

  void run() {
    while (true) {
      auto message = channel_.receive();
      if (!message.is_ok()) return;
      take(std::move(*message));
    }
  }

 private:
  void take(Channel::Message message) {
    const JsonValue body(message.body, "");
    const auto id = body.int_or("id", 0, 0, kMaxInt64);
    const auto op = body.text_or("op", "");
    // An order without an id has no place for an answer.
    if (!id.is_ok() || !op.is_ok()) return;
    if (*op == "cancel") return cancel(body);
    if (*op == "ping") {
      return reply(*id, json::object({{"overdue_ns", engine_ ? engine_->overdue_ns() : 0}}));
    }
    const auto source = std::make_shared<std::stop_source>();
    {
      const std::lock_guard lock(mutex_);
      // Entered before the work starts: a cancel that follows at once finds it.
      calls_[*id] = source;
    }
    const auto work = [this, id = *id, op = *op, source,
                       held = std::make_shared<Channel::Message>(std::move(message))] {
      reply(id, answer(op, *held, source->get_token()));
    };
    // Later calls need what "memory" and "start" make, so these two run on this thread, in order.
    // Every other call may be slow and gets a thread.
    if (*op == "memory" || *op == "start") return work();
    auto thread = start_thread(work);
    if (!thread.is_ok()) return reply(*id, thread.status());
    thread->detach();  // the process ends without them
  }

  void reply(std::int64_t id, Result<json> answer) {
    json body = answer.is_ok() ? std::move(*answer) : status_to_json(answer.status());
    if (answer.is_ok()) body["code"] = 0;
    body["id"] = id;
    {
      const std::lock_guard lock(mutex_);
      // Lock order: mutex_ and send_mutex_ are never held together.
      calls_.erase(id);
    }
    const std::lock_guard lock(send_mutex_);
    (void)channel_.send(body);  // the daemon is gone, which `run` sees
  }

  void cancel(const JsonValue& body) {
    const auto call = body.int_or("call", 0, 0, kMaxInt64);
    const std::lock_guard lock(mutex_);
    const auto it = call.is_ok() ? calls_.find(*call) : calls_.end();
    if (it != calls_.end()) it->second->request_stop();
  }

  Result<json> answer(const std::string& op, const Channel::Message& message,
                      const std::stop_token& stop) {
    if (op == "memory") return done(take_memory(message.fd.get()));
    if (op == "start") return done(start(message.fd.get()));
    if (engine_ == nullptr) return invalid_argument("\"{}\" came before \"start\"", op);
    const JsonValue body(message.body, "");
    if (op == "load") return load(body, message.fd.get(), stop);
    if (op == "start_profile") return start_profile(body);
    if (op == "next_page") return next_page(body);
    if (op == "drop_profile") return drop_profile(body);
    const auto model = ModelHandle(static_cast<std::uint64_t>(
        SLUICE_TRY(SLUICE_TRY(body.field("model")).as_int(0, kMaxInt64))));
    const std::int64_t drain_ns = SLUICE_TRY(body.int_or("drain_ns", 0, 0, kMaxInt64));
    const std::int64_t deadline_ns = drain_ns > 0 ? engine_->clock().now_ns() + drain_ns : 0;
    if (op == "start_model") return done(engine_->start(model));
    if (op == "stop") return done(engine_->stop(model, deadline_ns));
    if (op == "reset") return done(engine_->reset(model));
    if (op == "unload") return done(engine_->unload(model, deadline_ns));
    return invalid_argument("\"{}\" is nothing that a worker does", op);
  }

  static Result<json> done(const Status& status) {
    if (!status.is_ok()) return status;
    return json::object();
  }

  Status take_memory(int fd) {
    memory_ = SLUICE_TRY(shm::Region::adopt(fd, kArenaBytes));
    return ok_status();
  }

  Status start(int fd) {
    if (memory_ == nullptr) return invalid_argument("\"start\" came before \"memory\"");
    const WorkerSetup setup = SLUICE_TRY(parse_setup(SLUICE_TRY(read_text_file(fd))));
    limit_usable_memory(setup.usable_bytes);
    // In this order: threads that plug-ins start inherit the affinity, and the filter is last,
    // because creating the engine needs more calls than computing.
    SLUICE_TRY(stay_on(setup.cpus));
    SLUICE_TRY(find_backends(setup));
    SLUICE_TRY(drop_privileges(setup.user, setup.group));
    runtime::EngineOptions options;
    options.devices = SLUICE_TRY(topology::parse_device_map(setup.map));
    options.hang_limit_ns = setup.hang_limit_ns;
    auto engine = std::make_unique<runtime::Engine>(backends_, *drivers_, std::move(options));
    terms::CoreRequest request;
    request.num_cores = setup.num_cores;
    request.first = {terms::DeviceId(setup.first_device), setup.first_core};
    request.memory_bytes = setup.memory_bytes;
    group_ = SLUICE_TRY(engine->create_group(request));
    requests_ = SLUICE_TRY(Requests::create(
        *engine, memory_,
        [this](std::uint64_t model, const std::string& why) { end_if_lost(model, why); }));
    if (setup.is_filtered) SLUICE_TRY(filter_system_calls());
    engine_ = std::move(engine);
    // requests_ is never destroyed: the process ends by _exit.
    auto thread = SLUICE_TRY(start_thread([requests = requests_.get()] {
      requests->run();
      _exit(3);  // the daemon makes no sense any more
    }));
    thread.detach();
    return ok_status();
  }

  Status find_backends(const WorkerSetup& setup) {
    backend::Discovery discovery;
    if (!setup.sim.empty()) discovery.options["sim"] = {{"description", setup.sim}};
    backends_ = backend::BackendRegistry::discover(discovery);
    (void)backends_.all();  // loads them: once confined, a process maps nothing to execute
    if (setup.sim.empty()) {
      drivers_ = std::make_unique<runtime::ThreadDrivers>();
      return ok_status();
    }
    auto time = SLUICE_TRY(backend::VirtualTime::of(SLUICE_TRY(backends_.find("sim"))));
    drivers_ = std::make_unique<runtime::SimulatedDrivers>(std::move(time));
    return ok_status();
  }

  /// Behind a fault of such a device only a new process computes, and the daemon starts one when
  /// this one ends. It answers what is in flight with the reason.
  void end_if_lost(std::uint64_t model, const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      if (!on_devices_without_reset_.contains(model)) return;
    }
    const std::lock_guard lock(send_mutex_);
    // Without it the daemon sees the end alone.
    (void)channel_.send({{"op", "end"}, {"why", why.substr(0, kMaxReasonBytes)}});
    _exit(4);
  }

  Result<bool> needs_devices_without_reset(const package::Executable& executable) const {
    for (const std::string& name : executable.backends) {
      const auto backend = backends_.find(name);
      if (!backend.is_ok()) continue;  // the load says what is missing
      if (SLUICE_TRY(backend::is_lost_for_good(**backend))) return true;
    }
    return false;
  }

  Result<json> load(const JsonValue& body, int fd, const std::stop_token& stop) {
    runtime::LoadRequest request(SLUICE_TRY(terms::load_options_from_json(body)));
    const bool keeps_code = SLUICE_TRY(SLUICE_TRY(body.field("keeps_code")).as_bool());
    request.executable = SLUICE_TRY(map_package(fd, keeps_code));
    request.group = group_;
    if (request.seed) request.random = exec::RandomSource::create(request.seed);
    const bool is_lost_for_good = SLUICE_TRY(needs_devices_without_reset(*request.executable));
    const ModelHandle model = SLUICE_TRY(engine_->load(request, stop));
    if (is_lost_for_good) {
      const std::lock_guard lock(mutex_);
      on_devices_without_reset_.insert(static_cast<std::uint64_t>(model));
    }
    return info_json(static_cast<std::uint64_t>(model), SLUICE_TRY(engine_->info(model)));
  }

  Result<json> start_profile(const JsonValue& body) {
    terms::ProfileSettings settings;
    const std::int64_t model = SLUICE_TRY(body.int_or("model", 0, 0, kMaxInt64));
    if (model != 0) settings.model = ModelHandle(static_cast<std::uint64_t>(model));
    settings.limit_ns = SLUICE_TRY(body.int_or("limit_ns", settings.limit_ns, 1, kMaxInt64));
    settings.max_spans = SLUICE_TRY(body.int_or("max_spans", settings.max_spans, 1, kMaxInt64));
    return json({{"profile", SLUICE_TRY(engine_->start_profile(settings))}});
  }

  static Result<std::uint64_t> profile_of(const JsonValue& body) {
    const auto field = SLUICE_TRY(body.field("profile"));
    return static_cast<std::uint64_t>(SLUICE_TRY(field.as_int(0, kMaxInt64)));
  }

  Result<json> drop_profile(const JsonValue& body) {
    return done(engine_->stop_profile(SLUICE_TRY(profile_of(body))).status());
  }

  /// The daemon asks for one page of a profile after the other.
  Result<json> next_page(const JsonValue& body) {
    const std::uint64_t number = SLUICE_TRY(profile_of(body));
    const std::lock_guard lock(pages_mutex_);
    auto pages = pages_.find(number);
    if (pages == pages_.end()) {
      auto profile = SLUICE_TRY(engine_->stop_profile(number));
      pages = pages_.emplace(number, ProfilePages(std::move(profile))).first;
    }
    json page = pages->second.next();
    // A daemon that stops asking leaves the rest until the worker ends.
    if (pages->second.is_done()) pages_.erase(pages);
    return page;
  }

  Channel channel_;
  std::mutex send_mutex_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<std::stop_source>> calls_;
  std::set<std::uint64_t> on_devices_without_reset_;  ///< models; handles are never given twice
  std::shared_ptr<shm::Region> memory_;
  backend::BackendRegistry backends_;
  std::unique_ptr<runtime::DriverSource> drivers_;
  std::unique_ptr<runtime::Engine> engine_;
  terms::CoreGroupId group_ = {};
  std::unique_ptr<Requests> requests_;
  std::mutex pages_mutex_;
  std::map<std::uint64_t, ProfilePages> pages_;  ///< of profiles that are being fetched
};

}  // namespace

int serve(int socket) {
  // The server is never destroyed, because the process exits without saving state.
  auto* server = new Server(socket);
  server->run();
  return 0;
}

}  // namespace sluice::worker

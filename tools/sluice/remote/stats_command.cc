#include <map>

#include "sluice/devices/device_table.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

/// The worker of each model's group, as text; "-" for models in the daemon.
class WorkersOfModels {
 public:
  static Result<WorkersOfModels> ask(rpc::client::Client& client) {
    // Two calls: a group may end between them. `of` takes that as no worker.
    WorkersOfModels workers;
    for (const auto& group : SLUICE_TRY(client.list_groups())) {
      workers.of_group_[group.info.id] = describe_worker(group.info.worker);
    }
    for (const auto& model : SLUICE_TRY(client.list_models(0))) {
      workers.group_of_[model.info.handle] = model.info.group;
    }
    return workers;
  }

  std::string of(std::uint64_t model) const {
    const auto group = group_of_.find(model);
    const auto worker = group == group_of_.end() ? of_group_.end() : of_group_.find(group->second);
    return worker == of_group_.end() ? "-" : worker->second;  // it may have ended meanwhile
  }

 private:
  std::map<terms::CoreGroupId, std::string> of_group_;
  std::map<std::uint64_t, terms::CoreGroupId> group_of_;
};

class StatsCommand : public Command {
 public:
  const char* name() const override { return "stats"; }

  void add_options(Options& options) override {
    options.add("model", model_, "Handle or name (default: all)");
    remote_.add_to(options);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    const std::uint64_t model = model_.empty() ? 0 : SLUICE_TRY(find_model(*client, model_));
    terms::ServerStatistics server;
    if (model == 0) {
      server = SLUICE_TRY(client->all_statistics());
    } else {
      server.models = SLUICE_TRY(client->statistics(model));
    }
    if (remote_.is_json) {
      print_json(server.models);
      return 0;
    }
    const auto workers = SLUICE_TRY(WorkersOfModels::ask(*client));
    std::vector<std::vector<std::string>> rows = {{"MODEL", "NAME", "ANSWERED", "ERRORS", "REFUSED",
                                                   "WAITING", "P50", "P99", "QUEUE P99",
                                                   "COMPUTE P50", "RECORDED", "WORKER"}};
    for (const auto& one : server.models) {
      std::int64_t num_answered = 0;
      std::int64_t num_ok = 0;
      for (const terms::CodeCount& count : one.answered) {
        num_answered += count.count;
        if (count.code == RuntimeCode::kOk) num_ok += count.count;
      }
      rows.push_back({fmt::format("{:#x}", one.model), one.name, std::to_string(num_answered),
                      std::to_string(num_answered - num_ok), std::to_string(one.refused),
                      fmt::format("{} (max {})", one.waiting, one.max_waiting),
                      describe_duration(one.total.p50_ns), describe_duration(one.total.p99_ns),
                      describe_duration(one.queue.p99_ns), describe_duration(one.compute.p50_ns),
                      format_bytes(one.recorded_bytes), workers.of(one.model)});
    }
    fmt::print("{}", text_table(rows));
    if (model == 0) {
      print_sensors(server);
      print_pools(server);
      print_memory(server);
    }
    return 0;
  }

 private:
  static void print_sensors(const terms::ServerStatistics& all) {
    for (const terms::Usage& device : all.devices) {
      if (device.sensors == terms::Sensors()) continue;
      fmt::print("device {}: {}, {}\n", device.id, terms::health_name(device.health.state),
                 printable(describe_sensors(device.sensors)));
    }
  }

  static void print_pools(const terms::ServerStatistics& all) {
    for (const terms::Usage& device : all.devices) {
      if (!device.pools) continue;
      const terms::DevicePools& pools = *device.pools;
      fmt::print(
          "device {}: streams: {} in use, {} unused, {} draining, {} made; pool: {}, {} "
          "used, {} idle, {} taken and {} given back so far\n",
          device.id, pools.streams_in_use, pools.streams_unused, pools.streams_draining,
          pools.streams_made, format_bytes(pools.reserved_bytes), format_bytes(pools.used_bytes),
          format_bytes(pools.idle_bytes), format_bytes(pools.grown_bytes),
          format_bytes(pools.shrunk_bytes));
    }
  }

  static void print_memory(const terms::ServerStatistics& all) {
    if (all.memory.empty()) return;  // a daemon of an older version
    std::string parts;
    std::int64_t total = 0;
    for (const terms::MemoryItem& item : all.memory) {
      total += item.bytes;
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", item.category,
                           format_bytes(item.bytes));
    }
    fmt::print("memory: {} of {}: {}\n", format_bytes(total), format_bytes(all.memory_limit_bytes),
               parts);
  }

  RemoteOptions remote_;
  std::string model_;
};

}  // namespace

std::unique_ptr<Command> make_stats_command() { return std::make_unique<StatsCommand>(); }

}  // namespace sluice::tool

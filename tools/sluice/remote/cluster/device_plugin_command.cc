#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backend/registry.h"
#include "rpc/kubelet/device_plugin.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "topology/discovery/discovery.h"

namespace sluice::tool {
namespace {

using rpc::kubelet::CoreUnit;
using rpc::kubelet::DevicePlugin;

/// Between two looks at the daemon and the kubelet.
constexpr timespec kPeriod = {1, 0};
/// A daemon that is there and silent gives no groups.
constexpr std::int64_t kAnswerTimeoutNs = 5'000'000'000;
constexpr std::int64_t kConnectTimeoutNs = 1'000'000'000;

/// The daemon does not tell the NUMA nodes of its devices, so this looks at the machine. Simulated
/// devices, and others that the machine does not have, get none.
void add_numa_nodes(const topology::DeviceMap& machine, std::vector<terms::Device>& devices) {
  for (terms::Device& device : devices) {
    const auto is_same = [&](const terms::Device& own) {
      return own.id == device.id && own.kind == device.kind && own.num_cores == device.num_cores &&
             own.bus_address == device.bus_address;
    };
    const auto own = std::ranges::find_if(machine.devices, is_same);
    if (own != machine.devices.end()) device.numa_node = own->numa_node;
  }
}

bool is_lost(const terms::ServerStatistics& statistics, terms::DeviceId device) {
  const auto id = static_cast<std::uint64_t>(device.value());
  const auto found = std::ranges::find(statistics.devices, id, &terms::Usage::id);
  return found != statistics.devices.end() && found->health.state == terms::HealthState::kFailed;
}

class DevicePluginCommand : public Command {
 public:
  const char* name() const override { return "device-plugin"; }

  void add_options(Options& options) override {
    options.add("--cores", plugin_.access.cores, "Cores of a group").shows_default().at_least(1);
    options.add("--resource", plugin_.access.kind, "Name of the resource that pods ask for")
        .shows_default();
    options.add("--folder", folder_, "Folder of the kubelet's socket").shows_default();
    options.add("--cdi", cdi_folder_,
                "Write a CDI file there, /var/run/cdi for one, and let containers get what it says "
                "(default: the kubelet gives them environment and mount)");
    options.flag("--print-cdi", only_prints_cdi_, "Print that file, for podman --device, and end");
    remote_.add_connection_to(options);
  }

  Result<int> run() override {
    const sigset_t signals = block_signals();  // before there are threads
    const auto address = SLUICE_TRY(rpc::wire::parse_address(remote_.client.address));
    if (!address.is_unix) {
      return invalid_argument("{} is no Unix socket, by which pods reach the daemon of their node",
                              remote_.client.address);
    }
    plugin_.access.socket = std::filesystem::absolute(address.path).string();
    plugin_.folder = folder_;
    plugin_.cdi_folder = cdi_folder_;
    remote_.client.connect_timeout_ns = kConnectTimeoutNs;
    remote_.client.answer_timeout_ns = kAnswerTimeoutNs;
    client_ = SLUICE_TRY(remote_.connect());
    machine_ = SLUICE_TRY(topology::discover_devices(backend::BackendRegistry::discover({}), {}));
    const auto plugin = SLUICE_TRY(DevicePlugin::create(plugin_, [this] { return look(); }));
    if (only_prints_cdi_) {
      fmt::print("{}", rpc::kubelet::cdi_document(plugin_.access, SLUICE_TRY(look())));
      return 0;
    }
    serve(*plugin, signals);
    return 0;
  }

 private:
  Result<std::vector<CoreUnit>> look() const {
    auto server = SLUICE_TRY(client_->server());
    const auto health = SLUICE_TRY(client_->health());
    const auto statistics = SLUICE_TRY(client_->all_statistics());
    add_numa_nodes(machine_, server.devices);
    auto units = rpc::kubelet::core_units(server.devices, plugin_.access.cores);
    for (CoreUnit& unit : units) {
      unit.is_healthy =
          health.is_ready && server.state == "ready" && !is_lost(statistics, unit.device);
    }
    return units;
  }

  static sigset_t block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT}) sigaddset(&signals, number);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
  }

  /// Until SIGTERM or SIGINT. An error is told once, and again after it was over.
  static void serve(DevicePlugin& plugin, const sigset_t& signals) {
    std::string told = "-";
    do {
      const Status status = plugin.step();
      const std::string text = status.is_ok() ? "" : status.to_string();
      if (text != told && (!text.empty() || told != "-")) {
        fmt::print(stderr, "sluice device-plugin: {}\n", text.empty() ? "ready" : text);
      }
      told = text;
    } while (sigtimedwait(&signals, nullptr, &kPeriod) < 0);
  }

  RemoteOptions remote_;
  rpc::kubelet::DevicePluginOptions plugin_;
  std::string folder_ = plugin_.folder.string();
  std::string cdi_folder_;
  bool only_prints_cdi_ = false;
  std::unique_ptr<rpc::client::Client> client_;
  topology::DeviceMap machine_;
};

}  // namespace

std::unique_ptr<Command> make_device_plugin_command() {
  return std::make_unique<DevicePluginCommand>();
}

}  // namespace sluice::tool

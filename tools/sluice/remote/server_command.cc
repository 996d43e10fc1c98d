#include <cstdlib>
#include <string>
#include <vector>

#include "base/text/plural.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/support/bundle.h"

namespace sluice::tool {
namespace {

class ServerCommand : public Command {
 public:
  const char* name() const override { return "server"; }
  void add_options(Options& options) override {
    remote_.add_to(options);
    const auto bundle = options.add(
        "--bundle", bundle_,
        "Write a tar of what support wants to know, without secrets: settings, health, statistics, "
        "metrics, journal, machine");
    options.add("--config", config_, "The daemon's configuration file, for --bundle").needs(bundle);
  }

  /// 1 if the daemon is not ready, or a device or a model failed.
  Result<int> run() override {
    if (!bundle_.empty()) {
      SLUICE_TRY(write_bundle(bundle_, connection(), config_));
      return 0;
    }
    const auto client = SLUICE_TRY(remote_.connect());
    const auto server = SLUICE_TRY(client->server());
    const auto health = SLUICE_TRY(client->health());
    if (remote_.is_json) {
      print_json(server, health);
    } else {
      fmt::print("sluiced {}, process {}, up {}, {}\n", server.version, server.process,
                 describe_age(server.uptime_ns), server.state);
      fmt::print("{}, {} of {} free\n", counted(server.devices.size(), "device"),
                 server.num_free_cores, counted(server.num_cores, "core"));
      fmt::print("this client is {}, with the roles {}\n", printable(server.account),
                 terms::to_string(server.roles));
      fmt::print("{} of {} descriptors open, {} refused\n", health.descriptors.num_open,
                 health.descriptors.max_open,
                 counted(health.num_refused_connections, "connection"));
      for (const auto& device : health.devices) {
        fmt::print("device {}: {}\n", device.device.value(), describe(device.health));
      }
      for (const auto& model : health.models) {
        fmt::print("model {:#x} {}: {}\n", model.model, printable(model.name),
                   describe(model.health));
      }
    }
    bool is_well = health.is_ready;
    for (const auto& device : health.devices) {
      is_well = is_well && device.health.state != terms::HealthState::kFailed;
    }
    for (const auto& model : health.models) {
      is_well = is_well && model.health.state != terms::HealthState::kFailed;
    }
    return is_well ? 0 : 1;
  }

 private:
  static std::string describe(const terms::Health& health) {
    return fmt::format("{}{}{}{}{}", terms::health_name(health.state),
                       health.reason.empty() ? "" : ": ", printable(health.reason),
                       health.action.empty() ? "" : "; ", printable(health.action));
  }

  /// For another command; its token goes through the environment.
  std::vector<std::string> connection() const {
    const rpc::client::ClientOptions& client = remote_.client;
    std::vector<std::string> words = {"--address", client.address};
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    };
    add("--ca", client.ca);
    add("--certificate", client.certificate);
    add("--key", client.key);
    if (!client.token.empty()) setenv("SLUICE_TOKEN", client.token.c_str(), 1);
    return words;
  }

  RemoteOptions remote_;
  std::string bundle_;
  std::string config_;
};

}  // namespace

std::unique_ptr<Command> make_server_command() { return std::make_unique<ServerCommand>(); }

}  // namespace sluice::tool

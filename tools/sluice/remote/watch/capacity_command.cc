#include "backend/registry.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"
#include "sluice/remote/watch/capacity.h"
#include "sluice/remote/watch/snapshot.h"
#include "topology/discovery/discovery.h"

namespace sluice::tool {
namespace {

class CapacityCommand : public Command {
 public:
  const char* name() const override { return "capacity"; }
  void add_options(Options& options) override { remote_.add_to(options); }

  /// Whoever names an address wants that daemon, and gets no other answer.
  Result<int> run() override {
    auto now = ask();
    const bool is_absent = !now.is_ok() && now.status().code() == Code::kUnavailable;
    const bool is_default = remote_.client.address == rpc::client::ClientOptions().address;
    const bool is_from_daemon = !(is_absent && is_default);
    if (!is_from_daemon) now = look();
    if (!now.is_ok()) return std::move(now).status();
    const auto print = remote_.is_json ? capacity_json : capacity_text;
    fmt::print("{}", print(*now, is_from_daemon));
    return 0;
  }

 private:
  Result<activity::Snapshot> ask() const {
    const auto client = SLUICE_TRY(remote_.connect());
    return take_snapshot(*client);
  }

  static Result<activity::Snapshot> look() {
    const auto backends = backend::BackendRegistry::discover({});
    activity::Snapshot now;
    now.server.devices = SLUICE_TRY(topology::discover_devices(backends, {})).devices;
    return now;
  }

  RemoteOptions remote_;
};

}  // namespace

std::unique_ptr<Command> make_capacity_command() { return std::make_unique<CapacityCommand>(); }

}  // namespace sluice::tool

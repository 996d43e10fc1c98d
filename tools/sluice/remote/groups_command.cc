#include "base/text/plural.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class GroupsCommand : public Command {
 public:
  const char* name() const override { return "groups"; }

  void add_options(Options& options) override {
    remote_.add_to(options);
    Option create =
        options
            .add("--create", num_cores_,
                 "Create a group of so many cores; 0 takes the longest free run of cores")
            .at_least(0);
    create_ = create;
    options.add("--kind", request_.kind, "With --create: kind of the devices").needs(create);
    options.add("--device", devices_, "With --create: only this device; may be repeated")
        .needs(create);
    options.add("--memory", request_.memory_bytes, "With --create: bytes of device memory")
        .needs(create)
        .takes_size();
    options
        .add("--isolation", isolation_,
             "With --create: where its models run: stream, in the daemon, or process, in a "
             "worker of the group's own (default: the daemon's setting)")
        .needs(create)
        .one_of({"stream", "process"});
    destroy_ =
        options.add("--destroy", destroyed_, "Destroy the group with this handle").excludes(create);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    if (create_.is_given()) return create(*client);
    if (destroy_.is_given()) {
      const std::uint64_t group = SLUICE_TRY(parse_handle(destroyed_));
      SLUICE_TRY(client->destroy_group(group));
      if (remote_.is_json) print_json("group", group);
      return 0;
    }
    return list(*client);
  }

 private:
  Result<int> create(rpc::client::Client& client) {
    request_.num_cores = num_cores_;
    for (const std::int32_t device : devices_) request_.devices.push_back(terms::DeviceId(device));
    std::optional<terms::Isolation> isolation;
    if (!isolation_.empty()) isolation = SLUICE_TRY(terms::parse_isolation(isolation_));
    const auto group = SLUICE_TRY(client.create_group(request_, isolation));
    if (remote_.is_json) {
      print_json(group);
    } else {
      fmt::print("{}  {}, {}\n", group.info.id.value(), counted(group.info.cores.size(), "core"),
                 describe_cores(group.info.cores));
    }
    return 0;
  }

  Result<int> list(rpc::client::Client& client) const {
    const auto groups = SLUICE_TRY(client.list_groups());
    if (remote_.is_json) {
      print_json(groups);
      return 0;
    }
    std::vector<std::vector<std::string>> rows = {
        {"GROUP", "MADE BY", "CORES", "MODELS", "ACTIVE", "WORKER", "SESSION"}};
    for (const auto& group : groups) {
      const bool is_implicit = group.info.origin == terms::GroupOrigin::kImplicit;
      rows.push_back({std::to_string(group.info.id.value()), is_implicit ? "load" : "call",
                      describe_cores(group.info.cores), std::to_string(group.info.num_models),
                      group.info.active_model.empty() ? "-" : group.info.active_model,
                      describe_worker(group.info.worker),
                      group.session == terms::kNobody
                          ? "-"
                          : std::to_string(static_cast<std::uint64_t>(group.session))});
    }
    fmt::print("{}", text_table(rows));
    return 0;
  }

  RemoteOptions remote_;
  Option create_;
  Option destroy_;
  std::int32_t num_cores_ = 0;
  std::vector<std::int32_t> devices_;
  terms::CoreRequest request_;
  std::string isolation_;
  std::string destroyed_;
};

}  // namespace

std::unique_ptr<Command> make_groups_command() { return std::make_unique<GroupsCommand>(); }

}  // namespace sluice::tool

#include "sluice/devices/device_table.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class ModelsCommand : public Command {
 public:
  const char* name() const override { return "models"; }
  void add_options(Options& options) override { remote_.add_to(options); }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    const auto models = SLUICE_TRY(client->list_models());
    if (remote_.is_json) {
      print_json(models);
      return 0;
    }
    std::vector<std::vector<std::string>> rows = {
        {"MODEL", "NAME", "VERSION", "PHASE", "GROUP", "MODE", "DEPTH", "MEMORY", "SESSION"}};
    for (const auto& model : models) {
      rows.push_back(
          {fmt::format("{:#x}", model.info.handle), model.info.name, std::to_string(model.version),
           std::string(terms::phase_name(model.info.phase)),
           model.graph ? "-" : std::to_string(model.info.group.value()),
           model.info.mode == terms::LoadMode::kShared ? "shared" : "normal",
           std::to_string(model.info.depth), format_bytes(model.info.footprint.total_bytes()),
           model.session == terms::kNobody
               ? "-"
               : std::to_string(static_cast<std::uint64_t>(model.session))});
    }
    fmt::print("{}", text_table(rows));
    return 0;
  }

 private:
  RemoteOptions remote_;
};

}  // namespace

std::unique_ptr<Command> make_models_command() { return std::make_unique<ModelsCommand>(); }

}  // namespace sluice::tool

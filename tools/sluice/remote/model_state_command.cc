// The commands that lead a loaded model from one state to another.
#include "sluice/remote/commands.h"
#include "sluice/remote/names.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

enum class Change { kStart, kStop, kReset, kUnload };

class ModelStateCommand : public Command {
 public:
  ModelStateCommand(Change change, const CommandName& name) : change_(change), name_(name) {}
  const char* name() const override { return name_.name; }
  const char* summary() const override { return name_.summary; }

  void add_options(CLI::App& app) override {
    app.add_option("model", model_, "Handle, or a name that one loaded model has")->required();
    if (change_ == Change::kStop || change_ == Change::kUnload) {
      app.add_option("--drain", drain_seconds_,
                     "Seconds that requests in flight may go on before they are cancelled")
          ->capture_default_str()
          ->check(CLI::Range(0.0, 3600.0));
    }
    remote_.add_to(app);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    const std::uint64_t model = SLUICE_TRY(find_model(*client, model_));
    SLUICE_TRY(apply(*client, model));
    if (remote_.is_json) print_json("model", model);
    return 0;
  }

 private:
  Status apply(rpc::Client& client, std::uint64_t model) const {
    const auto drain_ns = static_cast<std::int64_t>(drain_seconds_ * 1e9);
    switch (change_) {
      case Change::kStart: return client.start(model);
      case Change::kStop: return client.stop(model, drain_ns);
      case Change::kReset: return client.reset(model);
      case Change::kUnload: break;
    }
    return client.unload(model, drain_ns);
  }

  const Change change_;
  const CommandName name_;
  RemoteOptions remote_;
  std::string model_;
  double drain_seconds_ = 0;
};

std::unique_ptr<Command> make(Change change, const CommandName& name) {
  return std::make_unique<ModelStateCommand>(change, name);
}

}  // namespace

std::unique_ptr<Command> make_start_command() { return make(Change::kStart, kStartName); }
std::unique_ptr<Command> make_stop_command() { return make(Change::kStop, kStopName); }
std::unique_ptr<Command> make_reset_command() { return make(Change::kReset, kResetName); }
std::unique_ptr<Command> make_unload_command() { return make(Change::kUnload, kUnloadName); }

}  // namespace sluice::tool

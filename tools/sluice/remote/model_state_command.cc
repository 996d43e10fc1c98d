// The commands that lead a loaded model from one state to another.
#include "options/seconds.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

enum class Change { kStart, kStop, kReset, kUnload };

class ModelStateCommand : public Command {
 public:
  ModelStateCommand(Change change, const char* name) : change_(change), name_(name) {}
  const char* name() const override { return name_; }

  void add_options(Options& options) override {
    auto model = options.add("model", model_, "Handle, or a name that one loaded model has");
    if (change_ == Change::kReset) {
      options.add("--device", device_,
                  "Bring back the lost device with this number instead, and stop the models that "
                  "failed on it");
    } else {
      model.required();
    }
    if (change_ == Change::kStop || change_ == Change::kUnload) {
      options
          .add("--drain", drain_seconds_,
               "Seconds that requests in flight may take before they are cancelled")
          .shows_default()
          .between(0.0, 3600.0);
    }
    remote_.add_to(options);
  }

  Result<int> run() override {
    // Both or neither.
    if (change_ == Change::kReset && device_.has_value() == !model_.empty()) {
      return invalid_argument("name a model, or a device with --device");
    }
    const auto client = SLUICE_TRY(remote_.connect());
    if (device_) return reset_device(*client);
    const std::uint64_t model = SLUICE_TRY(find_model(*client, model_));
    SLUICE_TRY(apply(*client, model));
    if (remote_.is_json) print_json("model", model);
    return 0;
  }

 private:
  Result<int> reset_device(rpc::client::Client& client) const {
    const auto stopped = SLUICE_TRY(client.reset_device(*device_));
    if (remote_.is_json) {
      print_json(stopped);
      return 0;
    }
    fmt::print("device {} is reset\n", *device_);
    for (const auto& model : stopped) {
      fmt::print("model {:#x} {}: stopped; start it again\n", model.info.handle,
                 printable(model.info.name));
    }
    return 0;
  }

  Status apply(rpc::client::Client& client, std::uint64_t model) const {
    const auto drain_ns = nanoseconds_of(drain_seconds_);
    switch (change_) {
      case Change::kStart: return client.start(model);
      case Change::kStop: return client.stop(model, drain_ns);
      case Change::kReset: return client.reset(model);
      case Change::kUnload: break;
    }
    return client.unload(model, drain_ns);
  }

  const Change change_;
  const char* const name_;
  RemoteOptions remote_;
  std::string model_;
  std::optional<std::int32_t> device_;
  double drain_seconds_ = 0;
};

std::unique_ptr<Command> make(Change change, const char* name) {
  return std::make_unique<ModelStateCommand>(change, name);
}

}  // namespace

std::unique_ptr<Command> make_start_command() { return make(Change::kStart, "start"); }
std::unique_ptr<Command> make_stop_command() { return make(Change::kStop, "stop"); }
std::unique_ptr<Command> make_reset_command() { return make(Change::kReset, "reset"); }
std::unique_ptr<Command> make_unload_command() { return make(Change::kUnload, "unload"); }

}  // namespace sluice::tool

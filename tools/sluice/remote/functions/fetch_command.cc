#include <nlohmann/json.hpp>

#include "options/seconds.h"
#include "sluice/remote/commands.h"
#include "sluice/remote/exchange_text.h"
#include "sluice/remote/remote.h"
#include "sluice/tensors/outputs.h"

namespace sluice::tool {
namespace {

class FetchCommand : public Command {
 public:
  const char* name() const override { return "fetch"; }

  void add_options(Options& options) override {
    options
        .add("tensor", tensor_,
             "exchange:INDEX@KEY, as `sluice offer` printed it on the other host; with --device "
             "exchange:INDEX of this daemon")
        .required();
    const Option from =
        options.add("--from", from_, "HOST:PORT of the other daemon's exchange_listen");
    options
        .add("--device", device_,
             "Bring the tensor to this device, which has memory of its own and reads it there from "
             "then on; over a link, if a linked device has it")
        .at_least(0)
        .excludes(from);
    options
        .add("--ttl", ttl_seconds_, "Seconds for which this daemon keeps the tensor (default: 60)")
        .positive();
    options.add("--timeout", timeout_seconds_, "Seconds after which the fetch ends (default: none)")
        .positive();
    options.add("--output-dir", output_dir_,
                "Write the tensor to this folder as exchange_<index>.npy, and do not keep it");
    remote_.add_to(options);
  }

  Result<int> run() override {
    if (device_) return bring();
    if (from_.empty()) return invalid_argument("give --from HOST:PORT, or --device NUMBER");
    const OfferText offer = SLUICE_TRY(parse_offer(tensor_));
    // First: what cannot be saved need not be fetched.
    SLUICE_TRY(make_output_folder(output_dir_));
    const auto client = SLUICE_TRY(remote_.connect());
    const auto pulled = SLUICE_TRY(client->pull_tensor({from_, offer.exchange, offer.key},
                                                       nanoseconds_of(ttl_seconds_),
                                                       nanoseconds_of(timeout_seconds_)));
    const auto index = static_cast<std::uint64_t>(pulled.index);
    const std::string file = SLUICE_TRY(save(*client, index));
    if (remote_.is_json) {
      nlohmann::json said = {{"exchange", index}, {"type", type_text(pulled.view)}};
      if (!file.empty()) said = {{"file", file}, {"type", type_text(pulled.view)}};
      fmt::print("{}\n", said.dump());
    } else if (file.empty()) {
      fmt::print("exchange:{}  {}\n", index, type_text(pulled.view));
    } else {
      fmt::print("{}  {}\n", file, type_text(pulled.view));
    }
    return 0;
  }

 private:
  Result<int> bring() const {
    const std::uint64_t exchange = SLUICE_TRY(parse_exchange(tensor_));
    const auto client = SLUICE_TRY(remote_.connect());
    const auto from = SLUICE_TRY(client->bring_tensor(exchange, terms::DeviceId(*device_)));
    const std::string source = from ? fmt::format("device {}", from->value()) : "the host";
    if (remote_.is_json) {
      nlohmann::json said = {{"exchange", exchange}, {"device", *device_}, {"from", nullptr}};
      if (from) said["from"] = from->value();
      fmt::print("{}\n", said.dump());
    } else {
      fmt::print("exchange:{} on device {}, from {}\n", exchange, *device_, source);
    }
    return 0;
  }

  /// The file's path; empty if none is wanted.
  Result<std::string> save(rpc::client::Client& client, std::uint64_t index) const {
    if (output_dir_.empty()) return std::string();
    const auto reply = SLUICE_TRY(client.get_tensor(index));
    std::string file = SLUICE_TRY(
        save_output(fmt::format("exchange_{}", index), reply.outputs.at(0).view, output_dir_));
    SLUICE_TRY(client.remove_tensor(index));
    return file;
  }

  RemoteOptions remote_;
  std::string tensor_;
  std::string from_;
  std::string output_dir_;
  std::optional<std::int32_t> device_;
  double ttl_seconds_ = 0;
  double timeout_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_fetch_command() { return std::make_unique<FetchCommand>(); }

}  // namespace sluice::tool

#include <nlohmann/json.hpp>

#include "sluice/remote/commands.h"
#include "sluice/remote/exchange_text.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class OfferCommand : public Command {
 public:
  const char* name() const override { return "offer"; }

  void add_options(Options& options) override {
    options.add("tensor", tensor_, "exchange:INDEX, as `sluice infer --put` printed it").required();
    remote_.add_to(options);
  }

  Result<int> run() override {
    const std::uint64_t exchange = SLUICE_TRY(parse_exchange(tensor_));
    const auto client = SLUICE_TRY(remote_.connect());
    const std::string key = SLUICE_TRY(client->offer_tensor(exchange));
    if (remote_.is_json) {
      fmt::print("{}\n", nlohmann::json({{"exchange", exchange}, {"key", key}}).dump());
    } else {
      fmt::print("exchange:{}@{}\n", exchange, key);
    }
    return 0;
  }

 private:
  RemoteOptions remote_;
  std::string tensor_;
};

}  // namespace

std::unique_ptr<Command> make_offer_command() { return std::make_unique<OfferCommand>(); }

}  // namespace sluice::tool

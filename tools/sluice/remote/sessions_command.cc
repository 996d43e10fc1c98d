#include "sluice/remote/commands.h"
#include "sluice/remote/remote.h"

namespace sluice::tool {
namespace {

class SessionsCommand : public Command {
 public:
  const char* name() const override { return "sessions"; }

  void add_options(Options& options) override {
    kill_ = options.add("--kill", killed_,
                        "End the session with this id, which frees its models and cores");
    remote_.add_to(options);
  }

  Result<int> run() override {
    const auto client = SLUICE_TRY(remote_.connect());
    if (kill_.is_given()) {
      SLUICE_TRY(client->close_session(terms::SessionId(killed_)));
      if (remote_.is_json) print_json("session", killed_);
      return 0;
    }
    const auto sessions = SLUICE_TRY(client->list_sessions());
    if (remote_.is_json) {
      print_json(sessions);
      return 0;
    }
    std::vector<std::vector<std::string>> rows = {
        {"SESSION", "CLIENT", "PROCESS", "USER", "AGE", "MODELS", "GROUPS", "CORES", "IN FLIGHT"}};
    for (const auto& session : sessions) {
      rows.push_back({std::to_string(static_cast<std::uint64_t>(session.id)), session.client,
                      number_or_dash(session.peer.process), number_or_dash(session.peer.user),
                      describe_age(session.age_ns), std::to_string(session.num_models),
                      std::to_string(session.num_groups), std::to_string(session.num_cores),
                      std::to_string(session.num_in_flight)});
    }
    fmt::print("{}", text_table(rows));
    return 0;
  }

 private:
  // Clients over TCP have neither process nor user.
  static std::string number_or_dash(std::int64_t number) {
    return number < 0 ? "-" : std::to_string(number);
  }

  RemoteOptions remote_;
  Option kill_;
  std::uint64_t killed_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_sessions_command() { return std::make_unique<SessionsCommand>(); }

}  // namespace sluice::tool

// `sluice`: one file per subcommand. Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "sluice/remote/names.h"
#include "sluice/tool.h"

namespace sluice::tool {
namespace {

/// Stands for a command of `sluice-remote` in the help.
class RemoteCommand final : public Command {
 public:
  explicit RemoteCommand(const CommandName& name) : name_(name) {}
  const char* name() const override { return name_.name; }
  const char* summary() const override { return name_.summary; }
  void add_options(CLI::App& app) override { app.prefix_command(); }
  /// Reached if `sluice-remote` could not be started.
  Result<int> run() override {
    return make_error(Code::kNotFound,
                      "there is no sluice-remote beside sluice; this build talks to no daemon "
                      "(SLUICE_DAEMON=ON)");
  }

 private:
  const CommandName name_;
};

/// Returns if the command line names none of its commands, or it is not there.
void try_remote(int argc, char** argv) {
  const auto is_named = [&](const CommandName* name) { return std::string(argv[1]) == name->name; };
  if (argc < 2 || std::ranges::none_of(kRemoteNames, is_named)) return;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  execv((self.parent_path() / "sluice-remote").c_str(), argv);
}

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands = make_compiler_commands();
  commands.push_back(make_inspect_command());
  commands.push_back(make_run_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_operators_command());
  commands.push_back(make_discover_command());
  commands.push_back(make_ls_command());
  commands.push_back(make_doctor_command());
  for (const CommandName* name : kRemoteNames) {
    commands.push_back(std::make_unique<RemoteCommand>(*name));
  }
  return commands;
}

}  // namespace
}  // namespace sluice::tool

int main(int argc, char** argv) {
  sluice::tool::try_remote(argc, argv);
  return sluice::tool::run_tool(argc, argv, sluice::tool::make_commands());
}

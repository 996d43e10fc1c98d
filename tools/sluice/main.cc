// `sluice`: one file per subcommand. Exit codes: 0 done, 1 failed, 2 wrong usage.
#include <cstdio>
#include <exception>

#include "sluice/command.h"

namespace sluice::tool {
namespace {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands = make_compiler_commands();
  commands.push_back(make_inspect_command());
  commands.push_back(make_run_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_operators_command());
  commands.push_back(make_discover_command());
  commands.push_back(make_ls_command());
  commands.push_back(make_doctor_command());
  for (auto& command : make_remote_commands()) commands.push_back(std::move(command));
  return commands;
}

int run_command(Command& command) {
  const auto code = command.run();
  if (code.is_ok()) return *code;
  std::fprintf(stderr, "sluice %s: %s\n", command.name(), code.status().to_string().c_str());
  return 1;
}

int run_tool(int argc, char** argv) {
  CLI::App app("Compiles neural networks and runs them.", "sluice");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sluice 0.1.0");
  const auto commands = make_commands();
  for (const auto& command : commands) {
    command->add_options(*app.add_subcommand(command->name(), command->summary()));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const auto& command : commands) {
    if (app.got_subcommand(command->name())) return run_command(*command);
  }
  return 2;
}

}  // namespace
}  // namespace sluice::tool

int main(int argc, char** argv) {
  try {
    return sluice::tool::run_tool(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: internal error: %s\n", error.what());
    return 1;
  }
}

#include "sluice/run_commands.h"

#include <cstdio>
#include <exception>

namespace sluice::tool {
namespace {

int run_command(Command& command) {
  const auto code = command.run();
  if (code.is_ok()) return *code;
  std::fprintf(stderr, "sluice %s: %s\n", command.name(), code.status().to_string().c_str());
  return 1;
}

int parse_and_run(const std::vector<std::unique_ptr<Command>>& commands,
                  const std::vector<std::pair<const char*, const char*>>& listed, int argc,
                  char** argv) {
  CLI::App app("Compiles neural networks and runs them.", "sluice");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sluice 0.1.0");
  for (const auto& command : commands) {
    command->add_options(*app.add_subcommand(command->name(), command->summary()));
  }
  for (const auto& [name, summary] : listed) app.add_subcommand(name, summary);
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

int run_commands(const std::vector<std::unique_ptr<Command>>& commands,
                 const std::vector<std::pair<const char*, const char*>>& listed, int argc,
                 char** argv) {
  try {
    return parse_and_run(commands, listed, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice: internal error: %s\n", error.what());
    return 1;
  }
}

}  // namespace sluice::tool

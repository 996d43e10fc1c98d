// `sluice-remote`: the commands of `sluice` that talk to a daemon.
#include "sluice/remote/commands.h"
#include "sluice/tool.h"

namespace sluice::tool {
namespace {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_server_command());
  commands.push_back(make_load_command());
  commands.push_back(make_unload_command());
  commands.push_back(make_start_command());
  commands.push_back(make_stop_command());
  commands.push_back(make_reset_command());
  commands.push_back(make_infer_command());
  commands.push_back(make_models_command());
  commands.push_back(make_groups_command());
  commands.push_back(make_sessions_command());
  commands.push_back(make_stats_command());
  return commands;
}

}  // namespace
}  // namespace sluice::tool

int main(int argc, char** argv) {
  return sluice::tool::run_tool(argc, argv, sluice::tool::make_commands());
}

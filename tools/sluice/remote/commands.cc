// The commands that a build with the daemon has.
#include "sluice/remote/commands.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_remote_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_serve_command());
  commands.push_back(make_server_command());
  commands.push_back(make_capacity_command());
  commands.push_back(make_device_plugin_command());
  commands.push_back(make_load_command());
  commands.push_back(make_unload_command());
  commands.push_back(make_start_command());
  commands.push_back(make_stop_command());
  commands.push_back(make_reset_command());
  commands.push_back(make_infer_command());
  commands.push_back(make_perf_command());
  commands.push_back(make_plan_command());
  commands.push_back(make_models_command());
  commands.push_back(make_deploy_command());
  commands.push_back(make_deploy_graph_command());
  commands.push_back(make_functions_command());
  commands.push_back(make_offer_command());
  commands.push_back(make_fetch_command());
  commands.push_back(make_groups_command());
  commands.push_back(make_sessions_command());
  commands.push_back(make_stats_command());
  commands.push_back(make_monitor_command());
  commands.push_back(make_top_command());
  commands.push_back(make_timeline_command());
  return commands;
}

}  // namespace sluice::tool

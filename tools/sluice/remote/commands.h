// The commands that talk to a daemon.
#pragma once

#include <memory>
#include <vector>

#include "sluice/cli/command.h"

namespace sluice::tool {

/// All of them.
std::vector<std::unique_ptr<Command>> make_remote_commands();

std::unique_ptr<Command> make_capacity_command();
std::unique_ptr<Command> make_deploy_command();
std::unique_ptr<Command> make_deploy_graph_command();
std::unique_ptr<Command> make_device_plugin_command();
std::unique_ptr<Command> make_fetch_command();
std::unique_ptr<Command> make_functions_command();
std::unique_ptr<Command> make_groups_command();
std::unique_ptr<Command> make_infer_command();
std::unique_ptr<Command> make_load_command();
std::unique_ptr<Command> make_models_command();
std::unique_ptr<Command> make_monitor_command();
std::unique_ptr<Command> make_offer_command();
std::unique_ptr<Command> make_perf_command();
std::unique_ptr<Command> make_plan_command();
std::unique_ptr<Command> make_timeline_command();
std::unique_ptr<Command> make_reset_command();
std::unique_ptr<Command> make_serve_command();
std::unique_ptr<Command> make_server_command();
std::unique_ptr<Command> make_sessions_command();
std::unique_ptr<Command> make_start_command();
std::unique_ptr<Command> make_stats_command();
std::unique_ptr<Command> make_stop_command();
std::unique_ptr<Command> make_top_command();
std::unique_ptr<Command> make_unload_command();

}  // namespace sluice::tool

// The subcommands that speak to a daemon. The program sluice-remote has them; `sluice` lists them
// and hands over to it. A test holds the two to the same words.
#pragma once

#include <array>
#include <string_view>

namespace sluice::tool {

struct RemoteCommandInfo {
  const char* name;
  const char* summary;
};

inline constexpr std::array kRemoteCommands = {
    RemoteCommandInfo{"server", "Show the daemon's devices, free cores and health"},
    RemoteCommandInfo{"load", "Load a model in the daemon; prints its handle"},
    RemoteCommandInfo{"unload", "Unload a model from the daemon"},
    RemoteCommandInfo{"start", "Start a model that the daemon has loaded"},
    RemoteCommandInfo{"stop", "Stop a model; another of its group can be started then"},
    RemoteCommandInfo{"reset", "Bring a model that failed back to stopped, or a lost device back"},
    RemoteCommandInfo{"infer", "Run a model of the daemon on given inputs"},
    RemoteCommandInfo{"models", "List the models that the daemon has loaded"},
    RemoteCommandInfo{"deploy", "Deploy a model as a function, which shares cores with others"},
    RemoteCommandInfo{"deploy-graph",
                      "Deploy a graph of functions, which runs them one after the other"},
    RemoteCommandInfo{"functions", "List the functions and graphs that were deployed"},
    RemoteCommandInfo{"offer", "Let daemons of other hosts fetch a tensor of the exchange"},
    RemoteCommandInfo{"fetch",
                      "Fetch a tensor that a daemon of another host offers; prints its index here"},
    RemoteCommandInfo{"groups", "List, create or destroy the daemon's core groups"},
    RemoteCommandInfo{"sessions", "List the daemon's clients, or end one's session"},
    RemoteCommandInfo{"stats", "Requests, errors and latencies of the daemon's models"},
    RemoteCommandInfo{"monitor", "Print what the daemon does, a line of JSON per interval"},
    RemoteCommandInfo{"top", "Show what the daemon does: devices, cores, groups, models, sessions"},
    RemoteCommandInfo{"profile", "Record what the daemon does, for ui.perfetto.dev"},
};

/// Null for an unknown name.
constexpr const RemoteCommandInfo* find_remote_command(std::string_view name) {
  for (const RemoteCommandInfo& info : kRemoteCommands) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

}  // namespace sluice::tool

// The commands that talk to a daemon: known to `sluice`, which starts `sluice-remote` for them, so
// that those who run a model need not load the libraries of a network client.
#pragma once

namespace sluice::tool {

struct CommandName {
  const char* name;
  const char* summary;  ///< one line of `sluice --help`
};

inline constexpr CommandName kServerName = {"server",
                                            "Tell of the daemon: devices, free cores, health"};
inline constexpr CommandName kLoadName = {"load",
                                          "Load a package in the daemon; prints its handle"};
inline constexpr CommandName kStartName = {"start", "Start a model that the daemon has loaded"};
inline constexpr CommandName kStopName = {"stop",
                                          "Stop a model; another of its group can be started then"};
inline constexpr CommandName kResetName = {"reset", "Bring a model that failed back to stopped"};
inline constexpr CommandName kUnloadName = {"unload", "Unload a model from the daemon"};
inline constexpr CommandName kInferName = {"infer",
                                           "Run a model of the daemon once on given inputs"};
inline constexpr CommandName kModelsName = {"models", "List the models that the daemon has loaded"};
inline constexpr CommandName kGroupsName = {"groups",
                                            "List, create or destroy the daemon's core groups"};
inline constexpr CommandName kSessionsName = {"sessions",
                                              "List the daemon's clients, or end one's session"};
inline constexpr CommandName kStatsName = {"stats",
                                           "Requests, errors and latencies of the daemon's models"};

inline constexpr const CommandName* kRemoteNames[] = {
    &kServerName, &kLoadName,   &kStartName,  &kStopName,     &kResetName, &kUnloadName,
    &kInferName,  &kModelsName, &kGroupsName, &kSessionsName, &kStatsName,
};

}  // namespace sluice::tool

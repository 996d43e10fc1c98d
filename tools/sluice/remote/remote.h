// What the commands that talk to a daemon share.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "rpc/client.h"

namespace sluice::tool {

struct RepeatReport;

/// Options of every such command.
struct RemoteOptions {
  rpc::ClientOptions client;
  bool is_json = false;

  /// The address is the option's, else the environment's SLUICE_ADDRESS, else the default one.
  void add_connection_to(CLI::App& app);
  /// The same and --json.
  void add_to(CLI::App& app);
  Result<std::unique_ptr<rpc::Client>> connect() const { return rpc::Client::create(client); }
};

/// The handle of a model or group that a user named: "0x100000000", "4294967296", or for models a
/// name that only one loaded model has. Fails: kInvalidArgument, kNotFound; what listing reports.
Result<std::uint64_t> find_model(rpc::Client& client, const std::string& text);
Result<std::uint64_t> parse_handle(const std::string& text);

// As JSON on stdout, one form for all commands; lists as arrays.
void print_json(const service::ModelEntry& model);
void print_json(const std::vector<service::ModelEntry>& models);
void print_json(const service::GroupEntry& group);
void print_json(const std::vector<service::GroupEntry>& groups);
void print_json(const std::vector<service::SessionInfo>& sessions);
void print_json(const std::vector<service::ModelStatistics>& statistics);
void print_json(const service::ServerInfo& server, const service::ServerHealth& health);
void print_json(const runtime::Footprint& footprint);
/// `files`: where the outputs were written, in their order; none if they were not.
void print_json(const rpc::InferReply& reply, const std::vector<std::string>& files);
void print_json(const RepeatReport& report);
/// {"model": 4294967296}
void print_json(const char* key, std::uint64_t handle);

/// `text` of a peer for a terminal: control characters, which could tell it what to do, as '?'.
std::string printable(std::string_view text);

/// Rows under a header, columns lined up; what `text_table` gives is printed as it is.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// "device 0: 0-3, device 1: 0"
std::string describe_cores(const std::vector<runtime::CoreRef>& cores);

/// "1234, 2 restarts", "failed"; "-" for a group without one.
std::string describe_worker(const runtime::WorkerInfo& worker);

/// "12.3 us": three digits and a unit.
std::string describe_duration(std::int64_t duration_ns);

}  // namespace sluice::tool

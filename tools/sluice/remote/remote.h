// What the commands that talk to a daemon share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rpc/client/client.h"
#include "sluice/cli/figures.h"
#include "sluice/cli/options.h"

namespace sluice::tool {

struct RepeatReport;

/// Options of every such command.
struct RemoteOptions {
  rpc::client::ClientOptions client;
  bool is_json = false;

  /// The address is the option's, else the environment's SLUICE_ADDRESS, else the default one.
  void add_connection_to(Options& options);
  /// The connection's TLS and token alone.
  void add_credentials_to(Options& options);
  /// The same and --json.
  void add_to(Options& options);
  Result<std::unique_ptr<rpc::client::Client>> connect() const {
    return rpc::client::Client::create(client);
  }
};

/// The handle of a model or group that a user named: "0x100000000", "4294967296", or for models a
/// name that only one loaded model has. Fails: kInvalidArgument, kNotFound; what listing reports.
Result<std::uint64_t> find_model(rpc::client::Client& client, const std::string& text);
Result<std::uint64_t> parse_handle(const std::string& text);

// Prints JSON to stdout, in one form for all commands; lists are arrays.
void print_json(const terms::ModelEntry& model);
void print_json(const std::vector<terms::ModelEntry>& models);
void print_json(const terms::GroupEntry& group);
void print_json(const std::vector<terms::GroupEntry>& groups);
void print_json(const std::vector<terms::SessionInfo>& sessions);
void print_json(const std::vector<terms::ModelStatistics>& statistics);
void print_json(const terms::ServerInfo& server, const terms::ServerHealth& health);
void print_json(const terms::Footprint& footprint);
/// `files`: where the outputs were written, in their order; none if they were not.
void print_json(const rpc::client::InferReply& reply, const std::vector<std::string>& files);
void print_json(const RepeatReport& report);
/// {"model": 4294967296}
void print_json(const char* key, std::uint64_t handle);

/// Text of a peer, with '?' for each control character, which could command the terminal.
std::string printable(std::string_view text);

/// Rows under a header, columns aligned; the caller prints the text unchanged.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// "device 0: 0-3, device 1: 0"
std::string describe_cores(const std::vector<terms::CoreRef>& cores);

/// "1234, 2 restarts", "failed"; "-" for a group without one.
std::string describe_worker(const terms::WorkerInfo& worker);

}  // namespace sluice::tool

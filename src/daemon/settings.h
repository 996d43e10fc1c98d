// Settings of sluiced from flags and configuration file, and the origin of each value.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sluice::device {
enum class TransferPolicy : std::uint8_t;
}

namespace sluice::daemon {

inline constexpr std::string_view kDefaultConfig = "/etc/sluice/sluiced.json";

/// Written at boot (`sluice-discover.service`). Read only if it fits what this process may use.
inline constexpr std::string_view kBootMap = "/run/sluice/devices.json";

/// The `isolation` that the clients' users decide.
inline constexpr std::string_view kIsolateOthers = "others";

struct Settings {
  std::vector<std::string> devices;  ///< bus addresses or logical ids; empty: all
  /// Device map to read; empty: discover now.
  std::string map = std::string(kBootMap);
  std::string sim;  ///< description of simulated devices
  std::vector<std::string> listen = {"unix:/run/sluice.sock"};
  std::string socket_mode = "0660";
  std::string socket_group;
  std::vector<std::string> socket_users;
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::string token_file;
  std::vector<std::string> roles;  ///< rules as service::RoleRule; empty: all may do everything
  std::vector<std::string> model_folders;
  std::vector<std::string> program_folders;            ///< of programs that clients may deploy
  std::string program_backend = "cuda";                ///< whose device they use
  std::int64_t program_bytes = std::int64_t{4} << 30;  ///< host memory of each process; 0: any
  std::vector<std::string> models;                     ///< packages to load at start
  std::string repository;                    ///< folder of models with versions; empty: none
  std::int64_t repository_poll_seconds = 0;  ///< between two looks at it; 0: none
  std::int64_t compile_seconds = 600;        ///< of an ONNX file of the repository
  std::int64_t compile_bytes = 0;            ///< the same; 0: three quarters of the memory
  std::string state_file;                    ///< what clients made; empty: not kept
  bool exclusive_cores = false;              ///< models of different loads never share cores
  std::int64_t max_upload_bytes = std::int64_t{4} << 30;
  std::int64_t max_message_bytes = std::int64_t{64} << 20;
  std::int64_t connections = 4096;
  std::int64_t connections_per_peer = 1024;
  std::int64_t connection_age_seconds = 0;  ///< of gRPC; 0: any
  std::int64_t upload_idle_seconds = 30;
  bool require_session = false;
  std::int64_t sessions_per_user = 1024;
  std::int64_t session_models = 256;
  std::int64_t session_cores = 1 << 20;
  std::int64_t session_requests = 4096;
  std::int64_t session_regions = 64;
  std::int64_t session_region_bytes = std::int64_t{1} << 30;
  std::string loopback_user;  ///< whose shared memory clients over loopback register; empty: none
  std::int64_t session_answer_bytes = std::int64_t{1} << 30;
  std::int64_t stream_requests = 256;
  std::int64_t stream_answer_bytes = std::int64_t{256} << 20;
  std::int64_t answer_bytes = std::int64_t{4} << 30;
  std::int64_t exchange_bytes = std::int64_t{4} << 30;
  std::int64_t memory = 0;             ///< bytes; 0: what the machine and control groups allow
  std::int64_t memory_per_tenant = 0;  ///< bytes; 0: no limit but that of the daemon
  std::int64_t text_cache_bytes = std::int64_t{4} << 30;
  std::int64_t response_cache_bytes = std::int64_t{64} << 20;  ///< of kept answers; 0: none
  std::string kv_cache = "f32";  ///< of language models that the daemon compiles
  std::string weights = "f32";   ///< of the same
  std::int64_t drain_seconds = 30;
  std::int64_t drain_notice_seconds = 0;  ///< before the drain: not ready, but serving
  std::int64_t hang_seconds = 20;
  std::int64_t max_run_seconds = 60;  ///< of a run whose model's load sets no limit
  std::int64_t huge_pages = 0;        ///< of 2 MiB, reserved per device
  std::string isolation = "stream";   ///< default isolation of core groups, or kIsolateOthers
  std::int64_t function_lanes = 1;    ///< functions that run at a time
  std::int64_t function_cells = 1;    ///< core groups of functions in processes of their own
  std::int64_t function_lane_cores = 1;
  std::string transfer_policy = "weighted";  ///< of devices with memory of their own
  std::int64_t transfer_block_bytes = std::int64_t{2} << 20;
  std::int64_t transfer_blocks_in_flight = 2;
  std::int64_t worker_restarts = 5;          ///< of one worker within a minute
  std::int64_t worker_silence = 10;          ///< seconds
  std::vector<std::string> allow_operators;  ///< SHA-256 of modules that packages may carry
  std::string worker_user = "nobody";        ///< user of the workers if the daemon runs as root
  bool worker_unfiltered = false;
  std::string exchange_listen;  ///< where daemons of other hosts fetch tensors; empty: nowhere
  std::vector<std::string> exchange_peers;    ///< which of them may, as service::ExchangePeer
  std::vector<std::string> exchange_sources;  ///< daemons from which clients may have them fetched
  std::string exchange_ca;                    ///< of the certificates of both sides
  bool exchange_plain = false;                ///< consent to do without TLS
  std::string exchange_token_file;            ///< what this daemon says as a peer of others
  std::string metrics;                        ///< where /metrics is served; empty: nowhere
  std::string http;                           ///< the Open Inference Protocol over HTTP; the same
  std::vector<std::string> http_hosts;  ///< names besides loopback's that HTTP over TCP answers to
  bool page = true;                     ///< the daemon's page, at / where `http` says
  std::string otlp;                     ///< collector of traces; empty: none
  std::int64_t trace_rate = 0;          ///< of so many requests one is traced; 0: none
  std::int64_t trace_slower_ms = 0;     ///< requests that take so long are traced; 0: none
  std::string access_log;               ///< "stderr" or a file; empty: none
  std::string record;                   ///< file for requests with their inputs; empty: none
  std::int64_t record_bytes = std::int64_t{256} << 20;  ///< of that file
  std::int64_t sensor_seconds = 5;  ///< between two looks at the devices' sensors; 0: none
  /// Folder with sysfs; empty: /sys, and no sensors for simulated devices.
  std::string sysfs;
  std::string agent_check;    ///< where balancers ask for the weight; empty: nowhere
  bool listen_plain = false;  ///< consent to do without TLS beyond this machine
  std::string lock_folder = "/run/sluice";
  std::int64_t log_level = 5;
  bool log_console = false;
  std::string log_format = "text";  ///< of the console
};

enum class Origin { kDefault, kFile, kFlag };
std::string_view origin_name(Origin origin);  ///< "default", "file", "flag"

/// One setting: its key in the file is also its long flag, with '-' for '_'.
struct SettingInfo {
  using Texts = std::vector<std::string>;
  using Member = std::variant<std::string Settings::*, std::int64_t Settings::*, bool Settings::*,
                              Texts Settings::*>;
  std::string_view key;
  char short_flag = 0;
  Member member;
  std::string_view help;
  std::int64_t least = 0;  ///< of a number
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  std::string flag() const;  ///< "--log-level"
};

/// All, in the order of the struct.
std::span<const SettingInfo> setting_infos();

/// Where the value of a setting is from.
struct Source {
  Origin origin = Origin::kDefault;
  std::string file = {};  ///< its path, for kFile; empty: it has none
};

/// By key.
using Origins = std::map<std::string, Source, std::less<>>;

/// Takes the values of a JSON object, which `file` holds.
/// Fails: kInvalidArgument naming the key: unknown, of a wrong type, or out of range.
Status apply_config(std::string_view text, Settings& settings, Origins& origins,
                    const std::string& file = {});

/// Checks beyond types and ranges: modes, addresses, and TLS files that belong together.
Status check_settings(const Settings& settings);
/// Fails: kInvalidArgument, naming the policies.
Result<device::TransferPolicy> parse_transfer_policy(const std::string& name);

/// The settings as JSON, each value with its origin and, if it has one, the file.
std::string print_settings(const Settings& settings, const Origins& origins);

/// The JSON schema of the configuration file.
std::string print_schema();

}  // namespace sluice::daemon

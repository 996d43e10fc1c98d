// What sluiced is told by flags and its configuration file, and where each value comes from.
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

namespace sluice::daemon {

inline constexpr std::string_view kDefaultConfig = "/etc/sluice/sluiced.json";

struct Settings {
  std::vector<std::string> devices;  ///< bus addresses or logical ids; empty: all
  std::string map;                   ///< device map to read; empty: look now
  std::string sim;                   ///< description of simulated devices
  std::vector<std::string> listen = {"unix:/run/sluice.sock"};
  std::string socket_mode = "0660";
  std::string socket_group;
  std::vector<std::string> socket_users;
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::string token_file;
  std::vector<std::string> model_folders;
  std::int64_t upload_limit_bytes = std::int64_t{4} << 30;
  std::int64_t message_limit_bytes = std::int64_t{1} << 30;
  std::int64_t session_models = 256;
  std::int64_t session_cores = 1 << 20;
  std::int64_t session_requests = 4096;
  std::int64_t session_regions = 64;
  std::int64_t session_region_bytes = std::int64_t{1} << 30;
  std::int64_t stream_requests = 256;
  std::int64_t drain_seconds = 30;
  std::int64_t huge_pages = 0;         ///< of 2 MiB, reserved per device
  std::string isolation = "stream";    ///< of groups for which nobody says
  std::int64_t worker_restarts = 5;    ///< of one worker within a minute
  std::string worker_user = "nobody";  ///< who workers become if the daemon is root
  bool worker_unfiltered = false;
  std::string metrics;  ///< where /metrics is served; empty: nowhere
  std::string lock_folder = "/run/sluice";
  std::int64_t log_level = 5;
  bool log_console = false;
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

/// By key.
using Origins = std::map<std::string, Origin, std::less<>>;

/// Takes the values of a JSON object.
/// Fails: kInvalidArgument naming the key: unknown, of a wrong type, or out of range.
Status apply_config(std::string_view text, Settings& settings, Origins& origins);

/// What cannot be seen of one value alone: modes, addresses, TLS files that belong together.
Status check_settings(const Settings& settings);

/// The settings as JSON with, beside each value, where it comes from.
std::string print_settings(const Settings& settings, const Origins& origins);

/// The JSON schema of the configuration file.
std::string print_schema();

}  // namespace sluice::daemon

#include "daemon/settings.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "base/digest/sha256.h"
#include "base/json/json_reader.h"
#include "daemon/telemetry/span_sender.h"
#include "rpc/wire/address.h"
#include "runtime/engine.h"
#include "service/clients/access.h"

namespace sluice::daemon {
namespace {

using nlohmann::ordered_json;
using Texts = SettingInfo::Texts;

// Limits of a file that the administrator may have generated: large enough for any machine, small
// enough that sums and products of settings fit in 64 bits.
constexpr std::size_t kMaxItems = 256;
constexpr std::int64_t kMaxSettingBytes = std::int64_t{1} << 40;

// The one list of settings: flags, keys of the file, --check-config, the schema and the man page
// are made from it. Keys are forever, as those of a file that users keep.
constexpr std::array kSettings = {
    SettingInfo{"devices", 't', &Settings::devices,
                "A device to serve, by bus address or logical id; may be repeated (default: all)"},
    SettingInfo{
        "map", 'm', &Settings::map,
        "Device map of `sluice discover`; the default file is used only if it exists and matches "
        "the machine. Empty: discover now. The default file is ignored with -t"},
    SettingInfo{"sim", 0, &Settings::sim, "Serve the simulated devices that this file describes"},
    SettingInfo{"listen", 'g', &Settings::listen, "Where to listen: unix:/PATH or HOST:PORT"},
    SettingInfo{"socket_mode", 0, &Settings::socket_mode, "Mode of a Unix socket, octal"},
    SettingInfo{"socket_group", 0, &Settings::socket_group, "Group that owns a Unix socket"},
    SettingInfo{"socket_users", 0, &Settings::socket_users,
                "User that may connect over a Unix socket (default: users that its mode lets in)"},
    SettingInfo{"tls_certificate", 0, &Settings::tls_certificate,
                "PEM file: TLS for listen, http and metrics over TCP"},
    SettingInfo{"tls_key", 0, &Settings::tls_key, "PEM file of the certificate's key"},
    SettingInfo{"tls_client_ca", 0, &Settings::tls_client_ca,
                "PEM file; clients over TCP need a certificate of this authority"},
    SettingInfo{
        "token_file", 0, &Settings::token_file,
        "File with a line per token, SECRET ROLES NAME, the last two optional; clients over "
        "TCP need one of the tokens"},
    SettingInfo{"roles", 0, &Settings::roles,
                "What clients may do: user:NAME=ROLES, group:NAME=ROLES, certificate:NAME=ROLES, "
                "remote=ROLES or others=ROLES, where ROLES are inference, control, monitor, or "
                "none, and perhaps "
                "max_run=SECONDS, the limit of a run of their requests, and max_priority=NUMBER, "
                "the highest priority of their requests and functions; may be repeated "
                "(default: all may do everything)"},
    SettingInfo{"model_folders", 0, &Settings::model_folders,
                "Folder of packages that clients may load by path"},
    SettingInfo{"program_folders", 0, &Settings::program_folders,
                "Folder of CUDA programs that clients may deploy as functions; they run as "
                "worker_user (default: none may)"},
    SettingInfo{"program_backend", 0, &Settings::program_backend,
                "Backend whose device such programs use: cuda or cuda-emulated"},
    SettingInfo{"program_bytes", 0, &Settings::program_bytes,
                "Address space of each of their processes; 0: no limit", 0, kMaxSettingBytes},
    SettingInfo{"models", 0, &Settings::models,
                "Package to load at start, for all clients; may be repeated"},
    SettingInfo{"repository", 0, &Settings::repository,
                "Folder of models to serve: NAME.onnx, NAME.sluice, or NAME/VERSION/model.onnx "
                "with NAME/config.pbtxt; or a config.json of OVMS (default: none)"},
    SettingInfo{"repository_poll_seconds", 0, &Settings::repository_poll_seconds,
                "Seconds between two looks for changes in the repository; 0: a model changes when "
                "a client loads or unloads it",
                0, 86400},
    SettingInfo{"compile_seconds", 0, &Settings::compile_seconds,
                "Seconds that the compilation of an ONNX file of the repository may take", 1,
                86400},
    SettingInfo{"compile_bytes", 0, &Settings::compile_bytes,
                "Bytes of memory that it may take; 0: three quarters of what the daemon may use", 0,
                kMaxSettingBytes},
    SettingInfo{
        "state_file", 0, &Settings::state_file,
        "File that keeps what clients without a session load and deploy, for the next start; "
        "uploaded packages lie in FILE.packages (default: not kept)"},
    SettingInfo{"exclusive_cores", 0, &Settings::exclusive_cores,
                "Refuse a model when all cores are in use, instead of letting models take turns"},
    SettingInfo{"max_upload_bytes", 0, &Settings::max_upload_bytes,
                "Largest package that an upload may have", 0, kMaxSettingBytes},
    SettingInfo{"max_message_bytes", 0, &Settings::max_message_bytes,
                // gRPC counts the bytes of a message in an int.
                "Largest request or reply in bytes", 1 << 16, (std::int64_t{1} << 31) - 1},
    SettingInfo{"connections", 0, &Settings::connections,
                "Maximum number of open connections, over all addresses", 1, 1 << 20},
    SettingInfo{"connections_per_peer", 0, &Settings::connections_per_peer,
                "Maximum number of open connections per user (Unix socket) or host (TCP)", 1,
                1 << 20},
    SettingInfo{"connection_age_seconds", 0, &Settings::connection_age_seconds,
                "Seconds after which a gRPC client is asked to connect anew, so that it finds new "
                "daemons behind a name; calls in flight end where they are. 0: never",
                0, 1'000'000},
    SettingInfo{"upload_idle_seconds", 0, &Settings::upload_idle_seconds,
                "Seconds without data after which an upload is aborted", 1, 3600},
    SettingInfo{"require_session", 0, &Settings::require_session,
                "Refuse groups, models and requests of clients without a session"},
    SettingInfo{"sessions_per_user", 0, &Settings::sessions_per_user,
                "Maximum number of open sessions per user or token", 1, 1 << 20},
    SettingInfo{"session_models", 0, &Settings::session_models,
                "Maximum number of models per session", 0, 1 << 20},
    SettingInfo{"session_cores", 0, &Settings::session_cores, "Maximum number of cores per session",
                0, 1 << 20},
    SettingInfo{"session_requests", 0, &Settings::session_requests,
                "Maximum number of requests in flight per session", 0, 1 << 20},
    SettingInfo{"session_regions", 0, &Settings::session_regions,
                "Maximum number of shared memory regions per session, rings included", 0, 1 << 16},
    SettingInfo{"session_region_bytes", 0, &Settings::session_region_bytes,
                "Maximum bytes of shared memory per session", 0, kMaxSettingBytes},
    SettingInfo{"loopback_user", 0, &Settings::loopback_user,
                "User whose shared memory clients over loopback may register; others need a Unix "
                "socket (default: no user)"},
    SettingInfo{"session_answer_bytes", 0, &Settings::session_answer_bytes,
                "Maximum bytes of answers per session that wait to be read", 1 << 16,
                kMaxSettingBytes},
    SettingInfo{
        "stream_requests", 0, &Settings::stream_requests,
        "Maximum number of requests in flight per stream; more are read once some are answered", 1,
        1 << 20},
    SettingInfo{
        "stream_answer_bytes", 0, &Settings::stream_answer_bytes,
        "Maximum bytes of answers that wait for the client of a stream to read them; until then "
        "it computes nothing more",
        1 << 16, kMaxSettingBytes},
    SettingInfo{"answer_bytes", 0, &Settings::answer_bytes,
                "Maximum bytes of answers of all clients together that wait to be read", 1 << 20,
                kMaxSettingBytes},
    SettingInfo{"exchange_bytes", 0, &Settings::exchange_bytes,
                "Maximum bytes of tensors of all clients together in the exchange", 1 << 20,
                kMaxSettingBytes},
    SettingInfo{"memory", 0, &Settings::memory,
                "Bytes of memory that the daemon may use, and each worker; three quarters are for "
                "models, packages, the exchange and answers together. 0: what the machine has, or "
                "the daemon's control group",
                0, kMaxSettingBytes},
    SettingInfo{
        "memory_per_tenant", 0, &Settings::memory_per_tenant,
        "Bytes of models, packages, exchange and answers of one user, or of one token; 0: only "
        "the daemon's limit",
        0, kMaxSettingBytes},
    SettingInfo{"text_cache_bytes", 0, &Settings::text_cache_bytes,
                "Maximum bytes of keys and values of all texts that language models are writing",
                1 << 16, kMaxSettingBytes},
    SettingInfo{"response_cache_bytes", 0, &Settings::response_cache_bytes,
                "Maximum bytes of answers kept for requests that come again, of models whose "
                "config.pbtxt has response_cache; 0: none is kept",
                0, kMaxSettingBytes},
    SettingInfo{"kv_cache", 0, &Settings::kv_cache,
                "Numbers in which language models that the daemon compiles keep keys and values: "
                "f32; f16, which takes half the bytes; or int8, which takes little more than a "
                "quarter"},
    SettingInfo{"weights", 0, &Settings::weights,
                "Precision of products of language models that the daemon compiles, as for `sluice "
                "compile`: f32, bf16 or int8; int8 is fastest, for GGUF files with blocks, too"},
    SettingInfo{"drain_seconds", 0, &Settings::drain_seconds,
                "Time for requests in flight after SIGTERM", 0, 3600},
    SettingInfo{"drain_notice_seconds", 0, &Settings::drain_notice_seconds,
                "Seconds after SIGTERM in which the daemon says that it is not ready, so that "
                "balancers choose others, and still takes requests",
                0, 3600},
    SettingInfo{
        "hang_seconds", 0, &Settings::hang_seconds,
        "Seconds by which a computation may outlive a stop, an unload or the drain; then the "
        "daemon exits with code 3 and a report. 0: no limit",
        0, 3600},
    SettingInfo{"max_run_seconds", 0, &Settings::max_run_seconds,
                "Seconds after which a run of a model or function is stopped if its load sets no "
                "--max-run; 0: no limit",
                0, 1'000'000'000},
    SettingInfo{"huge_pages", 0, &Settings::huge_pages,
                "Pages of 2 MiB to reserve per device, for large tensors of models that run in the "
                "daemon",
                0, 1 << 20},
    SettingInfo{
        "isolation", 0, &Settings::isolation,
        "Default isolation of core groups: stream, in the daemon, process, in a worker of the "
        "group's own, or others: process for groups, models and functions of users other than root "
        "and the daemon's"},
    SettingInfo{"function_lanes", 0, &Settings::function_lanes,
                "Maximum number of functions that run at a time in the daemon; their cores are "
                "reserved while there are functions",
                1, 1 << 10},
    SettingInfo{"function_cells", 0, &Settings::function_cells,
                "Maximum number of cells: core groups of functions with isolation process, each "
                "with a worker",
                1, 1 << 10},
    SettingInfo{"function_lane_cores", 0, &Settings::function_lane_cores,
                "Cores of a function that runs, and of a cell", 1, 1 << 10},
    SettingInfo{"transfer_policy", 0, &Settings::transfer_policy,
                "Order in which a device serves its clients' transfers: weighted, round-robin, "
                "deadline or strict"},
    SettingInfo{"transfer_block_bytes", 0, &Settings::transfer_block_bytes,
                // A page: smaller blocks cost more in calls than they gain in fairness.
                "Size of the blocks in which a device copies", 4096, 1 << 30},
    SettingInfo{"transfer_blocks_in_flight", 0, &Settings::transfer_blocks_in_flight,
                "Blocks that a device copies or has queued, in each direction", 1, 4},
    SettingInfo{"worker_restarts", 0, &Settings::worker_restarts,
                "How often a worker that dies is restarted within a minute", 0, 1 << 20},
    SettingInfo{"worker_silence", 0, &Settings::worker_silence,
                "Seconds after which a worker that answers nothing is ended and replaced", 1,
                86400},
    SettingInfo{"allow_operators", 0, &Settings::allow_operators,
                "SHA-256 of a module of operators whose code the daemon runs if a package carries "
                "it; workers run none; may be repeated (default: none)"},
    SettingInfo{"worker_user", 0, &Settings::worker_user,
                "User that workers run as if the daemon is root; empty: root"},
    SettingInfo{"worker_unfiltered", 0, &Settings::worker_unfiltered,
                "Leave workers all system calls; for kernels without seccomp"},
    SettingInfo{"exchange_listen", 0, &Settings::exchange_listen,
                "HOST:PORT where daemons of other hosts fetch tensors of the exchange (default: "
                "nowhere)"},
    SettingInfo{"exchange_peers", 0, &Settings::exchange_peers,
                "Daemon that may fetch there: certificate:NAME, the common name of its "
                "certificate, or token:NAME, of the token_file; may be repeated"},
    SettingInfo{"exchange_sources", 0, &Settings::exchange_sources,
                "HOST:PORT of a daemon from which clients may have tensors fetched; may be "
                "repeated"},
    SettingInfo{"exchange_ca", 0, &Settings::exchange_ca,
                "PEM file; daemons fetch from each other with certificates of this authority, "
                "this one with tls_certificate and tls_key"},
    SettingInfo{"exchange_plain", 0, &Settings::exchange_plain,
                "Let daemons fetch without TLS: tensors and tokens can be read and altered on the "
                "network"},
    SettingInfo{"exchange_token_file", 0, &Settings::exchange_token_file,
                "File with the token that this daemon sends to those it fetches from"},
    SettingInfo{"metrics", 0, &Settings::metrics,
                "Serve /metrics for Prometheus there: unix:/PATH or HOST:PORT (default: not)"},
    SettingInfo{
        "http",
        0, &Settings::http,
        "Serve the Open Inference Protocol and OpenAI's completions over HTTP, and /metrics, "
        "there: unix:/PATH or HOST:PORT (default: not)"},
    SettingInfo{"http_hosts", 0, &Settings::http_hosts,
                "Name under which clients reach HTTP over TCP, besides localhost and addresses of "
                "loopback; a daemon without tokens answers to no other. *: any; may be repeated"},
    SettingInfo{"page", 0, &Settings::page,
                "Serve a page for browsers at / where --http says; --page=false: do not"},
    SettingInfo{"otlp", 0, &Settings::otlp,
                "Send traces of requests to this collector of OpenTelemetry: http://HOST:PORT or "
                "grpc://HOST:PORT (default: none)"},
    SettingInfo{"trace_rate", 0, &Settings::trace_rate,
                "One of so many requests is traced, unless its caller has decided; 0: those that "
                "callers decide",
                0, std::int64_t{1} << 40},
    SettingInfo{"trace_slower_ms", 0, &Settings::trace_slower_ms,
                "Milliseconds: a request that takes so long is traced, too; 0: none for that", 0,
                1'000'000'000},
    SettingInfo{"access_log", 0, &Settings::access_log,
                "Write a line of JSON for each request to this file, or to stderr (default: "
                "nowhere)"},
    SettingInfo{"record", 0, &Settings::record,
                "Write the requests to models, with their inputs, to this file, for `sluice perf "
                "--replay`; a file that is there becomes FILE.old (default: nowhere)"},
    SettingInfo{"record_bytes", 0, &Settings::record_bytes,
                "Largest size of the file of record; later requests are left out", 1 << 16,
                kMaxSettingBytes},
    SettingInfo{"sensor_seconds", 0, &Settings::sensor_seconds,
                "Seconds between two looks at the temperature, power and errors of the devices; a "
                "device that is too hot or loses data gets no new groups. 0: never",
                0, 3600},
    SettingInfo{"sysfs", 0, &Settings::sysfs,
                "Folder where the sensors are, as a container may see its host's (default: /sys; "
                "none for simulated devices)"},
    SettingInfo{"agent_check", 0, &Settings::agent_check,
                "HOST:PORT where HAProxy's agent checks get a weight by free capacity, drain or "
                "down (default: nowhere)"},
    SettingInfo{"listen_plain", 0, &Settings::listen_plain,
                "Let other machines reach listen, http and metrics without TLS: requests, answers "
                "and tokens can be read and altered on the network"},
    SettingInfo{"lock_folder", 0, &Settings::lock_folder,
                "Folder of the locks that keep two daemons off one device"},
    SettingInfo{"log_level", 'l', &Settings::log_level,
                "3 errors, 4 warnings, 5 events, 6 debug, 7 trace", 3, 7},
    SettingInfo{"log_console", 'x', &Settings::log_console, "Log to the console beside syslog"},
    SettingInfo{"log_format", 0, &Settings::log_format,
                "Format of the console's lines: text or json"},
};

Status take(const JsonValue& from, const SettingInfo& info, Settings& to) {
  if (const auto* text = std::get_if<std::string Settings::*>(&info.member)) {
    to.*(*text) = SLUICE_TRY(from.as_text());
  } else if (const auto* number = std::get_if<std::int64_t Settings::*>(&info.member)) {
    to.*(*number) = SLUICE_TRY(from.as_int(info.least, info.most));
  } else if (const auto* flag = std::get_if<bool Settings::*>(&info.member)) {
    to.*(*flag) = SLUICE_TRY(from.as_bool());
  } else if (const auto* texts = std::get_if<Texts Settings::*>(&info.member)) {
    Texts values;
    for (const JsonValue& item : SLUICE_TRY(from.as_items(kMaxItems))) {
      values.push_back(SLUICE_TRY(item.as_text()));
    }
    to.*(*texts) = std::move(values);
  }
  return ok_status();
}

/// Every member is of a type that JSON has, so one visit serves all settings.
ordered_json value_of(const Settings& settings, const SettingInfo& info) {
  return std::visit([&](auto member) { return ordered_json(settings.*member); }, info.member);
}

/// All keys, for a message: there are about sixty, and a search by eye finds the misspelt one.
std::string known_keys() {
  std::string keys;
  for (const SettingInfo& info : kSettings) {
    keys += (keys.empty() ? "" : ", ") + std::string(info.key);
  }
  return keys;
}

/// The mode stays a text: 0660 is octal to its reader, and JSON has no octal numbers.
Status check_mode(const std::string& mode) {
  const bool is_octal = std::ranges::all_of(mode, [](char c) { return c >= '0' && c <= '7'; });
  if (is_octal && mode.size() >= 3 && mode.size() <= 4) return ok_status();
  return invalid_argument("socket_mode: \"{}\" is not a mode such as \"0660\"", mode);
}

/// A relative path would depend on the folder in which the daemon was started.
Status check_absolute(const std::string& folder, std::string_view key) {
  if (folder.starts_with("/")) return ok_status();
  return invalid_argument("{}: \"{}\" is not an absolute path", key, folder);
}

/// Checks the address of a door for HTTP.
Status check_http_address(const std::string& text, std::string_view key, const Settings& settings) {
  if (text.empty()) return ok_status();
  const rpc::wire::Address address = SLUICE_TRY(rpc::wire::parse_address(text).with_context(key));
  const bool may_be_plain =
      address.is_unix || settings.listen_plain || rpc::wire::is_loopback(address.host);
  if (may_be_plain || !settings.tls_certificate.empty()) return ok_status();
  return invalid_argument(
      "{}: {}: other machines reach it, and there is no TLS certificate; give tls_certificate and "
      "tls_key, or listen on localhost, or on a private network set listen_plain",
      key, text);
}

/// Spans have names of models and users.
Status check_collector(const std::string& text, bool is_plain_allowed) {
  const Collector collector = SLUICE_TRY(parse_collector(text));
  if (is_plain_allowed || rpc::wire::is_loopback(collector.address.host)) return ok_status();
  return invalid_argument(
      "{}: traces would leave this machine without TLS; run a collector here that sends them on, "
      "or on a private network set listen_plain",
      text);
}

/// A Unix socket ends at this machine, and daemons of other hosts are meant.
Status check_peer_address(const std::string& text, std::string_view key) {
  const rpc::wire::Address address = SLUICE_TRY(rpc::wire::parse_address(text).with_context(key));
  if (!address.is_unix) return ok_status();
  return invalid_argument("{}: {} is reached on this machine only; give HOST:PORT", key, text);
}

/// Nothing goes unprotected to another host unless the administrator says so.
Status check_exchange(const Settings& settings) {
  const auto peers = SLUICE_TRY(service::parse_exchange_peers(settings.exchange_peers));
  if (!settings.exchange_listen.empty()) {
    SLUICE_TRY(check_peer_address(settings.exchange_listen, "exchange_listen"));
    // A listener that admits nobody is a mistake of the file, which shows at start and not at the
    // first fetch.
    if (peers.empty()) {
      return invalid_argument("exchange_listen: without exchange_peers no daemon could fetch");
    }
  }
  for (const std::string& source : settings.exchange_sources) {
    SLUICE_TRY(check_peer_address(source, "exchange_sources"));
  }
  if (settings.exchange_listen.empty() && settings.exchange_sources.empty()) return ok_status();
  // Exactly one of both: TLS by default would fail late, at the first fetch.
  if (settings.exchange_ca.empty() != settings.exchange_plain) {
    return invalid_argument(
        "exchange_listen and exchange_sources: give either exchange_ca, for TLS, or "
        "exchange_plain, to do without on a private network");
  }
  if (!settings.exchange_ca.empty() && settings.tls_certificate.empty()) {
    return invalid_argument("exchange_ca: give tls_certificate and tls_key too");
  }
  // A peer is known by what it shows; a rule for something that no connection carries would never
  // match.
  for (const service::ExchangePeer& peer : peers) {
    const bool by_token = peer.by == service::ExchangePeer::By::kToken;
    if (by_token ? settings.token_file.empty() : settings.exchange_ca.empty()) {
      return invalid_argument("exchange_peers: {}:{} needs {}", by_token ? "token" : "certificate",
                              peer.name, by_token ? "token_file" : "exchange_ca");
    }
  }
  return ok_status();
}

ordered_json schema_of(const SettingInfo& info) {
  ordered_json one = {{"description", info.help}};
  if (std::holds_alternative<std::string Settings::*>(info.member)) {
    one["type"] = "string";
  } else if (std::holds_alternative<std::int64_t Settings::*>(info.member)) {
    one["type"] = "integer";
    one["minimum"] = info.least;
    one["maximum"] = info.most;
  } else if (std::holds_alternative<bool Settings::*>(info.member)) {
    one["type"] = "boolean";
  } else {
    one["type"] = "array";
    one["items"] = {{"type", "string"}};
    one["maxItems"] = kMaxItems;
  }
  // Defaults stand in one place, the members' initializers.
  one["default"] = value_of(Settings(), info);
  return one;
}

}  // namespace

Result<device::TransferPolicy> parse_transfer_policy(const std::string& name) {
  if (const auto policy = device::find_policy(name)) return *policy;
  return invalid_argument(
      "transfer_policy is \"{}\"; expected weighted, round-robin, deadline or strict", name);
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::kFile: return "file";
    case Origin::kFlag: return "flag";
    case Origin::kDefault: break;
  }
  return "default";
}

std::string SettingInfo::flag() const {
  // Flags and keys differ in the hyphen alone, so one table makes both.
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

std::span<const SettingInfo> setting_infos() { return kSettings; }

Status apply_config(std::string_view text, Settings& settings, Origins& origins,
                    const std::string& file) {
  const nlohmann::json document = SLUICE_TRY(parse_json(text));
  if (!document.is_object()) {
    return invalid_argument("expected an object of settings, found a {}", document.type_name());
  }
  for (const auto& [key, value] : document.items()) {
    const std::string& name = key;
    // An unknown key is refused: a misspelt limit would otherwise not limit anything.
    const auto* const info = std::ranges::find(kSettings, name, &SettingInfo::key);
    if (info == kSettings.end()) {
      return invalid_argument("{}: no such setting; there are {}", name.substr(0, 100),
                              known_keys());
    }
    SLUICE_TRY(take(JsonValue(value, name), *info, settings));
    // Flags are applied after the file and overwrite both value and origin.
    origins[name] = {Origin::kFile, file};
  }
  return ok_status();
}

Status check_settings(const Settings& settings) {
  SLUICE_TRY(check_mode(settings.socket_mode));
  if (settings.listen.empty()) return invalid_argument("listen: nowhere to listen");
  for (const std::string& address : settings.listen) {
    SLUICE_TRY(rpc::wire::parse_address(address).with_context("listen"));
  }
  SLUICE_TRY(check_http_address(settings.metrics, "metrics", settings));
  SLUICE_TRY(check_http_address(settings.http, "http", settings));
  if (!settings.agent_check.empty()) {
    SLUICE_TRY(check_peer_address(settings.agent_check, "agent_check"));
  }
  SLUICE_TRY(check_exchange(settings));
  SLUICE_TRY(service::parse_role_rules(settings.roles));
  if (settings.isolation != kIsolateOthers) {
    SLUICE_TRY(terms::parse_isolation(settings.isolation));
  }
  (void)SLUICE_TRY(parse_transfer_policy(settings.transfer_policy));
  if (settings.kv_cache != "f32" && settings.kv_cache != "f16" && settings.kv_cache != "int8") {
    return invalid_argument("kv_cache is \"{}\"; expected f32, f16 or int8", settings.kv_cache);
  }
  if (settings.weights != "f32" && settings.weights != "bf16" && settings.weights != "int8") {
    return invalid_argument("weights is \"{}\"; expected f32, bf16 or int8", settings.weights);
  }
  if (settings.tls_certificate.empty() != settings.tls_key.empty()) {
    return invalid_argument("tls_certificate and tls_key belong together: give both or none");
  }
  if (!settings.tls_client_ca.empty() && settings.tls_certificate.empty()) {
    return invalid_argument("tls_client_ca: without tls_certificate there is no TLS");
  }
  for (const std::string& folder : settings.model_folders) {
    SLUICE_TRY(check_absolute(folder, "model_folders"));
  }
  for (const std::string& folder : settings.program_folders) {
    SLUICE_TRY(check_absolute(folder, "program_folders"));
  }
  if (settings.program_backend != "cuda" && settings.program_backend != "cuda-emulated") {
    return invalid_argument("program_backend is \"{}\"; expected cuda or cuda-emulated",
                            settings.program_backend);
  }
  if (!settings.repository.empty()) SLUICE_TRY(check_absolute(settings.repository, "repository"));
  for (const std::string& sha256 : settings.allow_operators) {
    if (!is_sha256(sha256)) {
      return invalid_argument("allow_operators: \"{}\" is no SHA-256 in 64 small digits", sha256);
    }
  }
  if (settings.log_format != "text" && settings.log_format != "json") {
    return invalid_argument("log_format is \"{}\"; expected text or json", settings.log_format);
  }
  if (!settings.access_log.empty() && settings.access_log != "stderr") {
    SLUICE_TRY(check_absolute(settings.access_log, "access_log"));
  }
  if (!settings.record.empty()) SLUICE_TRY(check_absolute(settings.record, "record"));
  if (!settings.otlp.empty()) {
    SLUICE_TRY(check_collector(settings.otlp, settings.listen_plain).with_context("otlp"));
  }
  return ok_status();
}

std::string print_settings(const Settings& settings, const Origins& origins) {
  ordered_json all;
  for (const SettingInfo& info : kSettings) {
    const auto it = origins.find(info.key);
    const Source source = it == origins.end() ? Source() : it->second;
    ordered_json& one = all[std::string(info.key)];
    one = {{"value", value_of(settings, info)}, {"origin", origin_name(source.origin)}};
    if (!source.file.empty()) one["file"] = source.file;
  }
  // A value may be a path with bytes that are not UTF-8, on which dump would throw.
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string print_schema() {
  ordered_json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                         {"title", "sluiced"},
                         {"type", "object"},
                         {"additionalProperties", false}};
  for (const SettingInfo& info : kSettings) {
    schema["properties"][std::string(info.key)] = schema_of(info);
  }
  return schema.dump(2) + "\n";
}

}  // namespace sluice::daemon

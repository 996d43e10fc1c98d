#include "sluice/remote/support/bundle.h"

#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/process/child.h"
#include "http_client/http_client.h"
#include "rpc/wire/address.h"
#include "sluice/remote/support/tar.h"

namespace sluice::tool {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;  // of each file
constexpr std::int64_t kTimeNs = 20'000'000'000;         // for each of them
constexpr const char* kFolder = "sluice-support/";
/// It names users and paths.
constexpr mode_t kMode = 0600;

class Bundle {
 public:
  explicit Bundle(std::vector<std::string> connection)
      : connection_(std::move(connection)), tar_(unix_time_seconds()) {}

  void add(const std::string& name, const Result<std::string>& text) {
    if (text.is_ok()) {
      tar_.add(kFolder + name, std::string_view(*text).substr(0, kMaxBytes));
    } else {
      errors_ += fmt::format("{}: {}\n", name, text.status().message());
    }
  }

  /// What a program prints, and why it failed if it did.
  Result<std::string> output(const std::filesystem::path& program, std::vector<std::string> words) {
    const ChildLimits limits = {.time_ns = kTimeNs, .kept_bytes = kMaxBytes};
    words.insert(words.begin(), program.filename().string());
    const ChildEnd end = SLUICE_TRY(run_child(program, words, limits));
    if (!end.errors.empty()) errors_ += fmt::format("{}: {}", fmt::join(words, " "), end.errors);
    if (!end.output.empty()) return end.output;
    return make_error(Code::kUnavailable, "{} printed nothing: {}", words.front(),
                      describe_end(end.status));
  }

  /// What the daemon says.
  Result<std::string> answer(std::vector<std::string> words) {
    words.insert(words.end(), connection_.begin(), connection_.end());
    return output(program_beside("sluice"), std::move(words));
  }

  std::string take() {
    tar_.add(std::string(kFolder) + "errors.txt", errors_);
    return tar_.take();
  }

 private:
  const std::vector<std::string> connection_;
  Tar tar_;
  std::string errors_;
};

std::string system_text() {
  utsname name = {};
  uname(&name);
  std::string text =
      fmt::format("{} {} {} {}\n", name.sysname, name.release, name.version, name.machine);
  for (const char* path :
       {"/etc/os-release", "/proc/meminfo", "/proc/pressure/cpu", "/proc/pressure/memory"}) {
    const auto file = read_text_file(path, kMaxBytes);
    if (file.is_ok()) text += fmt::format("\n{}:\n{}", path, *file);
  }
  return text;
}

Result<std::string> metrics_text(const std::string& address) {
  if (address.empty()) {
    return make_error(Code::kUnavailable, "the settings serve none (metrics, http)");
  }
  const auto server = SLUICE_TRY(rpc::wire::parse_address(address));
  const auto client = SLUICE_TRY(http_client::HttpClient::create(server, kTimeNs));
  const auto request =
      std::make_shared<const std::string>("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  http_client::HttpReply reply = SLUICE_TRY(http_client::ask(*client, request));
  if (reply.status == 200) return std::move(reply.body);
  return make_error(Code::kUnavailable, "{} answered {}", address, reply.status);
}

}  // namespace

std::string metrics_address(const std::string& settings) {
  const auto all = nlohmann::json::parse(settings, nullptr, false);
  for (const char* key : {"/metrics/value", "/http/value"}) {
    const nlohmann::json::json_pointer place(key);
    if (!all.contains(place)) continue;
    const auto* address = all[place].get_ptr<const std::string*>();
    if (address != nullptr && !address->empty()) return *address;
  }
  return "";
}

Status write_bundle(const std::filesystem::path& path, std::vector<std::string> connection,
                    const std::string& config) {
  Bundle bundle(std::move(connection));
  bundle.add("system.txt", system_text());
  bundle.add("doctor.txt", bundle.output(program_beside("sluice"), {"doctor"}));
  bundle.add("devices.txt", bundle.output(program_beside("sluice"), {"ls"}));
  std::vector<std::string> check = {"--check-config"};
  if (!config.empty()) check.insert(check.end(), {"--config", config});
  const auto settings = bundle.output(program_beside("sluiced"), check);
  bundle.add("settings.json", settings);
  bundle.add("server.json", bundle.answer({"server", "--json"}));
  bundle.add("activity.json", bundle.answer({"monitor", "--count", "1", "--interval", "1"}));
  bundle.add("statistics.json", bundle.answer({"stats", "--json"}));
  bundle.add("models.json", bundle.answer({"models", "--json"}));
  bundle.add("groups.json", bundle.answer({"groups", "--json"}));
  bundle.add("functions.json", bundle.answer({"functions", "--json"}));
  bundle.add("sessions.json", bundle.answer({"sessions", "--json"}));
  bundle.add("metrics.txt", metrics_text(metrics_address(settings.is_ok() ? *settings : "")));
  bundle.add("journal.txt", bundle.output("/usr/bin/journalctl",
                                          {"--unit", "sluiced*", "--lines", "5000", "--no-pager"}));
  const std::string bytes = bundle.take();
  return write_file_atomically(path, std::as_bytes(std::span(bytes)), kMode);
}

}  // namespace sluice::tool

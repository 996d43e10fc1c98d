#include "sluice/remote/remote.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "sluice/devices/device_table.h"

namespace sluice::tool {

void RemoteOptions::add_connection_to(Options& options) {
  options.add("--address", client.address, "Address of the daemon: unix:/PATH or HOST:PORT")
      .reads_environment("SLUICE_ADDRESS")
      .shows_default();
  add_credentials_to(options);
}

void RemoteOptions::add_credentials_to(Options& options) {
  options.add("--ca", client.ca,
              "PEM file of the authority that signed the daemon's certificate (TLS)");
  options.add("--certificate", client.certificate,
              "PEM file of the client's certificate (mutual TLS)");
  options.add("--key", client.key, "PEM file of the key of the client's certificate");
  options
      .add("--token", client.token, "Token of the client, for a daemon that requires one over TCP")
      .reads_environment("SLUICE_TOKEN");
}

void RemoteOptions::add_to(Options& options) {
  add_connection_to(options);
  options.flag("-j,--json", is_json, "Print JSON");
}

Result<std::uint64_t> parse_handle(const std::string& text) {
  const bool is_hex = text.starts_with("0x");
  const char* begin = text.data() + (is_hex ? 2 : 0);
  const char* end = text.data() + text.size();
  std::uint64_t handle = 0;
  const auto [stop, error] = std::from_chars(begin, end, handle, is_hex ? 16 : 10);
  if (error == std::errc() && stop == end && begin != end) return handle;
  return invalid_argument("\"{}\" is not a handle; `sluice models` and `sluice groups` list them",
                          text);
}

Result<std::uint64_t> find_model(rpc::client::Client& client, const std::string& text) {
  // A model whose name is a number can be reached by its handle only.
  if (const auto handle = parse_handle(text); handle.is_ok()) return handle;
  std::vector<std::uint64_t> found;
  for (const auto& model : SLUICE_TRY(client.list_models())) {
    if (model.info.name == text) found.push_back(model.info.handle);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return make_error(Code::kNotFound, "no model \"{}\" is loaded; `sluice models` lists them",
                      text);
  }
  return invalid_argument("{} models are called \"{}\"; name one by its handle", found.size(),
                          text);
}

/// Names come from other clients of the daemon: control characters would move the terminal's
/// cursor. C1 controls are two bytes in UTF-8.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_c1 = c == 0xC2 && next >= 0x80 && next < 0xA0;  // in UTF-8
    out += c < ' ' || c == 0x7F || is_c1 ? '?' : text[i];
    if (is_c1) ++i;
  }
  return out;
}

std::string text_table(const std::vector<std::vector<std::string>>& texts) {
  std::vector<std::vector<std::string>> rows = texts;
  for (auto& row : rows) std::ranges::transform(row, row.begin(), printable);
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string describe_cores(const std::vector<terms::CoreRef>& cores) {
  std::map<std::int32_t, std::vector<std::int32_t>> of_device;
  for (const terms::CoreRef& core : cores) of_device[core.device.value()].push_back(core.core);
  std::string text;
  for (const auto& [device, numbers] : of_device) {
    text +=
        fmt::format("{}device {}: {}", text.empty() ? "" : ", ", device, format_numbers(numbers));
  }
  return text;
}

std::string describe_worker(const terms::WorkerInfo& worker) {
  if (worker.isolation != terms::Isolation::kProcess) return "-";
  std::string text = worker.state == "ready" ? std::to_string(worker.process) : worker.state;
  if (worker.num_restarts > 0) text += ", " + describe_count(worker.num_restarts, "restart");
  return text;
}

}  // namespace sluice::tool

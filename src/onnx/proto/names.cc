#include "onnx/proto/names.h"

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"

namespace sluice::onnx {
namespace {

constexpr std::size_t kMaxNameBytes = 4096;

// The name goes into messages, which terminals show: bytes that it may not have become numbers.
std::string escaped_head(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<std::uint8_t>(c);
    shown += byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return text.size() > kShown ? shown + "..." : shown;
}

}  // namespace

std::string node_name(const pb::NodeProto& node) {
  // Exporters leave names out. A value's name is unique, so the first output's stands for the node.
  if (!node.name().empty()) return node.name();
  const auto named = std::ranges::find_if(
      node.output(), [](const std::string& output) { return !output.empty(); });
  return named == node.output().end() ? "" : *named;
}

std::string describe(const pb::NodeProto& node) {
  const std::string domain = canonical_domain(node.domain());
  const std::string kind = domain.empty() ? node.op_type() : domain + "::" + node.op_type();
  return fmt::format("node \"{}\" ({})", node_name(node), kind);
}

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::string shown_domain(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

bool is_printable_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<std::uint8_t>(text.front());
    const std::size_t length = utf8_character_bytes(text);
    if (lead < 0x20 || lead == 0x7F || length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Status check_name(std::string_view name) {
  if (name.size() <= kMaxNameBytes && is_printable_utf8(name)) return ok_status();
  return invalid_argument(
      "the name \"{}\" has control characters, is not UTF-8 or passes {} bytes; rename it",
      escaped_head(name), kMaxNameBytes);
}

}  // namespace sluice::onnx

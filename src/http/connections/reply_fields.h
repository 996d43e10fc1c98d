// The head of a reply and what follows it, whatever its wire.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "http/call.h"

namespace sluice::http {

/// Calls `visit(name, value)` with each field, but for those of a wire, such as Connection. The
/// reply has its coding (encode_body).
template <typename Visit>
void visit_fields(const Reply& reply, const Visit& visit) {
  // 304 has no content, and a length would be that of what the client has.
  if (reply.status != 304) {
    visit("Content-Type", reply.type);
    if (reply.stream != nullptr) {
      visit("Cache-Control", "no-store");
    } else {
      const std::size_t size = reply.coded.empty() ? reply.size_bytes() : reply.coded.size();
      visit("Content-Length", std::string_view(std::to_string(size)));
    }
  }
  for (std::string_view left = reply.fields; !left.empty();) {
    const std::string_view line = left.substr(0, left.find("\r\n"));
    left.remove_prefix(std::min(left.size(), line.size() + 2));
    const std::size_t colon = line.find(": ");
    if (colon != line.npos) visit(line.substr(0, colon), line.substr(colon + 2));
  }
  if (reply.coding != Coding::kIdentity) visit("Content-Encoding", coding_name(reply.coding));
  if (reply.has_json_head) visit(kJsonBytes, std::string_view(std::to_string(reply.text.size())));
  if (reply.status == 401) visit("WWW-Authenticate", "Bearer");  // RFC 9110, section 11.6.1
  if (!reply.allow.empty()) visit("Allow", std::string_view(reply.allow));
}

/// The bytes behind the head, but for those of a stream. They live as long as the reply.
inline std::vector<std::string_view> parts_of(const Reply& reply) {
  if (!reply.coded.empty()) return {reply.coded};
  std::vector<std::string_view> parts = {reply.text};
  parts.insert(parts.end(), reply.parts.begin(), reply.parts.end());
  return parts;
}

}  // namespace sluice::http

#include "telemetry/access_line.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

#include "base/log/wall_time.h"
#include "base/status.h"

namespace sluice::telemetry {
namespace {

/// `most_text_bytes`: of each text that an outsider chose.
std::string line_of(const RequestRecord& record, std::size_t most_text_bytes) {
  using Json = nlohmann::ordered_json;
  Json line = {{"time", utc_text(record.start_ns + record.wall_offset_ns, 6)},
               {"request_id", record.id},
               {"trace_id", terms::to_hex(record.trace.trace)},
               {"door", record.door}};
  const auto add_text = [&](const char* name, std::string_view text) {
    if (!text.empty()) line[name] = text.substr(0, most_text_bytes);
  };
  add_text("user", record.user);
  add_text("call", record.call);
  add_text("model", record.model);
  line["status"] = code_name(record.code);
  if (record.http_status != 0) line["http_status"] = record.http_status;
  add_text("error", record.message);
  line["bytes_in"] = record.bytes_in;
  line["bytes_out"] = record.bytes_out;
  line["total_ns"] = record.end_ns - record.start_ns;
  if (record.submitted_ns != 0) line["read_ns"] = record.submitted_ns - record.start_ns;
  if (record.answered_ns != 0) {
    line["queue_ns"] = record.detail.queue_ns;
    line["copy_ns"] = record.detail.copy_ns;
    line["compute_ns"] = record.detail.compute_ns;
    line["reply_ns"] = record.end_ns - record.answered_ns;
  }
  // A name of a client may be no UTF-8, and so may a text that was cut: dump would throw on it.
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string access_line(const RequestRecord& record) {
  constexpr std::size_t kShortTextBytes = 64;  // of which JSON makes up to six times as many
  std::string line = line_of(record, std::string::npos);
  if (line.size() > kMaxLineBytes) line = line_of(record, kShortTextBytes);
  return line;
}

}  // namespace sluice::telemetry

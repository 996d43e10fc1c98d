#include "worker/protocol/setup.h"

#include <limits>

#include "base/json/json_reader.h"

namespace sluice::worker {
namespace {

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxCpus = 1 << 16;

/// JsonValue limits the length of a text; a device map may be longer.
Result<std::string> long_text(const nlohmann::json& body, const char* name) {
  const auto it = body.find(name);
  const auto* text = it == body.end() ? nullptr : it->get_ptr<const std::string*>();
  if (text == nullptr) return invalid_argument("{}: missing, or no text", name);
  return *text;
}

Result<std::int32_t> number32(const JsonValue& body, std::string_view name) {
  return static_cast<std::int32_t>(SLUICE_TRY(SLUICE_TRY(body.field(name)).as_int(0, kMaxInt32)));
}

}  // namespace

std::string print_setup(const WorkerSetup& setup) {
  const nlohmann::json body = {
      {"map", setup.map},
      {"sim", setup.sim},
      {"first_device", setup.first_device},
      {"first_core", setup.first_core},
      {"num_cores", setup.num_cores},
      {"memory_bytes", setup.memory_bytes},
      {"usable_bytes", setup.usable_bytes},
      {"cpus", setup.cpus},
      {"hang_limit_ns", setup.hang_limit_ns},
      {"user", setup.user},
      {"group", setup.group},
      {"is_filtered", setup.is_filtered},
  };
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<WorkerSetup> parse_setup(const std::string& text) {
  const nlohmann::json body = SLUICE_TRY(parse_json(text));
  if (!body.is_object()) return invalid_argument("a setup is an object");
  const JsonValue value(body, "");
  WorkerSetup setup;
  setup.map = SLUICE_TRY(long_text(body, "map"));
  setup.sim = SLUICE_TRY(long_text(body, "sim"));
  setup.first_device = SLUICE_TRY(number32(value, "first_device"));
  setup.first_core = SLUICE_TRY(number32(value, "first_core"));
  setup.num_cores = SLUICE_TRY(number32(value, "num_cores"));
  setup.memory_bytes = SLUICE_TRY(SLUICE_TRY(value.field("memory_bytes")).as_int(0, kMaxInt64));
  setup.usable_bytes = SLUICE_TRY(SLUICE_TRY(value.field("usable_bytes")).as_int(0, kMaxInt64));
  setup.hang_limit_ns = SLUICE_TRY(SLUICE_TRY(value.field("hang_limit_ns")).as_int(0, kMaxInt64));
  setup.user = SLUICE_TRY(SLUICE_TRY(value.field("user")).as_int(-1, kMaxInt64));
  setup.group = SLUICE_TRY(SLUICE_TRY(value.field("group")).as_int(-1, kMaxInt64));
  setup.is_filtered = SLUICE_TRY(SLUICE_TRY(value.field("is_filtered")).as_bool());
  for (const auto& cpu : SLUICE_TRY(SLUICE_TRY(value.field("cpus")).as_items(kMaxCpus))) {
    setup.cpus.push_back(static_cast<std::int32_t>(SLUICE_TRY(cpu.as_int(0, kMaxInt32))));
  }
  return setup;
}

}  // namespace sluice::worker

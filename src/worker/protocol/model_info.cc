#include "worker/protocol/model_info.h"

#include <algorithm>

#include "base/json/json_reader.h"
#include "terms/load.h"

namespace sluice::worker {
namespace {

/// More bytes than any machine has; with kMaxDepth slots of them, and many models, in 63 bits.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 44;
constexpr std::int64_t kMaxSlots = 1 << 20;

}  // namespace

nlohmann::json info_json(std::uint64_t model, const terms::ModelInfo& info) {
  return {{"model", model},
          {"name", info.name},
          {"is_shared_mode", info.mode == terms::LoadMode::kShared},
          {"depth", info.depth},
          {"queue_limit", info.queue_limit},
          {"num_slots", info.num_slots},
          {"shares_package", info.shares_package},
          {"slots_bytes", info.slots_bytes},
          {"constants_bytes", info.footprint.constants_bytes},
          {"packed_bytes", info.footprint.packed_bytes},
          {"context_bytes", info.footprint.context_bytes},
          {"is_context_known", info.footprint.is_context_known},
          {"footprint_depth", info.footprint.depth}};
}

terms::ModelInfo info_of(const nlohmann::json& loaded) {
  const JsonValue value(loaded, "");
  const auto number = [&](const char* name, std::int64_t most) {
    const auto read = value.int_or(name, 0, 0, most);
    return read.is_ok() ? *read : 0;
  };
  const auto flag = [&](const char* name) {
    const auto field = value.field(name);
    const auto read = field.is_ok() ? field->as_bool() : Result<bool>(field.status());
    return read.is_ok() && *read;
  };
  terms::ModelInfo info;
  info.mode = flag("is_shared_mode") ? terms::LoadMode::kShared : terms::LoadMode::kNormal;
  info.depth = static_cast<int>(std::max<std::int64_t>(number("depth", terms::kMaxDepth), 1));
  info.queue_limit = static_cast<int>(number("queue_limit", terms::kMaxWaiting));
  info.num_slots = static_cast<std::size_t>(number("num_slots", kMaxSlots));
  info.shares_package = flag("shares_package");
  info.slots_bytes = number("slots_bytes", kMaxBytes);
  info.footprint = {number("constants_bytes", kMaxBytes), number("packed_bytes", kMaxBytes),
                    number("context_bytes", kMaxBytes), flag("is_context_known"),
                    static_cast<std::int32_t>(number("footprint_depth", terms::kMaxDepth))};
  return info;
}

}  // namespace sluice::worker

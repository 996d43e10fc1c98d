#include "open_inference/model_description.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "terms/runtime_code.h"

namespace sluice::open_inference {
namespace {

TensorDescription describe(const terms::TensorSpec& spec) {
  TensorDescription description;
  description.name = spec.name;
  description.element = spec.type.element();
  description.is_optional = spec.has_default;
  const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
  if (shape == nullptr) return description;
  for (const ir::Dim& dim : *shape) {
    description.shape.push_back(dim.is_known() ? dim.value() : -1);
  }
  return description;
}

}  // namespace

const std::vector<std::string_view>& extensions() {
  static const std::vector<std::string_view> all = {
      "binary_tensor_data", "classification", "model_configuration", "model_repository",
      "schedule_policy",    "statistics",     "system_shared_memory"};
  return all;
}

ModelDescription describe(const dispatch::ModelRef& model, std::vector<std::int64_t> versions) {
  ModelDescription description;
  for (const auto& spec : model.signature().inputs) description.inputs.push_back(describe(spec));
  for (const auto& spec : model.signature().outputs) description.outputs.push_back(describe(spec));
  if (model.joins()) description.max_batch_size = model.sink().batch_rows();
  description.depth = model.sink().depth();
  description.versions = std::move(versions);
  return description;
}

ModelCounts count(const terms::ModelStatistics& statistics) {
  ModelCounts counts;
  counts.fail.count = statistics.refused;
  for (const terms::CodeCount& answered : statistics.answered) {
    const bool is_right = answered.code == RuntimeCode::kOk;
    (is_right ? counts.success : counts.fail).count += answered.count;
  }
  counts.success.ns = statistics.total.sum_ns;
  counts.queue = {statistics.queue.count, statistics.queue.sum_ns};
  counts.copy = {statistics.copy.count, statistics.copy.sum_ns};
  counts.compute = {statistics.compute.count, statistics.compute.sum_ns};
  return counts;
}

bool is_ready(const terms::ModelEntry& entry) {
  if (entry.info.phase == terms::ModelPhase::kFailed) return false;
  return entry.function || entry.graph || entry.info.phase == terms::ModelPhase::kStarted;
}

Result<std::optional<std::int64_t>> parse_version(std::string_view version) {
  std::int64_t number = 0;
  const char* end = version.data() + version.size();
  const auto [stop, error] = std::from_chars(version.data(), end, number);
  if (version.empty()) return std::optional<std::int64_t>();
  if (error == std::errc() && stop == end) return std::optional(number);
  return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                fmt::format("\"{}\" is no version; versions are numbers from 1",
                            valid_utf8(version.substr(0, kMaxNameBytes))));
}

}  // namespace sluice::open_inference

#include "open_inference/model_description.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "terms/runtime_code.h"

namespace sluice::open_inference {
namespace {

const terms::DeclaredTensor* find_declared(const std::vector<terms::DeclaredTensor>& tensors,
                                           std::string_view name) {
  const auto it = std::ranges::find(tensors, name, &terms::DeclaredTensor::name);
  return it == tensors.end() ? nullptr : &*it;
}

TensorDescription describe(const terms::TensorSpec& spec) {
  TensorDescription description;
  description.name = spec.name;
  description.format = "FORMAT_NONE";
  description.element = spec.type.element();
  description.is_optional = spec.has_default;
  const ir::Shape* shape = spec.type.is_tensor() ? spec.type.shape() : nullptr;
  if (shape == nullptr) return description;
  for (const ir::Dim& dim : *shape) {
    description.shape.push_back(dim.is_known() ? dim.value() : -1);
  }
  return description;
}

std::vector<TensorDescription> describe(const std::vector<terms::TensorSpec>& specs,
                                        const std::vector<terms::DeclaredTensor>& declared,
                                        bool has_rows) {
  std::vector<TensorDescription> descriptions;
  for (const terms::TensorSpec& spec : specs) {
    TensorDescription one = describe(spec);
    const std::size_t begin = has_rows && !one.shape.empty() ? 1 : 0;
    one.config_dims.assign(one.shape.begin() + static_cast<std::ptrdiff_t>(begin), one.shape.end());
    if (const terms::DeclaredTensor* said = find_declared(declared, spec.name)) {
      if (!said->dims.empty()) one.config_dims = said->dims;
      if (!said->format.empty()) one.format = said->format;
      one.label_filename = said->label_filename;
    }
    descriptions.push_back(std::move(one));
  }
  return descriptions;
}

std::string_view text_or(const std::string& text, std::string_view fallback) {
  return text.empty() ? fallback : text;
}

}  // namespace

const std::vector<std::string_view>& extensions() {
  static const std::vector<std::string_view> all = {"binary_tensor_data",
                                                    "classification",
                                                    "logging",
                                                    "model_configuration",
                                                    "model_repository",
                                                    "model_repository(unload_dependents)",
                                                    "schedule_policy",
                                                    "sequence",
                                                    "sequence(string_id)",
                                                    "statistics",
                                                    "system_shared_memory",
                                                    "trace"};
  return all;
}

ModelDescription describe(const dispatch::ModelRef& model, std::vector<std::int64_t> versions) {
  ModelDescription description;
  const terms::DeclaredModel& declared = model.declared();
  description.declared = &declared;
  description.platform = text_or(declared.platform, kServerName);
  // An ensemble has none, as with Triton.
  if (declared.steps.empty()) description.backend = text_or(declared.backend, kServerName);
  if (model.joins()) description.batch_rows = model.sink().batch_rows();
  description.max_batch_size =
      declared.max_batch_size > 0 ? declared.max_batch_size : description.batch_rows;
  const bool has_rows = description.max_batch_size > 0;
  description.inputs = describe(model.signature().inputs, declared.inputs, has_rows);
  description.outputs = describe(model.signature().outputs, declared.outputs, has_rows);
  // The sink counts the requests that a joined run may have.
  const auto depth = static_cast<std::int64_t>(model.sink().depth());
  description.num_slots = std::max<std::int64_t>(1, depth / model.sink().batch_rows());
  description.versions = std::move(versions);
  return description;
}

std::span<const std::string> labels_of(const dispatch::ModelRef& model, std::string_view output) {
  const terms::DeclaredTensor* said = find_declared(model.declared().outputs, output);
  if (said == nullptr || said->labels == nullptr) return {};
  return *said->labels;
}

ModelCounts count(const terms::ModelStatistics& statistics) {
  ModelCounts counts;
  counts.fail.count = statistics.refused;
  for (const terms::CodeCount& answered : statistics.answered) {
    const bool is_right = answered.code == RuntimeCode::kOk;
    (is_right ? counts.success : counts.fail).count += answered.count;
  }
  const terms::KeptCounts& kept = statistics.kept;
  counts.inferences = counts.success.count;
  counts.hits = {kept.hits, kept.hit_ns};
  counts.misses = {kept.misses, kept.miss_ns};
  counts.success.count += kept.hits;
  counts.success.ns = statistics.total.sum_ns + kept.hit_ns;
  counts.queue = {statistics.queue.count, statistics.queue.sum_ns};
  // Every request has these for the protocol, also one without a stage for copies.
  counts.copy_in = {statistics.compute.count, statistics.copy.sum_ns - statistics.copy_out_ns};
  counts.compute = {statistics.compute.count, statistics.compute.sum_ns};
  counts.copy_out = {statistics.compute.count, statistics.copy_out_ns};
  std::int64_t rows = 0;
  for (const terms::RunCount& run : statistics.runs) {
    counts.runs += run.count;
    rows += std::max<std::int64_t>(run.rows, 1) * run.count;
  }
  counts.inferences = std::max(counts.inferences, rows);
  return counts;
}

bool is_ready(const terms::ModelEntry& entry) {
  if (entry.info.phase == terms::ModelPhase::kFailed) return false;
  return entry.function || entry.graph || entry.info.phase == terms::ModelPhase::kStarted;
}

Result<dispatch::VersionChoice> parse_version(std::string_view version) {
  if (version.empty()) return dispatch::VersionChoice();
  std::int64_t number = 0;
  const char* end = version.data() + version.size();
  const auto [stop, error] = std::from_chars(version.data(), end, number);
  if (error == std::errc() && stop == end) return dispatch::VersionChoice{number};
  const bool is_label = stop == version.data() && error == std::errc::invalid_argument;
  if (is_label) return dispatch::VersionChoice{{}, version};
  return Status(Code::kNotFound, static_cast<std::int32_t>(RuntimeCode::kInvalidHandle),
                fmt::format("\"{}\" is no version; versions are numbers from 1, or labels",
                            valid_utf8(version.substr(0, kMaxNameBytes))));
}

}  // namespace sluice::open_inference

#include "rpc/server/open_inference/model_messages.h"

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "open_inference/datatypes.h"

namespace sluice::rpc::server {
namespace {

using open_inference::TensorDescription;

void describe(const TensorDescription& from, inference::ModelMetadataResponse::TensorMetadata& to) {
  to.set_name(std::string(from.name));
  to.set_datatype(std::string(open_inference::datatype_name(from.element)));
  to.mutable_shape()->Assign(from.shape.begin(), from.shape.end());
}

inference::DataType config_type(ir::ElementType type) {
  inference::DataType number = inference::TYPE_INVALID;
  inference::DataType_Parse(open_inference::config_type(type), &number);
  return number;
}

/// Of an input or an output.
template <typename Message>
void configure(const TensorDescription& from, Message& to) {
  to.set_name(std::string(from.name));
  to.set_data_type(config_type(from.element));
  for (const std::int64_t dim : from.config_dims) to.add_dims(dim);
}

void to_proto(const terms::VersionPolicy& from, inference::ModelVersionPolicy& to) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  switch (from.kind) {
    case terms::VersionPolicy::Kind::kLatest:
      to.mutable_latest()->set_num_versions(
          static_cast<std::uint32_t>(std::min(from.num_latest, kMost)));
      return;
    case terms::VersionPolicy::Kind::kAll: to.mutable_all(); return;
    case terms::VersionPolicy::Kind::kSpecific: break;
  }
  to.mutable_specific()->mutable_versions()->Assign(from.versions.begin(), from.versions.end());
}

void set(inference::StatisticDuration& to, const open_inference::ModelCounts::Times& times) {
  to.set_count(static_cast<std::uint64_t>(times.count));
  to.set_ns(static_cast<std::uint64_t>(times.ns));
}

}  // namespace

void to_proto(const open_inference::ModelDescription& from, const std::string& name,
              inference::ModelMetadataResponse& to) {
  to.set_name(name);
  for (const std::int64_t version : from.versions) to.add_versions(std::to_string(version));
  to.set_platform(std::string(from.platform));
  for (const TensorDescription& input : from.inputs) describe(input, *to.add_inputs());
  for (const TensorDescription& output : from.outputs) describe(output, *to.add_outputs());
}

void to_proto(const open_inference::ModelDescription& from, const std::string& name,
              inference::ModelConfig& to) {
  to.set_name(name);
  to.set_platform(std::string(from.platform));
  to.set_backend(std::string(from.backend));
  to_proto(from.declared->policy, *to.mutable_version_policy());
  to.set_default_model_filename(valid_utf8(from.declared->file_name));
  for (const auto& [key, value] : from.declared->parameters) {
    (*to.mutable_parameters())[valid_utf8(key)].set_string_value(valid_utf8(value));
  }
  for (const TensorDescription& input : from.inputs) {
    auto& message = *to.add_input();
    configure(input, message);
    inference::ModelInput::Format format = inference::ModelInput::FORMAT_NONE;
    inference::ModelInput::Format_Parse(std::string(input.format), &format);
    message.set_format(format);
    message.set_optional(input.is_optional);
  }
  for (const TensorDescription& output : from.outputs) {
    auto& message = *to.add_output();
    configure(output, message);
    message.set_label_filename(valid_utf8(output.label_filename));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  to.set_max_batch_size(static_cast<std::int32_t>(std::min(from.max_batch_size, kMost)));
  if (from.batch_rows > 0) {
    to.mutable_dynamic_batching()->add_preferred_batch_size(
        static_cast<std::int32_t>(std::min(from.batch_rows, kMost)));
  }
  auto& group = *to.add_instance_group();
  group.set_name(name);
  group.set_count(from.depth);
  group.set_kind(inference::ModelInstanceGroup::KIND_CPU);
  to.mutable_model_transaction_policy()->set_decoupled(false);
}

void to_proto(const terms::ModelStatistics& from, std::int64_t version,
              inference::ModelStatistics& to) {
  const open_inference::ModelCounts counts = open_inference::count(from);
  to.set_name(from.name);
  to.set_version(std::to_string(version));
  to.set_inference_count(static_cast<std::uint64_t>(counts.success.count));
  to.set_execution_count(static_cast<std::uint64_t>(counts.runs));
  to.set_last_inference(static_cast<std::uint64_t>(from.last_run_unix_ms));
  inference::InferStatistics& all = *to.mutable_inference_stats();
  set(*all.mutable_success(), counts.success);
  set(*all.mutable_fail(), counts.fail);
  set(*all.mutable_queue(), counts.queue);
  set(*all.mutable_compute_input(), counts.copy_in);
  set(*all.mutable_compute_infer(), counts.compute);
  set(*all.mutable_compute_output(), counts.copy_out);
  for (const terms::RunCount& run : from.runs) {
    if (run.rows == 0) continue;
    inference::InferBatchStatistics& batch = *to.add_batch_stats();
    batch.set_batch_size(static_cast<std::uint64_t>(run.rows));
    set(*batch.mutable_compute_input(), {run.count, run.copy_in_ns});
    set(*batch.mutable_compute_infer(), {run.count, run.compute_ns});
    set(*batch.mutable_compute_output(), {run.count, run.copy_out_ns});
  }
}

void to_proto(const repository::IndexEntry& from,
              inference::RepositoryIndexResponse::ModelIndex& to) {
  to.set_name(from.name);
  if (from.version > 0) to.set_version(std::to_string(from.version));
  to.set_state(std::string(from.state));
  to.set_reason(valid_utf8(from.reason));
}

}  // namespace sluice::rpc::server

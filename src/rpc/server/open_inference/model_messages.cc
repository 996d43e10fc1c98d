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

/// Describes an input or an output.
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

void to_proto(const terms::SequenceControl& from, inference::ModelSequenceBatching::Control& to) {
  using Control = inference::ModelSequenceBatching::Control;
  using Kind = terms::SequenceControl::Kind;
  switch (from.kind) {
    case Kind::kStart: to.set_kind(Control::CONTROL_SEQUENCE_START); break;
    case Kind::kReady: to.set_kind(Control::CONTROL_SEQUENCE_READY); break;
    case Kind::kEnd: to.set_kind(Control::CONTROL_SEQUENCE_END); break;
    case Kind::kCorrelationId:
      to.set_kind(Control::CONTROL_SEQUENCE_CORRID);
      to.set_data_type(config_type(from.element));
      return;
  }
  for (const double value : {from.false_value, from.true_value}) {
    if (from.element == ir::ElementType::kI32) {
      to.add_int32_false_true(static_cast<std::int32_t>(value));
    } else if (from.element == ir::ElementType::kF32) {
      to.add_fp32_false_true(static_cast<float>(value));
    } else {
      to.add_bool_false_true(value != 0);
    }
  }
}

void to_proto(const terms::SequenceState& from, inference::ModelSequenceBatching::State& to) {
  to.set_input_name(valid_utf8(from.input));
  to.set_output_name(valid_utf8(from.output));
  to.set_data_type(config_type(from.element));
  to.mutable_dims()->Assign(from.dims.begin(), from.dims.end());
  if (from.initial_dims.empty() && from.data_file.empty()) return;
  auto& initial = *to.add_initial_state();
  initial.set_data_type(config_type(from.element));
  initial.mutable_dims()->Assign(from.initial_dims.begin(), from.initial_dims.end());
  if (from.data_file.empty()) {
    initial.set_zero_data(true);
  } else {
    initial.set_data_file(valid_utf8(from.data_file));
  }
}

void to_proto(const terms::SequenceRules& from, inference::ModelSequenceBatching& to) {
  to.set_max_sequence_idle_microseconds(static_cast<std::uint64_t>(from.max_idle_us));
  if (from.is_oldest) {
    to.mutable_oldest()->set_max_candidate_sequences(
        static_cast<std::int32_t>(from.max_candidates));
  } else {
    to.mutable_direct();
  }
  for (const terms::SequenceControl& control : from.controls) {
    auto& input = *to.add_control_input();
    input.set_name(valid_utf8(control.input));
    to_proto(control, *input.add_control());
  }
  for (const terms::SequenceState& state : from.states) to_proto(state, *to.add_state());
}

void to_proto(const terms::EnsembleStep& from, inference::ModelEnsembling::Step& to) {
  to.set_model_name(from.model);
  to.set_model_version(from.version.value_or(-1));
  for (const terms::EnsembleTensor& input : from.inputs) {
    (*to.mutable_input_map())[valid_utf8(input.name)] = valid_utf8(input.tensor);
  }
  for (const terms::EnsembleTensor& output : from.outputs) {
    (*to.mutable_output_map())[valid_utf8(output.name)] = valid_utf8(output.tensor);
  }
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
  if (from.declared->sequences) {
    to_proto(*from.declared->sequences, *to.mutable_sequence_batching());
  } else if (from.batch_rows > 0) {
    to.mutable_dynamic_batching()->add_preferred_batch_size(
        static_cast<std::int32_t>(std::min(from.batch_rows, kMost)));
  }
  for (const terms::EnsembleStep& step : from.declared->steps) {
    to_proto(step, *to.mutable_ensemble_scheduling()->add_step());
  }
  if (from.declared->steps.empty()) {  // the slots of an ensemble are its models'
    auto& group = *to.add_instance_group();
    group.set_name(name);
    group.set_count(static_cast<std::int32_t>(std::min(from.num_slots, kMost)));
    group.set_kind(inference::ModelInstanceGroup::KIND_CPU);
  }
  to.mutable_model_transaction_policy()->set_decoupled(from.is_decoupled);
  if (from.declared->keeps_replies) to.mutable_response_cache()->set_enable(true);
}

void to_proto(const terms::ModelStatistics& from, std::int64_t version,
              inference::ModelStatistics& to) {
  const open_inference::ModelCounts counts = open_inference::count(from);
  to.set_name(from.name);
  to.set_version(std::to_string(version));
  to.set_inference_count(static_cast<std::uint64_t>(counts.inferences));
  to.set_execution_count(static_cast<std::uint64_t>(counts.runs));
  to.set_last_inference(static_cast<std::uint64_t>(from.last_run_unix_ms));
  inference::InferStatistics& all = *to.mutable_inference_stats();
  set(*all.mutable_success(), counts.success);
  set(*all.mutable_fail(), counts.fail);
  set(*all.mutable_queue(), counts.queue);
  set(*all.mutable_compute_input(), counts.copy_in);
  set(*all.mutable_compute_infer(), counts.compute);
  set(*all.mutable_compute_output(), counts.copy_out);
  set(*all.mutable_cache_hit(), counts.hits);
  set(*all.mutable_cache_miss(), counts.misses);
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

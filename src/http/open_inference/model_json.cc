// Names and shapes of the objects are those that Triton gives its messages ModelMetadata,
// ModelConfig and ModelStatistics in JSON: its clients read them by name.

#include "http/open_inference/model_json.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

#include "http/json_text.h"
#include "open_inference/datatypes.h"

namespace sluice::http {
namespace {

using nlohmann::json;
using open_inference::TensorDescription;

json describe(const std::vector<TensorDescription>& tensors) {
  json list = json::array();
  for (const TensorDescription& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"datatype", open_inference::datatype_name(tensor.element)},
                    {"shape", tensor.shape}});
  }
  return list;
}

json configure(const TensorDescription& tensor) {
  return {{"name", tensor.name},
          {"data_type", open_inference::config_type(tensor.element)},
          {"dims", tensor.config_dims}};
}

json configure_inputs(const std::vector<TensorDescription>& inputs) {
  json list = json::array();
  for (const TensorDescription& input : inputs) {
    list.push_back(configure(input));
    list.back()["format"] = input.format;
    if (input.is_optional) list.back()["optional"] = true;
  }
  return list;
}

json configure_outputs(const std::vector<TensorDescription>& outputs) {
  json list = json::array();
  for (const TensorDescription& output : outputs) {
    list.push_back(configure(output));
    list.back()["label_filename"] = output.label_filename;
  }
  return list;
}

json policy_json(const terms::VersionPolicy& policy) {
  switch (policy.kind) {
    case terms::VersionPolicy::Kind::kAll: return {{"all", json::object()}};
    case terms::VersionPolicy::Kind::kSpecific:
      return {{"specific", {{"versions", policy.versions}}}};
    case terms::VersionPolicy::Kind::kLatest: break;
  }
  return {{"latest", {{"num_versions", policy.num_latest}}}};
}

json parameters_json(const std::map<std::string, std::string>& parameters) {
  json object = json::object();
  for (const auto& [key, value] : parameters) object[key] = {{"string_value", value}};
  return object;
}

json control_json(const terms::SequenceControl& control) {
  using Kind = terms::SequenceControl::Kind;
  switch (control.kind) {
    case Kind::kStart:
    case Kind::kReady:
    case Kind::kEnd: break;
    case Kind::kCorrelationId:
      return {{"kind", "CONTROL_SEQUENCE_CORRID"},
              {"data_type", open_inference::config_type(control.element)}};
  }
  json made = {{"kind", control.kind == Kind::kStart   ? "CONTROL_SEQUENCE_START"
                        : control.kind == Kind::kReady ? "CONTROL_SEQUENCE_READY"
                                                       : "CONTROL_SEQUENCE_END"}};
  // Triton has a pair per type, and the false value first; exactly one pair may be present.
  if (control.element == ir::ElementType::kI32) {
    made["int32_false_true"] = {static_cast<std::int32_t>(control.false_value),
                                static_cast<std::int32_t>(control.true_value)};
  } else if (control.element == ir::ElementType::kF32) {
    made["fp32_false_true"] = {control.false_value, control.true_value};
  } else {
    made["bool_false_true"] = {control.false_value != 0, control.true_value != 0};
  }
  return made;
}

json state_json(const terms::SequenceState& state) {
  json made = {{"input_name", state.input},
               {"output_name", state.output},
               {"data_type", open_inference::config_type(state.element)},
               {"dims", state.dims}};
  if (state.initial_dims.empty() && state.data_file.empty()) return made;
  json initial = {{"data_type", open_inference::config_type(state.element)},
                  {"dims", state.initial_dims}};
  if (state.data_file.empty()) {
    initial["zero_data"] = true;
  } else {
    initial["data_file"] = state.data_file;
  }
  made["initial_state"] = json::array({initial});
  return made;
}

json sequences_json(const terms::SequenceRules& rules) {
  json made = {{"max_sequence_idle_microseconds", rules.max_idle_us},
               {"control_input", json::array()},
               {"state", json::array()}};
  if (rules.is_oldest) {
    made["oldest"] = {{"max_candidate_sequences", rules.max_candidates}};
  } else {
    made["direct"] = json::object();
  }
  for (const terms::SequenceControl& control : rules.controls) {
    made["control_input"].push_back(
        {{"name", control.input}, {"control", json::array({control_json(control)})}});
  }
  for (const terms::SequenceState& state : rules.states) {
    made["state"].push_back(state_json(state));
  }
  return made;
}

json map_json(const std::vector<terms::EnsembleTensor>& tensors) {
  json object = json::object();
  for (const terms::EnsembleTensor& tensor : tensors) object[tensor.name] = tensor.tensor;
  return object;
}

json steps_json(const std::vector<terms::EnsembleStep>& steps) {
  json list = json::array();
  for (const terms::EnsembleStep& step : steps) {
    list.push_back({{"model_name", step.model},
                    {"model_version", step.version.value_or(-1)},  // -1: the policy's choice
                    {"input_map", map_json(step.inputs)},
                    {"output_map", map_json(step.outputs)}});
  }
  return list;
}

json times_json(const open_inference::ModelCounts::Times& times) {
  return {{"count", times.count}, {"ns", times.ns}};
}

}  // namespace

std::string metadata_json(const open_inference::ModelDescription& model, const std::string& name) {
  json versions = json::array();
  for (const std::int64_t version : model.versions) versions.push_back(std::to_string(version));
  return json_text({{"name", name},
                    {"versions", versions},
                    {"platform", model.platform},
                    {"inputs", describe(model.inputs)},
                    {"outputs", describe(model.outputs)}});
}

std::string config_json(const open_inference::ModelDescription& model, const std::string& name) {
  json config = {{"name", name},
                 {"platform", model.platform},
                 {"backend", model.backend},
                 {"version_policy", policy_json(model.declared->policy)},
                 {"max_batch_size", model.max_batch_size},
                 {"input", configure_inputs(model.inputs)},
                 {"output", configure_outputs(model.outputs)},
                 {"default_model_filename", model.declared->file_name},
                 {"parameters", parameters_json(model.declared->parameters)},
                 {"model_transaction_policy", {{"decoupled", model.is_decoupled}}}};
  if (model.declared->steps.empty()) {  // the slots of an ensemble are its models'
    config["instance_group"] = {{{"name", name}, {"count", model.num_slots}, {"kind", "KIND_CPU"}}};
  } else {
    config["ensemble_scheduling"] = {{"step", steps_json(model.declared->steps)}};
  }
  if (model.declared->keeps_replies) config["response_cache"] = {{"enable", true}};
  if (model.declared->sequences) {
    config["sequence_batching"] = sequences_json(*model.declared->sequences);
  } else if (model.batch_rows > 0) {
    config["dynamic_batching"] = {{"preferred_batch_size", {model.batch_rows}}};
  }
  return json_text(config);
}

json runs_json(const std::vector<terms::RunCount>& runs) {
  json list = json::array();
  for (const terms::RunCount& run : runs) {
    if (run.rows == 0) continue;
    list.push_back({{"batch_size", run.rows},
                    {"compute_input", times_json({run.count, run.copy_in_ns})},
                    {"compute_infer", times_json({run.count, run.compute_ns})},
                    {"compute_output", times_json({run.count, run.copy_out_ns})}});
  }
  return list;
}

std::string statistics_json(const service::Service& service,
                            const std::vector<terms::ModelStatistics>& models) {
  json list = json::array();
  for (const terms::ModelStatistics& model : models) {
    const open_inference::ModelCounts counts = open_inference::count(model);
    list.push_back(
        {{"name", model.name},
         {"version", std::to_string(service.version_of(terms::ModelHandle{model.model}))},
         {"last_inference", model.last_run_unix_ms},
         {"inference_count", counts.inferences},
         {"execution_count", counts.runs},
         {"inference_stats",
          {{"success", times_json(counts.success)},
           {"fail", times_json(counts.fail)},
           {"queue", times_json(counts.queue)},
           {"compute_input", times_json(counts.copy_in)},
           {"compute_infer", times_json(counts.compute)},
           {"compute_output", times_json(counts.copy_out)},
           {"cache_hit", times_json(counts.hits)},
           {"cache_miss", times_json(counts.misses)}}},
         {"batch_stats", runs_json(model.runs)}});
  }
  return json_text({{"model_stats", list}});
}

std::string index_json(const std::vector<repository::IndexEntry>& models) {
  json list = json::array();
  for (const repository::IndexEntry& model : models) {
    list.push_back({{"name", model.name}, {"state", model.state}, {"reason", model.reason}});
    if (model.version > 0) list.back()["version"] = std::to_string(model.version);
  }
  return json_text(list);
}

}  // namespace sluice::http

#include "http/open_inference/model_json.h"

#include <nlohmann/json.hpp>

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

json configure(const std::vector<TensorDescription>& tensors, bool joins) {
  json list = json::array();
  for (const TensorDescription& tensor : tensors) {
    const auto dims = tensor.config_dims(joins);
    list.push_back({{"name", tensor.name},
                    {"data_type", open_inference::config_type(tensor.element)},
                    {"dims", std::vector(dims.begin(), dims.end())}});
    if (tensor.is_optional) list.back()["optional"] = true;
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
                    {"platform", open_inference::kServerName},
                    {"inputs", describe(model.inputs)},
                    {"outputs", describe(model.outputs)}});
}

std::string config_json(const open_inference::ModelDescription& model, const std::string& name) {
  json config = {
      {"name", name},
      {"platform", open_inference::kServerName},
      {"backend", open_inference::kServerName},
      {"version_policy", {{"latest", {{"num_versions", 1}}}}},
      {"max_batch_size", model.max_batch_size},
      {"input", configure(model.inputs, model.joins())},
      {"output", configure(model.outputs, model.joins())},
      {"instance_group", {{{"name", name}, {"count", model.depth}, {"kind", "KIND_CPU"}}}},
      {"model_transaction_policy", {{"decoupled", false}}}};
  if (model.joins()) config["dynamic_batching"] = json::object();
  return json_text(config);
}

std::string statistics_json(const service::Service& service,
                            const std::vector<terms::ModelStatistics>& models) {
  json list = json::array();
  for (const terms::ModelStatistics& model : models) {
    const open_inference::ModelCounts counts = open_inference::count(model);
    list.push_back(
        {{"name", model.name},
         {"version", std::to_string(service.version_of(terms::ModelHandle{model.model}))},
         {"last_inference", 0},
         {"inference_count", counts.success.count},
         {"execution_count", counts.compute.count},
         {"inference_stats",
          {{"success", times_json(counts.success)},
           {"fail", times_json(counts.fail)},
           {"queue", times_json(counts.queue)},
           {"compute_input", times_json(counts.copy)},
           {"compute_infer", times_json(counts.compute)},
           {"compute_output", times_json({})}}},
         {"batch_stats", json::array()}});
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

// What the Open Inference Protocol says of models, as JSON.
#pragma once

#include <string>

#include "open_inference/model_description.h"

namespace sluice::http {

std::string metadata_json(const open_inference::ModelDescription& model, const std::string& name);
std::string config_json(const open_inference::ModelDescription& model, const std::string& name);
std::string statistics_json(const std::vector<terms::ModelStatistics>& models);
std::string index_json(const std::vector<terms::ModelEntry>& models);

}  // namespace sluice::http

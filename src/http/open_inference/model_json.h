// What the Open Inference Protocol says of models, as JSON.
#pragma once

#include <string>
#include <vector>

#include "open_inference/model_description.h"
#include "repository/repository.h"
#include "service/service.h"

namespace sluice::http {

std::string metadata_json(const open_inference::ModelDescription& model, const std::string& name);
std::string config_json(const open_inference::ModelDescription& model, const std::string& name);
/// The versions are the service's.
std::string statistics_json(const service::Service& service,
                            const std::vector<terms::ModelStatistics>& models);
std::string index_json(const std::vector<repository::IndexEntry>& models);

}  // namespace sluice::http

// What the Open Inference Protocol says of models, as messages.
#pragma once

#include "open_inference/model_description.h"
#include "proto/open_inference/service.pb.h"
#include "repository/repository.h"
#include "terms/server/statistics.h"

namespace sluice::rpc::server {

void to_proto(const open_inference::ModelDescription& from, const std::string& name,
              inference::ModelMetadataResponse& to);
void to_proto(const open_inference::ModelDescription& from, const std::string& name,
              inference::ModelConfig& to);
void to_proto(const terms::ModelStatistics& from, std::int64_t version,
              inference::ModelStatistics& to);
void to_proto(const repository::IndexEntry& from,
              inference::RepositoryIndexResponse::ModelIndex& to);

}  // namespace sluice::rpc::server

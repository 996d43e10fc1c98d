// A configuration beside the model that it describes.
#pragma once

#include "base/status.h"
#include "repository/config/model_config.h"
#include "terms/tensors/signature.h"

namespace sluice::repository {

/// Whether the model has the tensors that its configuration names. Fails: kInvalidArgument.
Status check_tensors(const ModelConfig& config, const terms::Signature& signature);

}  // namespace sluice::repository

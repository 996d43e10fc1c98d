// Options of a load as JSON: in the file of kept models, and in what a worker is told.
#pragma once

#include "base/json/json_reader.h"
#include "terms/load.h"

namespace sluice::terms {

/// All options but `group`, which means nothing outside its process. An option without a value has
/// no field.
nlohmann::ordered_json to_json(const LoadOptions& options);
/// Fails: kInvalidArgument, naming a field of a wrong type or out of range.
Result<LoadOptions> load_options_from_json(const JsonValue& value);

}  // namespace sluice::terms

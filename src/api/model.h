// What the handles of sluice/sluice.h stand for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/loaded_model.h"
#include "sluice/sluice.h"

namespace sluice::api {

/// A spec in C, with the memory it points to.
struct SpecStorage {
  std::string name;
  std::string type;
  std::vector<std::int64_t> dims;
  sluice_tensor_spec spec = {};
};

/// Shared by the handle and by contexts, whichever lives longer.
struct OpenModel {
  exec::LoadedModel loaded;
  std::vector<std::unique_ptr<SpecStorage>> inputs;
  std::vector<std::unique_ptr<SpecStorage>> outputs;
};

Result<std::shared_ptr<const OpenModel>> open_model(const char* path,
                                                    const sluice_open_options* options);

}  // namespace sluice::api

struct sluice_model {
  std::shared_ptr<const sluice::api::OpenModel> open;
};

struct sluice_context {
  std::shared_ptr<const sluice::api::OpenModel> open;
  sluice::exec::Context context;
};

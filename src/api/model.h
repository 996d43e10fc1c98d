// What the handles of sluice/sluice.h stand for.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "api/context_control.h"
#include "api/model_language.h"
#include "api/tensors.h"
#include "exec/loaded_model.h"
#include "sluice/sluice.h"

namespace sluice::api {

/// Shared by the handle and by contexts, whichever lives longer.
struct OpenModel {
  exec::LoadedModel loaded;
  std::vector<std::unique_ptr<SpecStorage>> inputs;
  std::vector<std::unique_ptr<SpecStorage>> outputs;
  std::unique_ptr<const ModelLanguage> language;
};

/// Loads the package in `file`, aligned to a cache line, whose lifetime the model shares. Errors
/// name `source`.
Result<std::shared_ptr<const OpenModel>> open_model(const Bytes& file, std::string_view source,
                                                    const sluice_open_options* options);

/// As find_spec among the model's inputs; the error names an option that may make `name` one.
Result<std::size_t> find_input(const OpenModel& open, const char* name);

}  // namespace sluice::api

struct sluice_model {
  std::shared_ptr<const sluice::api::OpenModel> open;
};

struct sluice_context {
  std::shared_ptr<const sluice::api::OpenModel> open;
  sluice::exec::Context context;
  bool has_run = false;                  // once, successfully
  sluice::terms::TensorView given = {};  // scratch of sluice_context_set_input
  sluice::api::ContextControl control = {};
};

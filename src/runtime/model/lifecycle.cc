#include "runtime/model/lifecycle.h"

#include "runtime/request/runtime_code.h"

namespace sluice::runtime {
namespace {

Status refused(std::string_view text) { return runtime_error(RuntimeCode::kFailed, "{}", text); }

Result<ModelPhase> started_from(ModelPhase phase) {
  switch (phase) {
    case ModelPhase::kLoaded:
    case ModelPhase::kStopped: return ModelPhase::kStarted;
    case ModelPhase::kStarted: return refused("the model is started already");
    case ModelPhase::kFailed:
      return runtime_error(RuntimeCode::kModelFailed, "the model has failed; reset it first");
    case ModelPhase::kUnloaded: break;
  }
  return refused("the model is unloaded; load it again");
}

}  // namespace

std::string_view phase_name(ModelPhase phase) {
  switch (phase) {
    case ModelPhase::kLoaded: return "loaded";
    case ModelPhase::kStarted: return "started";
    case ModelPhase::kStopped: return "stopped";
    case ModelPhase::kFailed: return "failed";
    case ModelPhase::kUnloaded: break;
  }
  return "unloaded";
}

Result<ModelPhase> next_phase(ModelPhase phase, ModelAction action) {
  if (phase == ModelPhase::kUnloaded) return refused("the model is unloaded; load it again");
  switch (action) {
    case ModelAction::kStart: return started_from(phase);
    case ModelAction::kStop:
      if (phase == ModelPhase::kStarted) return ModelPhase::kStopped;
      if (phase == ModelPhase::kFailed) {
        return runtime_error(RuntimeCode::kModelFailed, "the model has failed; reset or unload it");
      }
      return refused("the model is not started; there is nothing to stop");
    case ModelAction::kReset:
      if (phase == ModelPhase::kFailed) return ModelPhase::kStopped;
      return refused("the model has not failed; there is nothing to reset");
    // A device can fail in any phase, also while its model is stopped.
    case ModelAction::kFail: return ModelPhase::kFailed;
    case ModelAction::kUnload: break;
  }
  return ModelPhase::kUnloaded;
}

}  // namespace sluice::runtime

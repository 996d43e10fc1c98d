#include "runtime/model/lifecycle.h"

#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

Status refused(std::string_view text) {
  return terms::runtime_error(RuntimeCode::kFailed, "{}", text);
}

Result<terms::ModelPhase> started_from(terms::ModelPhase phase) {
  switch (phase) {
    case terms::ModelPhase::kLoaded:
    case terms::ModelPhase::kStopped: return terms::ModelPhase::kStarted;
    case terms::ModelPhase::kStarted: return refused("the model is started already");
    case terms::ModelPhase::kFailed:
      return terms::runtime_error(RuntimeCode::kModelFailed,
                                  "the model has failed; reset it first");
    case terms::ModelPhase::kUnloaded: break;
  }
  return refused("the model is unloaded; load it again");
}

}  // namespace

Result<terms::ModelPhase> next_phase(terms::ModelPhase phase, ModelAction action) {
  if (phase == terms::ModelPhase::kUnloaded) return refused("the model is unloaded; load it again");
  switch (action) {
    case ModelAction::kStart: return started_from(phase);
    case ModelAction::kStop:
      if (phase == terms::ModelPhase::kStarted) return terms::ModelPhase::kStopped;
      if (phase == terms::ModelPhase::kFailed) {
        return terms::runtime_error(RuntimeCode::kModelFailed,
                                    "the model has failed; reset or unload it");
      }
      return refused("the model is not started; there is nothing to stop");
    case ModelAction::kReset:
      if (phase == terms::ModelPhase::kFailed) return terms::ModelPhase::kStopped;
      return refused("the model has not failed; there is nothing to reset");
    // A device can fail in any phase, also while its model is stopped.
    case ModelAction::kFail: return terms::ModelPhase::kFailed;
    case ModelAction::kUnload: break;
  }
  return terms::ModelPhase::kUnloaded;
}

}  // namespace sluice::runtime

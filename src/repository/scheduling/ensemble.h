// An ensemble: models that a request runs one after the other, as a config.pbtxt lists them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "repository/text_format/text_format.h"
#include "sandbox/graph/graph_plan.h"
#include "terms/server/declared_model.h"

namespace sluice::repository {

/// What an ensemble has in place of a platform.
inline constexpr std::string_view kEnsemblePlatform = "ensemble";

/// The steps of the field ensemble_scheduling. Calls `ignore` with fields that have no effect.
/// Fails: kInvalidArgument naming the line.
Result<std::vector<terms::EnsembleStep>> read_ensemble(
    const TextField& field, const std::function<void(const TextField&)>& ignore);

/// The graph of an ensemble. A node is a step, and its name says the step's model and line.
struct EnsembleGraph {
  terms::GraphRequest request;
  sandbox::GraphNames names;
};

/// Fails: kInvalidArgument naming the line, for a tensor that two write, that is read and nobody
///        writes, or that is an input nobody reads; for inputs and outputs that are not declared;
///        and for more steps than a graph has nodes.
Result<EnsembleGraph> graph_of(const terms::DeclaredModel& ensemble);

}  // namespace sluice::repository

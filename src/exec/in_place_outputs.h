// Outputs that the kernels of a range may write to the memory of an input: a state that each run
// changes, such as a cache of keys.
//
// A caller may bind an output to the memory of an input. The run then gives the same results as
// with memory apart: the executor writes such an output in place if the pair is one of these, and
// otherwise to memory of its own, from which it copies the output after the last step.
#pragma once

#include <vector>

#include "exec/range_plan.h"

namespace sluice::exec {

/// The pairs of a range that covers the whole subgraph; none for other ranges. In each, the output
/// is result 0 of a step whose kernel may overwrite the operand that is the input, both have the
/// same size, and nothing reads the input's memory later or by another operand of the step.
std::vector<InPlaceOutput> find_in_place_outputs(const SubgraphCode& code, const RangePlan& plan);

}  // namespace sluice::exec

// If: runs one of two subgraphs.
#include "exec/context/step.h"

namespace sluice::exec {

Status run_if(StepCall& call) {
  const bool condition = SLUICE_TRY(call.integer(0)) != 0;
  Frame& branch = call.callee(condition ? "then_branch" : "else_branch");
  SLUICE_TRY(call.pass_captures(branch));
  SLUICE_TRY(call.run(branch));
  for (std::size_t i = 0; i < call.operation().outputs.size(); ++i) {
    SLUICE_TRY(call.give_output(i, branch, i));
  }
  return ok_status();
}

}  // namespace sluice::exec

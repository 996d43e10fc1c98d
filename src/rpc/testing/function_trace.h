// The functions that a thread enters during one call, recorded from outside: a parent process steps
// its child instruction by instruction. Linux on x86-64, unsanitised builds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::rpc::testing {

/// Why this build or machine cannot trace; empty: it can.
std::string why_no_trace();

struct TraceStep {
  std::string function;
  bool is_call = false;  ///< else a return to the function
};

/// Runs `prepare`, then `work`, in a child process. Returns the functions of the namespace `sluice`
/// through which the thread that enters `function` passes until it leaves it. Functions that the
/// compiler inlined do not appear. `prepare` and `work` return whether they succeeded.
///
/// Requires: no thread but the caller's. `function`: the start of a demangled name, of one
/// function. Fails: kUnavailable where the system does not let a process trace its child;
/// kInternal.
Result<std::vector<TraceStep>> trace_call(const std::string& function,
                                          const std::function<bool()>& prepare,
                                          const std::function<bool()>& work);

}  // namespace sluice::rpc::testing

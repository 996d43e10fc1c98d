// Models in use when a process forks or its interpreter ends.
#pragma once

#include <cstdint>

namespace sluice::python {

/// Number of forks between the first process and this one. A model's worker threads exist only in
/// the process that loaded it.
std::uint32_t fork_generation();

/// Throws Failure (FAILED_PRECONDITION) unless `generation` is that of this process.
void require_process(std::uint32_t generation);

/// Registers the handler that counts forks. Called once, on import.
void watch_forks();

/// A call that runs without the GIL. Fails with RuntimeError's code once the interpreter ends: the
/// thread could not take the GIL again.
class NativeCall {
 public:
  NativeCall();
  ~NativeCall();
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;
};

/// Refuses calls from now on and waits for those that run. Called by atexit, without the GIL.
void end_calls();

}  // namespace sluice::python

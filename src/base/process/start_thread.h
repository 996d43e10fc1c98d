// Threads that the system may refuse.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/result.h"

namespace sluice {

/// A limit of the account or of a container on threads is met by an exception of the standard
/// library, which must not end a process that serves others.
/// Fails: kResourceExhausted.
template <typename Work>
Result<std::thread> start_thread(Work work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return make_error(Code::kResourceExhausted, "the system gives this process no more threads: {}",
                      error.code().message());
  }
}

}  // namespace sluice

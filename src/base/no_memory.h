// Turns a failed allocation into an error.
#pragma once

#include <new>
#include <stdexcept>
#include <system_error>

#include "base/status.h"

namespace sluice {

/// Calls `work`, which returns a Status or a Result. The standard library reports a failed
/// allocation, and a thread that the system refuses, by an exception; sizes and numbers that
/// outsiders choose make them reachable, so what serves one request stands in here and fails alone.
/// `work` leaves its objects fit for destruction. Fails: as `work`; kResourceExhausted.
template <typename Work>
auto catch_no_memory(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return make_error(Code::kResourceExhausted, "the process has no memory left for this");
  } catch (const std::system_error& error) {
    return make_error(Code::kResourceExhausted, "the system has no resources left for this: {}",
                      error.what());
  } catch (const std::length_error&) {
    return make_error(Code::kResourceExhausted, "a size is larger than memory can be");
  }
}

}  // namespace sluice

// Memory of a local runtime that its requests use in place.
#pragma once

#include "api/runtime/runtime.h"

namespace sluice::api {

/// Zeroed pages, which take memory when they are first touched.
/// Fails: kInvalidArgument for a size that is not positive; kResourceExhausted.
Result<SharedMemory> allocate_pages(std::int64_t size_bytes);

}  // namespace sluice::api

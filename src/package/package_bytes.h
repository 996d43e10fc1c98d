// A `.sluice` file in memory.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "package/executable.h"

namespace sluice::package {

/// The bytes that write_package would write, aligned to a page; parse_package reads them.
/// Fails: kResourceExhausted without memory for them.
Result<Bytes> package_bytes(const Executable& executable);

}  // namespace sluice::package

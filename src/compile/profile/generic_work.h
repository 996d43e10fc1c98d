// Which operations of a compiled graph generic kernels run, and how much of its time that is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backend/backend.h"
#include "package/executable.h"

namespace sluice::compile {

/// A warning that names the operations of generic kernels and estimates their share of the time of
/// a run; nullopt below 1 % or 20 us, as of arithmetic on shapes. The estimate counts what the
/// operands of each operation hold (exec::estimate_work); a dimension that only a run knows counts
/// as 32, and bodies of control flow count once. `backends`: those of `executable`, by number.
std::optional<std::string> warn_of_generic_work(
    const package::Executable& executable,
    std::span<const std::shared_ptr<const backend::Backend>> backends);

}  // namespace sluice::compile

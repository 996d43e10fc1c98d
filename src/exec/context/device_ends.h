// Inputs and outputs of a run in memory of the device that computes it, such as tensors of another
// library on the same GPU. The lists of a device of own memory copy them as they copy those of the
// host: the plug-in tells by the address where a tensor lies.
#pragma once

#include "exec/context/context_state.h"

namespace sluice::exec {

/// Whether nothing of a run but copies on `device` reads inputs and writes outputs.
/// Fails: kFailedPrecondition for a model whose shapes a run decides, one that does not run wholly
///        on that device of own memory, or that gives an input or a constant as an output
Status check_device_ends(const ContextState& state, const DeviceName& device);

/// Whether a tensor can be in these bytes of the device that runs the model.
/// Requires: check_device_ends. `end`: "input" or "output", `name` its name.
/// Fails: kInvalidArgument for bytes that are not aligned, or not all memory of the device;
///        kFailedPrecondition for a plug-in that takes no memory of others
Status check_device_memory(const ContextState& state, std::string_view end, std::string_view name,
                           const void* data, std::int64_t size_bytes);

/// The same for all that are bound: their owners may have freed them since.
Status check_bound_memory(const ContextState& state);

}  // namespace sluice::exec

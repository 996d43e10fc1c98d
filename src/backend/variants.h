// In which ways a plug-in can compute an operation, from plug-ins that can tell.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "sluice/variants.h"

namespace sluice::backend {

/// The attribute of an operation that says in which way it is computed.
inline constexpr std::string_view kVariantAttribute = SLUICE_VARIANT_ATTRIBUTE;

/// Names of the ways, beside the backend's own choice, in which `num_cores` cores can compute `op`;
/// those first that are likely to be faster. Empty where the plug-in lacks the extension
/// "sluice.variants/1". Requires: all dimensions of `op` are known.
/// Fails: as the plug-in says; kInternal for names that are none.
Result<std::vector<std::string>> list_variants(const Backend& backend, const Op& op, int num_cores);

}  // namespace sluice::backend

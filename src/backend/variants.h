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

/// While it lives, lists that this thread submits to the backend do not adapt to how busy the
/// machine is, so that what they take can be compared. Nothing happens where the plug-in lacks the
/// extension. Lives and dies on one thread, one at a time for each backend.
class SteadyRuns {
 public:
  explicit SteadyRuns(const Backend& backend);
  ~SteadyRuns();
  SteadyRuns(const SteadyRuns&) = delete;
  SteadyRuns& operator=(const SteadyRuns&) = delete;

 private:
  const Backend& backend_;
};

}  // namespace sluice::backend

// The tactics that a plug-in offers for an operation.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "sluice/extensions/variants.h"

namespace sluice::backend {

/// The attribute of an operation that names its tactic.
inline constexpr std::string_view kVariantAttribute = SLUICE_VARIANT_ATTRIBUTE;

/// Names of the tactics for `op` on `num_cores` cores, besides the backend's default; likely faster
/// ones first. Empty if the plug-in lacks the extension "sluice.variants/1".
/// Requires: all dimensions of `op` are known.
/// Fails: as the plug-in says; kInternal for names that are none.
Result<std::vector<std::string>> list_variants(const Backend& backend, const Op& op, int num_cores);

/// While it lives, command lists that this thread submits to the backend do not adapt to CPU
/// contention, so that their times can be compared. No effect if the plug-in lacks the extension.
/// Lives and dies on one thread, one at a time for each backend.
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

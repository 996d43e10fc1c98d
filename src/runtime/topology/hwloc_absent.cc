// In place of hwloc_source.cc in a build without hwloc.
#include "runtime/topology/sources.h"

namespace sluice::runtime {

Result<Findings> find_hwloc(const HwlocInput& /*input*/) {
  return make_error(Code::kUnavailable,
                    "built without hwloc (SLUICE_HWLOC=OFF): processors are told by plug-ins only");
}

}  // namespace sluice::runtime

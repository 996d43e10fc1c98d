// In place of hwloc_source.cc in a build without hwloc.
#include "topology/discovery/sources.h"

namespace sluice::topology {

Result<Findings> find_hwloc(const HwlocInput& /*input*/) {
  return make_error(Code::kUnavailable,
                    "built without hwloc (SLUICE_HWLOC=OFF): plug-ins alone report processors");
}

}  // namespace sluice::topology

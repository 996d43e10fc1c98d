// A profile as the page draws it.
#pragma once

#include <cstddef>
#include <string>

#include "terms/server/profile.h"

namespace sluice::page {

/// The drawing has so many of the newest spans at most.
inline constexpr std::size_t kMaxShownSpans = 2000;

/// {"num_requests", "operations": [{"name", "count", "sum_ns"}], "timeline": {"duration_ns",
/// "num_spans", "num_dropped", "tracks": [{"group", "model", "what", "cores", "count", "sum_ns",
/// "busy_ns"}], "names", "spans": [[track, is_operation, start_ns, duration_ns, request, name]]}}
///
/// `duration_ns` is the time of which the profile has every span: the recording, or where older
/// spans were dropped, what followed the end of the oldest. `busy_ns` is a track's share of it.
/// Operations: sums by name, the longest first. A model has a track for its queue and one per lane
/// that did something; operations lie on their segment's. Spans are in the order of their starts,
/// which count from the first; `name` is an index, -1 but for an operation.
/// Requires: every index of the profile is valid.
std::string profile_json(const terms::Profile& profile);

}  // namespace sluice::page

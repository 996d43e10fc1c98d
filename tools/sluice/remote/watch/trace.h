// A profile as Chrome's trace event format in JSON, which ui.perfetto.dev opens:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <ostream>

#include "terms/server/profile.h"

namespace sluice::tool {

/// A process per core group, a thread per lane of a model (its copies, its segments); operations
/// lie within their segment; requests, which overlap, are asynchronous slices with their time in
/// the queue within; arrows lead from a request's stage to its next. Times are microseconds since
/// the first span. All names are escaped.
/// Requires: every index of the profile is valid.
void write_trace(const terms::Profile& profile, std::ostream& to);

}  // namespace sluice::tool

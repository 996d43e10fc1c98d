// Where the time of a run went: as a table, as a trace for Perfetto, as a picture.
#pragma once

#include <span>
#include <string>

#include "exec/executors/run_trace.h"
#include "ir/graph.h"

namespace sluice::tool {

/// A line per step, the slowest first, with its share and its line in the source. A command
/// list has one line if its backend reports no steps.
std::string profile_table(std::span<const exec::ListTime> lists, const ir::Graph& graph);

/// JSON of Chrome's trace events, which ui.perfetto.dev opens: a thread per stream, on it the
/// command lists and within them kernels and copies.
std::string profile_trace(std::span<const exec::ListTime> lists);

/// SVG over time: for each stream a row of command lists above a row of their steps. Titles give
/// names and times.
std::string profile_flame(std::span<const exec::ListTime> lists);

}  // namespace sluice::tool

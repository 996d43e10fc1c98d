#include "compile/cut.h"

#include <algorithm>

#include "base/text/plural.h"
#include "compile/link/link_graphs.h"

namespace sluice::compile {
namespace {

Result<std::uint32_t> find_position(const ir::Subgraph& main, const std::string& name) {
  std::vector<std::uint32_t> positions;
  for (std::size_t position = 0; position < main.order().size(); ++position) {
    if (main.operation(main.order()[position]).name == name) {
      positions.push_back(static_cast<std::uint32_t>(position));
    }
  }
  if (positions.size() == 1) return positions.front();
  return invalid_argument(
      "cannot cut at \"{}\": {} operations of the compiled graph have that name; \"sluice inspect "
      "--text\" shows them",
      name, positions.empty() ? "no" : "several");
}

/// Starts a segment at `position`, or names the one that starts there.
void cut_at(std::uint32_t position, const std::string& name,
            std::vector<package::SegmentSpec>& segments) {
  const auto at =
      std::ranges::lower_bound(segments, position, {}, &package::SegmentSpec::first_operation);
  if (at != segments.end() && at->first_operation == position) {
    at->name = name;
  } else {
    // The default of one core; set_cores() replaces it if the user gives any.
    segments.insert(at, {name, position, 1});
  }
}

std::string names_of(std::span<const package::SegmentSpec> segments) {
  std::string names;
  for (const package::SegmentSpec& segment : segments) {
    names += (names.empty() ? "\"" : ", \"") + segment.name + "\"";
  }
  return names;
}

/// The backend of the operations in [first, end); "none" if the executor runs all of them.
std::string backend_of(const package::Executable& executable, std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    const std::int16_t number = executable.backend_of[0][i];
    if (number >= 0) return executable.backends[static_cast<std::size_t>(number)];
  }
  return "none";
}

/// Cores are given for all segments or none: a list that is too short would leave open which
/// segment it means.
Status set_cores(std::span<const std::int32_t> cores, std::vector<package::SegmentSpec>& segments) {
  if (cores.empty()) return ok_status();
  if (cores.size() != segments.size()) {
    return invalid_argument("cores are given for {} segments, the model has {}: {}", cores.size(),
                            segments.size(), names_of(segments));
  }
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (cores[i] < 0) {
      return invalid_argument("segment \"{}\" cannot have {} cores", segments[i].name, cores[i]);
    }
    if (cores[i] == 0 && segments.size() > 1) {
      return invalid_argument(
          "segment \"{}\" cannot take all cores that are free (0), because the model has {} "
          "segments",
          segments[i].name, segments.size());
    }
    segments[i].cores = cores[i];
  }
  return ok_status();
}

Status check_shares(const package::Executable& executable, double min_share) {
  std::vector<int> counts(executable.backends.size(), 0);
  int total = 0;
  // The main subgraph alone: bodies run within the segment of the operation that has them.
  for (const std::int16_t number : executable.backend_of[0]) {
    if (number < 0) continue;
    ++counts[static_cast<std::size_t>(number)];
    ++total;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double share = static_cast<double>(counts[i]) / std::max(total, 1);
    if (counts[i] == 0 || share >= min_share) continue;
    return invalid_argument(
        "backend \"{}\" runs {} of {} operations, {:.1f} %; at least {:.1f} % are required: place "
        "more on it, none with --place, or lower --min-share",
        executable.backends[i], counts[i], total, share * 100, min_share * 100);
  }
  return ok_status();
}

}  // namespace

Result<std::vector<package::SegmentSpec>> cut_segments(const package::Executable& executable,
                                                       std::span<const std::string> cuts,
                                                       std::span<const std::int32_t> cores) {
  const auto models = model_starts(executable.graph);
  if (cuts.empty() && cores.empty() && models.empty()) return std::vector<package::SegmentSpec>();
  // The segments so far: one starts wherever the backend changes. Those below split them.
  auto segments = SLUICE_TRY(package::segments_of(executable));
  for (const auto& [model, start] : models) {
    cut_at(static_cast<std::uint32_t>(start), model, segments);
  }
  for (const std::string& cut : cuts) {
    cut_at(SLUICE_TRY(find_position(executable.graph.main(), cut)), cut, segments);
  }
  SLUICE_TRY(set_cores(cores, segments));
  return segments;
}

Status check_limits(const package::Executable& executable, const PartitionLimits& limits) {
  const auto segments = SLUICE_TRY(package::segments_of(executable));
  if (limits.max_segments > 0 && static_cast<int>(segments.size()) > limits.max_segments) {
    return invalid_argument(
        "the model falls into {} segments, at most {} are allowed: {}; place the operations "
        "between two segments of one backend on it too, or raise --max-segments",
        segments.size(), limits.max_segments, names_of(segments));
  }
  SLUICE_TRY(check_shares(executable, limits.min_share));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::size_t first = segments[i].first_operation;
    const std::size_t end =
        i + 1 < segments.size() ? segments[i + 1].first_operation : executable.backend_of[0].size();
    if (static_cast<int>(end - first) >= limits.min_operations) continue;
    const ir::Subgraph& main = executable.graph.main();
    return invalid_argument(
        "segment \"{}\" has {}, the first is {} on backend \"{}\"; at least {} are "
        "required: place its operations on a neighbour's backend, or lower --min-segment",
        segments[i].name, counted(end - first, "operation"),
        main.operation(main.order()[first]).describe(), backend_of(executable, first, end),
        limits.min_operations);
  }
  return ok_status();
}

}  // namespace sluice::compile

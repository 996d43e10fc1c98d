#include "compile/cut.h"

#include <algorithm>
#include <utility>

namespace sluice::compile {
namespace {

Result<std::uint32_t> find_place(const ir::Subgraph& main, const std::string& name) {
  std::vector<std::uint32_t> places;
  for (std::size_t place = 0; place < main.order().size(); ++place) {
    if (main.operation(main.order()[place]).name == name) {
      places.push_back(static_cast<std::uint32_t>(place));
    }
  }
  if (places.size() == 1) return places.front();
  return invalid_argument(
      "cannot cut at \"{}\": {} operations of the compiled graph have that name; \"sluice inspect "
      "--text\" shows them",
      name, places.empty() ? "no" : "several");
}

std::string names_of(std::span<const package::SegmentSpec> segments) {
  std::string names;
  for (const package::SegmentSpec& segment : segments) {
    names += (names.empty() ? "\"" : ", \"") + segment.name + "\"";
  }
  return names;
}

Status set_cores(std::span<const std::int32_t> cores, std::vector<package::SegmentSpec>& segments) {
  if (cores.empty()) return ok_status();
  if (cores.size() != segments.size()) {
    return invalid_argument("cores are given for {} segments, the model has {}: {}", cores.size(),
                            segments.size(), names_of(segments));
  }
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (cores[i] < 1) {
      return invalid_argument("segment \"{}\" cannot have {} cores", segments[i].name, cores[i]);
    }
    segments[i].cores = cores[i];
  }
  return ok_status();
}

}  // namespace

Result<std::vector<package::SegmentSpec>> cut_segments(const package::Executable& executable,
                                                       std::span<const std::string> cuts,
                                                       std::span<const std::int32_t> cores) {
  if (cuts.empty() && cores.empty()) return std::vector<package::SegmentSpec>();
  auto segments = SLUICE_TRY(package::segments_of(executable));
  for (const std::string& cut : cuts) {
    const std::uint32_t place = SLUICE_TRY(find_place(executable.graph.main(), cut));
    const auto at =
        std::ranges::lower_bound(segments, place, {}, &package::SegmentSpec::first_operation);
    if (at != segments.end() && at->first_operation == place) {
      at->name = cut;
    } else {
      segments.insert(at, {cut, place, 1});
    }
  }
  SLUICE_TRY(set_cores(cores, segments));
  return segments;
}

}  // namespace sluice::compile

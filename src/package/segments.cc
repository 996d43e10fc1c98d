#include "package/executable.h"

namespace sluice::package {
namespace {

/// A segment per sequence of operations of one backend; those without a backend belong to any.
std::vector<SegmentSpec> by_backend(const std::vector<std::int16_t>& backend_of) {
  std::vector<SegmentSpec> segments;
  std::int16_t current = -1;
  for (std::size_t position = 0; position < backend_of.size(); ++position) {
    const std::int16_t backend = backend_of[position];
    const bool is_new = segments.empty() || (current >= 0 && backend >= 0 && backend != current);
    if (is_new) {
      segments.push_back(
          {fmt::format("segment {}", segments.size()), static_cast<std::uint32_t>(position), 1});
    }
    if (backend >= 0) current = backend;
  }
  return segments;
}

/// A token reads all weights of its model, at the speed of the cores that read them. Models that
/// serve many small requests use further cores better by further contexts.
std::vector<SegmentSpec> unless_said(const Executable& executable,
                                     const std::vector<std::int16_t>& backend_of) {
  std::vector<SegmentSpec> segments = by_backend(backend_of);
  const bool writes_texts = executable.graph.metadata.contains(kGenerationFact);
  if (segments.size() == 1 && writes_texts) segments.front().cores = 0;
  return segments;
}

Status check_backends(const std::vector<std::int16_t>& backend_of, const SegmentSpec& segment,
                      std::size_t end) {
  std::int16_t current = -1;
  for (std::size_t position = segment.first_operation; position < end; ++position) {
    const std::int16_t backend = backend_of[position];
    if (backend >= 0 && current >= 0 && backend != current) {
      return make_error(Code::kDataLoss, "segment \"{}\" holds operations of two backends",
                        segment.name);
    }
    if (backend >= 0) current = backend;
  }
  return ok_status();
}

}  // namespace

Result<std::vector<SegmentSpec>> segments_of(const Executable& executable) {
  const auto& segments = executable.segments;
  static const std::vector<std::int16_t> kNone;
  const auto& backend_of = executable.backend_of.empty() ? kNone : executable.backend_of.front();
  if (segments.empty()) return unless_said(executable, backend_of);
  const std::size_t num_operations = backend_of.size();
  if (segments.front().first_operation != 0) {
    return make_error(Code::kDataLoss, "segment \"{}\", the first, does not start at 0",
                      segments.front().name);
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentSpec& segment = segments[i];
    const std::size_t end =
        i + 1 < segments.size() ? segments[i + 1].first_operation : num_operations;
    if (segment.first_operation >= end || end > num_operations) {
      return make_error(Code::kDataLoss, "segment \"{}\" is empty or out of order", segment.name);
    }
    if (segment.cores < 0 || (segment.cores == 0 && segments.size() > 1)) {
      return make_error(Code::kDataLoss, "segment \"{}\" wants {} cores", segment.name,
                        segment.cores);
    }
    SLUICE_TRY(check_backends(backend_of, segment, end));
  }
  return segments;
}

}  // namespace sluice::package

#include "terms/server/profile.h"

#include <algorithm>
#include <iterator>

namespace sluice::terms {

void append(Profile& all, Profile more) {
  const auto first_model = static_cast<std::uint32_t>(all.models.size());
  const auto first_name = static_cast<std::uint32_t>(all.names.size());
  std::ranges::move(more.models, std::back_inserter(all.models));
  std::ranges::move(more.names, std::back_inserter(all.names));
  for (ProfileSpan& span : more.spans) {
    span.model += first_model;
    if (span.kind == SpanKind::kOperation) span.name += first_name;
  }
  const auto end_ns = [](const ProfileSpan& span) { return span.start_ns + span.duration_ns; };
  all.spans.insert(all.spans.end(), more.spans.begin(), more.spans.end());
  std::ranges::stable_sort(all.spans, {}, end_ns);
  all.num_dropped += more.num_dropped;
}

}  // namespace sluice::terms

#include "text/pre_tokenizers/split_behavior.h"

#include <algorithm>
#include <array>

namespace sluice::text {

Result<SplitBehavior> parse_split_behavior(std::string_view name) {
  using enum SplitBehavior;
  struct Named {
    std::string_view name;
    SplitBehavior behavior;
  };
  constexpr std::array kNames = {
      Named{"Removed", kRemoved},
      Named{"Isolated", kIsolated},
      Named{"MergedWithPrevious", kMergedWithPrevious},
      Named{"MergedWithNext", kMergedWithNext},
      Named{"Contiguous", kContiguous},
  };
  for (const Named& named : kNames) {
    if (named.name == name) return named.behavior;
  }
  return invalid_argument("the behavior \"{}\" is not known", name);
}

void Splitter::extend(Match part) {
  if (spans_.size() > first_) {
    spans_.back().end = part.end;
  } else {
    push(part);
  }
}

void Splitter::add(Match part, bool is_delimiter) {
  switch (behavior_) {
    case SplitBehavior::kRemoved:
      if (!is_delimiter) push(part);
      break;
    case SplitBehavior::kIsolated: push(part); break;
    case SplitBehavior::kMergedWithPrevious:
      is_delimiter && !follows_delimiter_ ? extend(part) : push(part);
      break;
    case SplitBehavior::kMergedWithNext:
      if (is_delimiter) {
        if (waiting_) push(*waiting_);
        waiting_ = part;
      } else {
        push({waiting_ ? waiting_->begin : part.begin, part.end});
        waiting_.reset();
      }
      break;
    case SplitBehavior::kContiguous:
      is_delimiter == follows_delimiter_ ? extend(part) : push(part);
      break;
  }
  follows_delimiter_ = is_delimiter;
}

void Splitter::finish() {
  if (waiting_) push(*waiting_);
  const auto from = spans_.begin() + static_cast<std::ptrdiff_t>(first_);
  spans_.erase(
      std::remove_if(from, spans_.end(), [](const Match& span) { return span.begin == span.end; }),
      spans_.end());
}

}  // namespace sluice::text

// The text of the operators' history; operator_history.h reads it.
#pragma once

#include <span>
#include <string_view>

namespace sluice::ops {

/// The operators of a domain, a line each: `ReduceSum 1,11,13 axes@1-12> keepdims`, which are its
/// name, the opsets that changed it, and its attributes, each with the opsets that have it. After
/// the opsets of an attribute, ">" says that it is an input afterwards.
struct HistoryText {
  std::string_view domain;
  std::string_view lines;
};

std::span<const HistoryText> history_texts();

}  // namespace sluice::ops

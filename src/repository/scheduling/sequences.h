// How a model keeps sequences, as a config.pbtxt has it (ModelSequenceBatching of Triton).
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "repository/text_format/text_format.h"
#include "terms/server/declared_model.h"

namespace sluice::repository {

struct SequenceBatching {
  terms::SequenceRules rules;
  std::int64_t max_delay_us = 0;  ///< that a request waits for those of other sequences
};

/// The field sequence_batching. Calls `ignore` with fields that have no effect.
/// Fails: kInvalidArgument naming the line; kUnimplemented for what would change the answers.
Result<SequenceBatching> read_sequences(const TextField& field,
                                        const std::function<void(const TextField&)>& ignore);

}  // namespace sluice::repository

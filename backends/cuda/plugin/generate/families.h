// The families of operators with generated kernels. Each checks and writes its own.
#pragma once

#include "plugin/generate/text/source.h"

namespace sluice::cuda {

struct Family {
  /// Null-terminated names of operators; a name of the domain "sluice" has the prefix "sluice::".
  const char* const* kinds;
  Status (*check)(const sluice_op& op);
  /// Follows the tactic that the operation names, where it fits, and sets Source::is_chosen then.
  Status (*write)(const sluice_op& op, Source* source);
  /// Names to try for an operation of known dimensions; null: the family has one tactic.
  std::vector<std::string> (*tactics)(const sluice_op& op) = nullptr;
};

/// The family that computes the operation; null if there is none.
const Family* find_family(const sluice_op& op);

extern const Family kArgExtremeFamily;
extern const Family kAttentionFamily;
extern const Family kConcatFamily;
extern const Family kElementwiseFamily;
extern const Family kGatherFamily;
extern const Family kNarrowProductFamily;
extern const Family kNormalizationFamily;
extern const Family kPadFamily;
extern const Family kPagedAttentionFamily;
extern const Family kProductFamily;
extern const Family kReductionFamily;
extern const Family kResizeFamily;
extern const Family kRotaryFamily;
extern const Family kRoundRowsFamily;
extern const Family kRoutedProductFamily;
extern const Family kScatterFamily;
extern const Family kSliceFamily;
extern const Family kSoftmaxFamily;
extern const Family kSplitFamily;
extern const Family kTransposeFamily;
extern const Family kTriluFamily;
extern const Family kWindowFamily;

}  // namespace sluice::cuda

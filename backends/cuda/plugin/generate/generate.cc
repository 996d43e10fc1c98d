#include "plugin/generate/generate.h"

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/tactic.h"
#include "plugin/generate/text/text.h"

namespace sluice::cuda {
const Family* find_family(const sluice_op& op) {
  const std::string kind = plugin::kind_of(op);
  for (const Family* family :
       {&kArgExtremeFamily,     &kAttentionFamily,     &kConcatFamily,        &kElementwiseFamily,
        &kGatherFamily,         &kNarrowProductFamily, &kNormalizationFamily, &kPadFamily,
        &kPagedAttentionFamily, &kProductFamily,       &kReductionFamily,     &kResizeFamily,
        &kRotaryFamily,         &kRoundRowsFamily,     &kRoutedProductFamily, &kScatterFamily,
        &kSliceFamily,          &kSoftmaxFamily,       &kSplitFamily,         &kTransposeFamily,
        &kTriluFamily,          &kWindowFamily}) {
    for (const char* const* name = family->kinds; *name != nullptr; ++name) {
      if (kind == *name) return family;
    }
  }
  return nullptr;
}

Status check_op(const sluice_op& op) {
  const Family* const family = find_family(op);
  if (family != nullptr) return family->check(op);
  return plugin::unimplemented("no kernel for " + plugin::kind_of(op));
}

Status generate(const sluice_op& op, Source* source) {
  if (Status status = check_op(op); !status.is_ok()) return status;
  *source = {};
  const auto is_empty = [](const sluice_operand& output) {
    return plugin::num_elements(output.tensor) == 0;
  };
  if (std::ranges::all_of(plugin::outputs_of(op), is_empty)) return plugin::ok();
  source->is_chosen = tactic_of(op) == kGenerated;
  return find_family(op)->write(op, source);
}

std::uint32_t in_place_inputs(const sluice_op& op) {
  const Family* const family = find_family(op);
  if (family == &kScatterFamily) return 1;
  if (family != &kElementwiseFamily) return 0;
  const Dims output = plugin::dims_of(op.outputs[0].tensor);
  std::uint32_t inputs = 0;
  for (int i = 0; i < std::min(op.num_inputs, 32); ++i) {
    const bool is_same = std::ranges::equal(plugin::dims_of(op.inputs[i].tensor), output);
    if (is_same) inputs |= 1U << static_cast<unsigned>(i);
  }
  return inputs;
}

}  // namespace sluice::cuda

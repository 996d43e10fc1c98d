#include <algorithm>

#include "plugin/generate/families.h"

namespace sluice::cuda {
namespace {

const Family* find_family(const sluice_op& op) {
  const std::string kind = plugin::kind_of(op);
  for (const Family* family :
       {&kConcatFamily, &kElementwiseFamily, &kNormalizationFamily, &kProductFamily,
        &kReductionFamily, &kSoftmaxFamily, &kTransposeFamily, &kWindowFamily}) {
    for (const char* const* name = family->kinds; *name != nullptr; ++name) {
      if (kind == *name) return family;
    }
  }
  return nullptr;
}

}  // namespace

Status check_op(const sluice_op& op) {
  const Family* const family = find_family(op);
  if (family != nullptr) return family->check(op);
  return plugin::unimplemented("no kernel for " + plugin::kind_of(op));
}

Status generate(const sluice_op& op, Source* source) {
  if (Status status = check_op(op); !status.is_ok()) return status;
  *source = {};
  if (plugin::num_elements(op.outputs[0].tensor) == 0) return plugin::ok();
  return find_family(op)->write(op, source);
}

bool is_elementwise(const sluice_op& op) { return find_family(op) == &kElementwiseFamily; }

Status too_large(const sluice_op& op) {
  return plugin::unimplemented(plugin::kind_of(op) + ": a launch has too few blocks for output " +
                               plugin::to_string(plugin::dims_of(op.outputs[0].tensor)));
}

}  // namespace sluice::cuda

// The operator of 11_operator as a module that the package carries, so that any program can run the
// model once it allows the module:
//
//   sluice compile custom.onnx --operators 13_module.so -o custom.sluice
//   sluice inspect custom.sluice    # shows operator_module_sha256
//   sluice run custom.sluice --input image=zeros --allow-operators SHA256
#include "softmax_at.h"

extern "C" SLUICE_PLUGIN_EXPORT const sluice_operator_module* sluice_operator_module_1();

const sluice_operator_module* sluice_operator_module_1() {
  static const sluice::OperatorModule kModule({softmax_at()});
  return kModule.table();
}

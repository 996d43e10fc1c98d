#include "emulator/ptx/module.h"

namespace sluice::cuda::ptx {

Status Module::parse(std::string_view text, Module* module) {
  if (text.size() > kMaxTextBytes) {
    return {SLUICE_RESOURCE_EXHAUSTED, "the PTX text has " + std::to_string(text.size()) +
                                           " bytes; at most " + std::to_string(kMaxTextBytes) +
                                           " are read"};
  }
  *module = Module();
  return plugin::unimplemented("PTX is not interpreted yet");
}

const Kernel* Module::find(std::string_view name) const {
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

Status run(const Kernel& kernel, const Launch&, GlobalMemory*, Counts*) {
  return plugin::unimplemented("kernel " + kernel.name + ": PTX is not interpreted yet");
}

}  // namespace sluice::cuda::ptx

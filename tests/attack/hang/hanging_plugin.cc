// A plug-in whose Softmax never returns.
#include <unistd.h>

#include "sluice/host_backend.hpp"

namespace {

namespace plugin = sluice::plugin;

plugin::Status never_return(const plugin::Call& /*call*/) {
  while (true) pause();
}

constexpr plugin::KernelEntry kKernels[] = {{.kind = "Softmax", .run = never_return}};

class HangingBackend : public plugin::HostBackend {
 public:
  HangingBackend() : HostBackend(kKernels) {}
};

}  // namespace

SLUICE_HOST_BACKEND(HangingBackend, "hanging", "1.0")

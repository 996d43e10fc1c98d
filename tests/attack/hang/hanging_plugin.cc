// A plug-in whose Softmax never returns.
#include <chrono>
#include <thread>

#include "sluice/host_backend.hpp"

namespace {

namespace plugin = sluice::plugin;

plugin::Status never_return(const plugin::Call& /*call*/) {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

constexpr plugin::KernelEntry kKernels[] = {{.kind = "Softmax", .run = never_return}};

class HangingBackend : public plugin::HostBackend {
 public:
  HangingBackend() : HostBackend(kKernels) {}
};

}  // namespace

SLUICE_HOST_BACKEND(HangingBackend, "hanging", "1.0")

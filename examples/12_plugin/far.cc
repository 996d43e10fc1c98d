// The backend "far": a device whose memory the host cannot read. Its addresses have bit 62 set, so
// a host that reads one without a copy ends there. Sluice copies tensors to and from such a device;
// the plug-in says where its memory is, and nothing else changes.

#include "kernels.hpp"

namespace {

namespace plugin = sluice::plugin;

constexpr std::uintptr_t kFar = std::uintptr_t{1} << 62;

std::uintptr_t number(void* address) { return reinterpret_cast<std::uintptr_t>(address); }
void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

class FarBackend : public plugin::HostBackend {
 public:
  FarBackend() : HostBackend(example::kKernels) {}
  std::string device_kind() const override { return "far"; }
  std::string device_name() const override { return "example of a device with its own memory"; }
  std::uint32_t device_flags() const override { return SLUICE_DEVICE_OWN_MEMORY; }

  plugin::Status allocate(std::int64_t size_bytes, void** address) const override {
    plugin::Status status = plugin::HostBackend::allocate(size_bytes, address);
    if (status.is_ok()) *address = pointer(number(*address) | kFar);
    return status;
  }
  void release(void* address) const override { plugin::HostBackend::release(reach(address)); }
  /// A copy has one address of the host, which has no tag.
  void* reach(void* address) const override { return pointer(number(address) & ~kFar); }
};

}  // namespace

SLUICE_HOST_BACKEND(FarBackend, "far", "1.0")

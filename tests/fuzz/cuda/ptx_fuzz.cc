// PTX of any kind: texts are refused with a reason, or run within their bounds.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "emulator/ptx/module.h"

namespace {

using namespace sluice::cuda::ptx;

/// One allocation, which begins where parameters point.
class OneAllocation : public GlobalMemory {
 public:
  static constexpr std::uint64_t kBegin = 1 << 20;

  std::byte* at(std::uint64_t address, std::size_t bytes, Access) override {
    if (address < kBegin || address - kBegin > bytes_.size()) return nullptr;
    const std::uint64_t offset = address - kBegin;
    return bytes <= bytes_.size() - offset ? bytes_.data() + offset : nullptr;
  }
  std::string describe(std::uint64_t, std::size_t) const override { return "outside"; }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(8192);
};

void run_kernel(const Kernel& kernel, std::uint64_t seed) {
  if (kernel.local_bytes > 65536) return;  // right, but slow
  OneAllocation memory;
  std::vector<std::byte> parameters(kernel.parameter_bytes);
  for (std::size_t i = 0; i + 8 <= parameters.size(); i += 8) {
    const std::uint64_t value = i % 24 == 16 ? 40 : OneAllocation::kBegin;
    std::memcpy(&parameters[i], &value, 8);
  }
  Launch launch;
  launch.grid = {2, 1, 1};
  launch.block = {17, 2, 1};
  launch.dynamic_shared_bytes = 256;
  launch.parameters = parameters;
  launch.seed = seed;
  launch.max_instructions = 5000;
  Counts counts;
  const Status status = run(kernel, launch, &memory, &counts);
  if (!status.is_ok() && status.text.empty()) std::abort();
  if (counts.warp_instructions > launch.max_instructions + 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Module module;
  const Status status = Module::parse(text, &module);
  if (!status.is_ok()) {
    if (status.text.empty() || !module.kernels().empty()) std::abort();
    return 0;
  }
  for (Variable& variable : module.variables()) variable.address = OneAllocation::kBegin;
  for (std::size_t i = 0; i < module.kernels().size() && i < 4; ++i)
    run_kernel(module.kernels()[i], i);
  return 0;
}

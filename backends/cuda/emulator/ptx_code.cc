#include "emulator/ptx_code.h"

#include <cstring>
#include <deque>

#include "emulator/ptx/module.h"

namespace sluice::cuda::emulator {
namespace {

CuResult load_result(sluice_code code) {
  switch (code) {
    case SLUICE_UNIMPLEMENTED: return CuResult::kNotSupported;
    case SLUICE_RESOURCE_EXHAUSTED: return CuResult::kOutOfMemory;
    default: return CuResult::kInvalidPtx;
  }
}

/// What the driver says of a kernel that ended like this.
CuResult run_result(sluice_code code) {
  switch (code) {
    case SLUICE_OK: return CuResult::kSuccess;
    case SLUICE_OUT_OF_RANGE: return CuResult::kIllegalAddress;
    case SLUICE_FAILED_PRECONDITION: return CuResult::kMisalignedAddress;
    case SLUICE_RESOURCE_EXHAUSTED: return CuResult::kLaunchOutOfResources;
    case SLUICE_DEADLINE_EXCEEDED: return CuResult::kLaunchTimeout;
    default: return CuResult::kLaunchFailed;
  }
}

class PtxKernel : public DeviceKernel {
 public:
  explicit PtxKernel(const ptx::Kernel& kernel) : kernel_(kernel) {}

  const std::string& name() const { return kernel_.name; }
  std::span<const ptx::Parameter> parameters() const override { return kernel_.parameters; }
  std::size_t static_shared_bytes() const override { return kernel_.static_shared_bytes; }
  unsigned max_threads() const override { return kernel_.max_threads; }
  Fault run(const ptx::Launch& launch, LaunchMemory& memory, ptx::Counts& counts) const override {
    Status status = ptx::run(kernel_, launch, &memory, &counts);
    return {run_result(status.code), std::move(status.text)};
  }

 private:
  const ptx::Kernel& kernel_;
};

class PtxCode : public DeviceCode {
 public:
  PtxCode(ptx::Module module, AddressSpace& memory) : module_(std::move(module)), memory_(memory) {
    for (ptx::Variable& variable : module_.variables()) place(variable);
    for (const ptx::Kernel& kernel : module_.kernels()) kernels_.emplace_back(kernel);
  }
  ~PtxCode() override {
    for (const auto& bytes : variables_) memory_.unpin(bytes.get());
  }

  const DeviceKernel* find(std::string_view name) const override {
    const auto found = std::ranges::find(kernels_, name, &PtxKernel::name);
    return found != kernels_.end() ? &*found : nullptr;
  }
  std::optional<DeviceVariable> find_variable(std::string_view name) const override {
    const auto variables = module_.variables();
    const auto found = std::ranges::find(variables, name, &ptx::Variable::name);
    if (found == variables.end()) return std::nullopt;
    return DeviceVariable{found->address, found->size_bytes};
  }

 private:
  /// operator new aligns to 16 bytes at least; alignments of PTX reach 128 for vectors of structs.
  static constexpr std::size_t kMaxAlignment = 128;

  void place(ptx::Variable& variable) {
    const std::size_t bytes = variable.size_bytes + kMaxAlignment;
    variables_.push_back(std::make_unique<std::byte[]>(bytes));
    std::byte* const start = variables_.back().get();
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::size_t skipped = (kMaxAlignment - address % kMaxAlignment) % kMaxAlignment;
    if (!variable.initial.empty()) {
      std::memcpy(start + skipped, variable.initial.data(), variable.initial.size());
    }
    memory_.pin(start, bytes);
    variable.address = address + skipped;
  }

  ptx::Module module_;
  AddressSpace& memory_;
  std::vector<std::unique_ptr<std::byte[]>> variables_;
  std::deque<PtxKernel> kernels_;
};

}  // namespace

Fault load_ptx(const char* image, AddressSpace& memory, std::shared_ptr<const DeviceCode>* code) {
  ptx::Module module;
  const std::string_view text(image, strnlen(image, ptx::kMaxTextBytes + 1));
  Status status = ptx::Module::parse(text, &module);
  if (!status.is_ok()) return {load_result(status.code), std::move(status.text)};
  *code = std::make_shared<PtxCode>(std::move(module), memory);
  return {};
}

}  // namespace sluice::cuda::emulator

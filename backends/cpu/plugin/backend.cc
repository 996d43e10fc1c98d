#include "plugin/backend.h"

#include <algorithm>
#include <fstream>

#include "plugin/fallback.h"
#include "plugin/registry.h"
#include "pool/cpu_set.h"

namespace sluice::cpu {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "processor";
}

/// The first `default_worker_count` processors this process may use.
std::vector<int> usable_cpus() {
  std::vector<int> cpus = allowed_cpus();
  cpus.resize(std::min(cpus.size(), static_cast<std::size_t>(default_worker_count())));
  return cpus;
}

/// Only images have blocks of channels.
bool has_known_layouts(const sluice_op& op) {
  for (const auto& operands :
       {plugin::inputs_of(op), plugin::outputs_of(op), plugin::body_inputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (operand.tensor.layout == SLUICE_LAYOUT_C16 && operand.tensor.rank < 3) return false;
    }
  }
  return true;
}

bool has_operands(const OpEntry& entry, const sluice_op& op) {
  if (op.num_outputs < 1 || op.num_inputs < entry.num_required_inputs) return false;
  const auto required =
      plugin::inputs_of(op).first(static_cast<std::size_t>(entry.num_required_inputs));
  return std::ranges::none_of(
      required, [](const sluice_operand& input) { return plugin::is_absent(input.tensor); });
}

/// The entry whose `check` accepts `op`, or null.
const OpEntry* find_accepting(const sluice_op& op) {
  const OpEntry* entry = find_entry(op.domain, op.kind);
  if (entry == nullptr || !has_operands(*entry, op) || !has_known_layouts(op)) return nullptr;
  return entry->check(op).is_ok() ? entry : nullptr;
}

Status check_extents(const Kernel& kernel) {
  Extents extents(kernel.op());
  kernel.extents(extents);
  return extents.status();
}

}  // namespace

Backend::Backend() : isa_(active_isa()), cpus_(usable_cpus()) {}

Status Backend::set_option(std::string_view name, std::string_view value) {
  if (name != "isa") {
    return plugin::invalid_argument("cpu: unknown option \"" + std::string(name) +
                                    "\"; there is: isa");
  }
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (value != isa_name(isa)) continue;
    if (isa > detect_isa()) {
      return {SLUICE_UNAVAILABLE, "cpu: this processor does not run " + std::string(value)};
    }
    isa_ = isa;
    return plugin::ok();
  }
  return plugin::invalid_argument("cpu: option isa is portable, avx2 or avx512, not \"" +
                                  std::string(value) + "\"");
}

std::string Backend::device_name() const { return processor_name() + ", " + isa_name(isa_); }

Status Backend::query(const sluice_op& op, sluice_op_support* support) const {
  const OpEntry* entry = find_accepting(op);
  if (entry == nullptr) {
    // The reference kernels would run a fused body too slowly: its operations stay apart.
    if (op.body != nullptr) {
      return plugin::unimplemented(plugin::kind_of(op) + ": no fast kernel with this fused body");
    }
    if (Status status = check_fallback(op); !status.is_ok()) return status;
  }
  support->supported = 1;
  support->is_generic = entry == nullptr ? 1 : 0;
  if (entry != nullptr && entry->preferred_layout != nullptr) {
    support->preferred_layout = entry->preferred_layout(op);
  }
  return plugin::ok();
}

Status Backend::packing(const sluice_op& op, int input, sluice_packing* packing) const {
  const OpEntry* entry = find_accepting(op);
  if (entry != nullptr && entry->packing != nullptr) *packing = entry->packing(op, input, isa_);
  return plugin::ok();
}

Status Backend::pack(const sluice_op& op, int input, void* packed) const {
  sluice_packing described = {};
  if (Status status = packing(op, input, &described); !status.is_ok()) return status;
  if (described.size_bytes == 0) {
    return {SLUICE_FAILED_PRECONDITION,
            plugin::kind_of(op) + ": input " + std::to_string(input) + " is not packed"};
  }
  if (op.inputs[input].tensor.data == nullptr) {
    return plugin::invalid_argument(plugin::kind_of(op) + ": packing needs the constant's value");
  }
  find_accepting(op)->pack(op, input, isa_, packed);
  return plugin::ok();
}

std::vector<std::string> Backend::tactics(const sluice_op& op, int workers) const {
  const OpEntry* entry = find_accepting(op);
  if (entry == nullptr || entry->tactics == nullptr) return {};
  std::vector<std::string> names = entry->tactics(op, isa_, std::max(workers, 1));
  for (std::string& name : names) name.insert(0, "/").insert(0, isa_name(isa_));
  return names;
}

Status Backend::make_kernel(const sluice_op& op, std::unique_ptr<Kernel>* kernel) const {
  const OpEntry* entry = find_accepting(op);
  Status status = plugin::unimplemented(plugin::kind_of(op) + ": no kernel");
  if (entry != nullptr) status = entry->make(op, isa_, kernel);
  // A package may contradict itself: a kernel that would reach outside its operands is refused
  // here.
  if (status.is_ok()) return check_extents(**kernel);
  if (status.code != SLUICE_UNIMPLEMENTED) return status;
  // Generic kernels read constants as the model has them.
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    if (input.packed != nullptr && input.tensor.data == nullptr) return status;
  }
  if (status = check_fallback(op); !status.is_ok()) return status;
  return make_fallback(op, kernel);
}

}  // namespace sluice::cpu

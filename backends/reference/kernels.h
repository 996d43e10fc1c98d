// The reference kernels, for the plug-in `reference` and for plug-ins that fall back to them.
//
// A family is a file of kernels/ with a function that lists its entries; registry.cc joins them.
// Kernels are plain functions that run on the calling thread and keep no state. The host calls
// them only for operations that `check_op` accepted, so they do not repeat its checks.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/host_backend.hpp"

namespace sluice::reference {

using plugin::Call;
using plugin::Status;

/// Element types that outputs must have, in order, where `run` relies on them. kAbsent: `run` asks
/// the output.
using OutputTypes = std::array<sluice_element_type, 4>;
inline constexpr sluice_element_type kTypeOfInput0 = -1;

struct KernelEntry {
  const char* domain = "";
  const char* kind = nullptr;
  /// Writes every element of every output that is there.
  Status (*run)(const Call& call) = nullptr;
  /// Refuses types, ranks, attributes and shapes that `run` cannot do; dimensions may be -1.
  Status (*check)(const sluice_op& op) = nullptr;
  /// Element-wise operators only, which thereby may stand in fused bodies: the element type of the
  /// output, given the types of the inputs.
  sluice_element_type (*result_type)(const sluice_op& op) = nullptr;
  int num_required_inputs = 1;    ///< `check` and `run` may rely on the first ones
  OutputTypes output_types = {};  ///< of element-wise operators `result_type` tells the first

  bool is_elementwise() const { return result_type != nullptr; }
};

/// Null if there is none. Entries live as long as the program.
const KernelEntry* find_kernel(std::string_view domain, std::string_view kind);

/// All entries, ordered by domain, then kind.
const std::vector<KernelEntry>& all_kernels();

/// SLUICE_INVALID_ARGUMENT: `node "cut" (Slice): text`, `Slice: text` for a node without a name.
Status refuse(const sluice_op& op, const std::string& text);

/// The entry's own check, after those for its required inputs, for the only output, and for the
/// types of the outputs.
Status check_entry(const KernelEntry& entry, const sluice_op& op);

/// Ok if `make_kernel` can run `op`, fused body included.
/// Fails: SLUICE_UNIMPLEMENTED, or SLUICE_INVALID_ARGUMENT for shapes that contradict each other.
Status check_op(const sluice_op& op);

/// Makes a kernel for any operation that `check_op` accepts: an operator, one with a fused body, or
/// `sluice::Elementwise`, which is nothing but a body.
/// Requires: all dimensions are known; `op` outlives the kernel.
Status make_kernel(const sluice_op& op, std::unique_ptr<plugin::HostKernel>* kernel);

}  // namespace sluice::reference

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// How one operator runs fast. Whatever `check` refuses goes to the reference kernels.
struct OpEntry {
  const char* domain = "";
  const char* kind = nullptr;

  /// Ok if `make` can run `op`, its fused body included; dimensions may be unknown (-1).
  Status (*check)(const sluice_op& op) = nullptr;

  /// All dimensions are known; `op` outlives the kernel. May still refuse with kUnimplemented what
  /// only known dimensions show.
  Status (*make)(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) = nullptr;

  /// What `pack` makes of constant `input`; null where nothing is ever packed.
  sluice_packing (*packing)(const sluice_op& op, int input, Isa isa) = nullptr;
  void (*pack)(const sluice_op& op, int input, Isa isa, void* packed) = nullptr;

  /// The layout of image operands it is fastest with; null for row-major.
  sluice_layout (*preferred_layout)(const sluice_op& op) = nullptr;

  /// Names (see plugin/variant.h) of other ways to compute `op`, whose dimensions are known, with
  /// so many workers; null where there is one.
  std::vector<std::string> (*variants)(const sluice_op& op, Isa isa, int workers) = nullptr;
};

/// Null where there is no fast form.
const OpEntry* find_entry(std::string_view domain, std::string_view kind);

// Families, a file of ops/ each.
std::vector<OpEntry> matrix_entries();
std::vector<OpEntry> elementwise_entries();
std::vector<OpEntry> row_entries();
std::vector<OpEntry> reduce_entries();
std::vector<OpEntry> attention_entries();
std::vector<OpEntry> recurrent_entries();
std::vector<OpEntry> copy_entries();
std::vector<OpEntry> conv_entries();
std::vector<OpEntry> byte_conv_entries();
std::vector<OpEntry> pool_entries();
std::vector<OpEntry> quantize_entries();
std::vector<OpEntry> reorder_entries();
std::vector<OpEntry> join_entries();
std::vector<OpEntry> lrn_entries();
std::vector<OpEntry> resize_entries();
std::vector<OpEntry> tree_entries();
std::vector<OpEntry> find_key_entries();
std::vector<OpEntry> distance_entries();

}  // namespace sluice::cpu

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/isa.h"
#include "plugin/command_list.h"
#include "plugin/kernel.h"
#include "pool/pool.h"

namespace sluice::cpu {

/// The plug-in's state: which instruction set, which processors. Immutable after its options.
class Backend {
 public:
  Backend();

  /// `isa`: "portable", "avx2" or "avx512", no higher than the machine's.
  Status set_option(std::string_view name, std::string_view value);

  Isa isa() const { return isa_; }
  const std::vector<int>& cpus() const { return cpus_; }  ///< core i is processor cpus()[i]
  std::string device_name() const;

  Status query(const sluice_op& op, sluice_op_support* support) const;
  Status packing(const sluice_op& op, int input, sluice_packing* packing) const;
  Status pack(const sluice_op& op, int input, void* packed) const;
  /// Names of the tactics, without the default one, with which `workers` can compute `op`; see
  /// plugin/tactic.h.
  std::vector<std::string> tactics(const sluice_op& op, int workers) const;
  Status make_kernel(const sluice_op& op, std::unique_ptr<Kernel>* kernel) const;

 private:
  Isa isa_;
  std::vector<int> cpus_;
};

/// Cores reserved together: the pool that serves all lists of the group.
struct Group {
  ThreadPool pool;
};

/// A list runs during its submission, so a stream holds only the first error.
struct Stream {
  Status first_error;
};

}  // namespace sluice::cpu

// Kernels and variables of a module, as their loader sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cuda::ptx {

/// A parameter's bytes within Launch::parameters.
struct Parameter {
  std::string name;
  std::size_t offset_bytes = 0, size_bytes = 0, alignment_bytes = 1;
};

/// Module-scope memory. The loader allocates it, fills it with `initial` and zeros behind, and sets
/// `address` before a kernel runs.
struct Variable {
  std::string name;
  bool is_constant = false;  ///< of .const instead of .global
  std::size_t size_bytes = 0, alignment_bytes = 1;
  std::vector<std::byte> initial;  ///< at most size_bytes
  std::uint64_t address = 0;
};

/// Pre-decoded instructions; code/program.h.
struct Program;

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;     ///< per thread
  std::uint32_t max_threads = 1024;  ///< per block, by .maxntid or .reqntid
  std::uint32_t registers = 0;       ///< of 32 bits, per thread, before any allocation
  bool uses_dynamic_shared = false;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const std::vector<Variable>> variables;  ///< the module's
};

}  // namespace sluice::cuda::ptx

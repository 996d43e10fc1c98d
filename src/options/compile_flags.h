// The options of compiling a model: declared once for `sluice compile` and sluice_compile().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "options/options.h"

namespace sluice::options {

struct CompileFlags {
  std::vector<std::string> shapes;                  ///< "name=1,3,224,224", "N=4"
  std::vector<std::string> backends = {"cpu"};      ///< in order of preference
  std::vector<std::string> overridable = {"auto"};  ///< initializers that stay inputs
  bool optimize = true;
  std::vector<std::string> places;         ///< "Conv=cpu": which backends may run which operations
  std::string operator_times;              ///< file of measured times; empty: none
  std::int32_t min_segment = 1;            ///< operations that each segment must have
  std::int32_t max_segments = 0;           ///< 0 for no limit
  double min_share = 0;                    ///< of the operations, that each backend in use must run
  std::vector<std::string> cuts;           ///< operations at which a segment starts
  std::vector<std::int32_t> cores;         ///< by segment
  std::string executor = "linear";         ///< or "dataflow", "parallel", "auto"
  bool winograd = true;                    ///< whether convolutions may be transformed
  int strassen = 0;                        ///< levels of Strassen's method in products, at most 2
  std::string weights = "f32";             ///< how exactly products keep their constant matrices
  std::string kv_cache = "f32";            ///< numbers of a language model's keys and values
  std::vector<std::string> adapters;       ///< "sql=FOLDER": of a language model
  std::string graphs;                      ///< folder for the graph after each pass; empty: none
  std::vector<std::string> architectures;  ///< "sm_80": of GPUs, for compiled kernels
  std::string code;                        ///< folder of edited sources of kernels; empty: none
  std::string emit;          ///< "cuda=DIR", "torch-extension=DIR": where kernels are written too
  std::string operators;     ///< module of operators that the package carries; empty: none
  bool pack = true;          ///< keep packed constants in the package
  bool packed_only = false;  ///< leave out the portable form of packed constants

  /// Declares the options that every command with a model has: --shape, --overridable, --backend,
  /// --place, --no-optimize.
  void add_common(Options& options);
  /// Declares --weights.
  void add_weights(Options& options);
  /// Declares --kv-cache.
  void add_kv_cache(Options& options);
  /// Declares the options that only compiling a package has, --weights and --kv-cache among them.
  void add_rest(Options& options);

 private:
  void add_kernels(Options& options);
};

/// Parses `arguments`, such as {"--weights", "bf16", "--shape", "x=1,3"}.
/// Fails: kInvalidArgument naming an unknown option, the nearest known one, or the wrong value.
Result<CompileFlags> parse_compile_flags(std::span<const std::string> arguments);

}  // namespace sluice::options

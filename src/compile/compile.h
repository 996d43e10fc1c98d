// From a graph to an executable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "base/result.h"
#include "compile/code/compile_kernels.h"
#include "compile/cut.h"
#include "compile/profile/operator_profile.h"
#include "ir/graph.h"
#include "package/draft.h"
#include "package/executable.h"

namespace sluice::compile {

/// How exactly backends keep the constant matrices of products. With kBf16 activations and sums
/// stay in f32; with kInt8 rows of activations are rounded to 8 bits too, and sums are exact.
enum class WeightPrecision : std::uint8_t { kF32, kBf16, kInt8 };

struct CompileOptions {
  /// In order of preference: an operation goes to the first backend that accepts it. Another
  /// backend may stand in for one without a device here (find_stand_in); the executable names the
  /// one that is asked for.
  std::vector<std::string> backends = {"cpu"};
  /// Rules of the manual scheduler, see Placement: "Conv=cpu", "layer1.*=sim,cpu".
  std::vector<std::string> places;
  /// Measured times by which the profiled scheduler chooses between backends; null: the first
  /// backend that accepts an operation runs it.
  std::shared_ptr<const OperatorProfile> profile;
  bool optimize = true;
  /// Store packed constants in the executable, besides the portable ones.
  bool pack = true;
  /// Leave out constants that kernels read in packed form only. The executable runs where backends
  /// pack them as they do here. Requires: `pack`.
  bool packed_only = false;
  /// Which code the kernels of backends that compile ahead of time get.
  CodeOptions code;
  /// Where the executable is written while it is compiled; the caller finishes it. Null: memory.
  package::Draft* draft = nullptr;
  /// Less than f32 halves the bytes that a product with few rows waits for; a backend may keep
  /// more.
  WeightPrecision weights = WeightPrecision::kF32;
  /// Let backends compute convolutions by Winograd's method, which is up to three times faster and
  /// moves results by about 1e-5 of the largest.
  bool winograd = true;
  /// How many levels deep, at most 2, backends may cut products with constant matrices by
  /// Strassen's method: faster, with 1.75 times the memory for such a matrix, or 3.06 times for two
  /// levels.
  int strassen_levels = 0;
  /// Names of operations of the compiled graph at which a new segment starts, in any order.
  std::vector<std::string> cuts;
  /// How many cores each segment wants, in order; empty for one each.
  std::vector<std::int32_t> cores;
  PartitionLimits limits;
  /// "linear", "dataflow", "parallel", or "auto": see choose_executor.
  std::string executor = "linear";
  /// Metadata of the executable.
  std::map<std::string, std::string> facts;
  /// Called when a phase starts; may be empty.
  std::function<void(std::string_view phase)> progress;
  /// Sees the graph after each pass that changed it, and at the end; may be empty. An error of its
  /// ends the compilation.
  std::function<Status(std::string_view pass, const ir::Graph& graph)> observe;
};

/// Rewrites the graph, gives each operation a backend, packs constants and plans memory.
///
/// Needs the backend "reference" for folding constants; without it none are folded.
/// Fails: kNotFound       a backend is not there
///        kUnimplemented  naming every operator that no backend takes, and its nodes;
///                        or the nodes whose rule in `places` allows only backends that refuse them
///        kFailedPrecondition  the profile lacks times of a backend or an operation
///        kInvalidArgument for cuts, cores, places and limits that do not fit the graph, and what
///        passes report
Result<package::Executable> compile(ir::Graph graph, const backend::BackendRegistry& backends,
                                    const CompileOptions& options);

}  // namespace sluice::compile

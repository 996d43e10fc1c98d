// Where every operand of a range of steps lies during a run.
//
// Pure: a subgraph, its operands' static types and what the steps allow in, places out. Used by the
// compiler for the plan that a package keeps, and by the executor for shapes it meets at run time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plan/arena_layout.h"
#include "plan/tasks.h"

namespace sluice::plan {

inline constexpr std::int64_t kTensorAlignment = 64;

/// Memory of one operand.
struct Place {
  enum class Kind : std::uint8_t {
    kNone,      ///< absent, unused, or of another range's arena
    kArena,     ///< `offset_bytes` into the buffer of `binding`, the context's arena
    kConstant,  ///< the bytes of constant `operand`
    kBinding,   ///< the buffer of `binding`
  };
  Kind kind = Kind::kNone;
  std::int32_t binding = -1;
  std::int64_t offset_bytes = 0;
  ir::OperandId operand;  ///< whose memory it is: itself, or what it views
};

/// Bindings are numbered: the subgraph's inputs, its outputs, the arena, the pool of texts, then
/// one for each operand that outlives the range which writes it.
struct BindingNumbers {
  std::int32_t num_inputs = 0;
  std::int32_t num_outputs = 0;
  std::int32_t input(std::size_t index) const { return static_cast<std::int32_t>(index); }
  std::int32_t output(std::size_t index) const {
    return num_inputs + static_cast<std::int32_t>(index);
  }
  std::int32_t arena() const { return num_inputs + num_outputs; }
  std::int32_t texts() const { return arena() + 1; }
  std::int32_t kept(ir::OperandId id) const { return texts() + 1 + id.value(); }
};

BindingNumbers binding_numbers(const ir::Subgraph& subgraph);

/// What is known of the step at one place of the order.
struct StepTraits {
  bool is_view = false;
  std::uint32_t in_place_inputs = 0;  ///< bit i: output 0 may overwrite input i
  /// A step of the executor: it tells the sizes of its results and brings their memory.
  bool is_executor = false;
};

struct PlacementRequest {
  const ir::Subgraph* subgraph = nullptr;
  std::size_t begin = 0;  ///< positions in the order
  std::size_t end = 0;
  /// By operand; static for every tensor that the range reads, or writes by kernels. Borrowed.
  std::span<const ir::Type> types;
  std::span<const StepTraits> traits;  ///< one per step of the range
  std::span<const Place> earlier;      ///< result of the range before; empty for the first
  /// One per step of the range if its tasks may run side by side; empty if steps run one after
  /// another. Borrowed.
  std::span<const StepSite> sites;
  std::span<const std::vector<std::int32_t>> lanes;  ///< see `divide`
  const ArenaLayout* layout = nullptr;  ///< a layout kept from compilation: used if it fits
  std::int64_t max_arena_bytes = std::numeric_limits<std::int64_t>::max();
};

/// A tensor to be copied to an output whose operand has its memory elsewhere.
struct OutputCopy {
  ir::OperandId source;
  std::size_t output = 0;
};

struct Placement {
  std::vector<Place> places;        ///< by operand
  std::vector<OutputCopy> copies;   ///< after the last step
  std::vector<ir::OperandId> kept;  ///< written here, read by a later range
  ArenaLayout layout;
  std::int64_t lower_bound_bytes = 0;  ///< of the arena of a sequential plan
  /// Absent from a sequential plan: the request has no sites, or `divide` refused their number.
  std::optional<TaskGraph> tasks;
};

/// Fails: kResourceExhausted when the arena or a tensor is too large; kInternal for a step whose
///        operand has no place or no static type.
Result<Placement> place_operands(const PlacementRequest& request);

}  // namespace sluice::plan

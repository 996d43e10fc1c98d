// Where every operand of a range of steps lies during a run.
//
// Pure: a subgraph, its operands' static types and what the steps allow in, places out. Used by the
// compiler for the plan that a package keeps, and by the executor for shapes it meets at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/containers/shared_table.h"
#include "base/result.h"
#include "ir/graph.h"
#include "plan/arena_layout.h"
#include "plan/tasks.h"

namespace sluice::plan {

inline constexpr std::int64_t kTensorAlignment = 64;

/// Memory of one operand.
struct Place {
  enum class Kind : std::uint8_t {
    kNone,      ///< absent or unused
    kArena,     ///< `offset_bytes` into the buffer of `binding`, the context's arena: in this range
    kConstant,  ///< the bytes of constant `operand`
    kBinding,   ///< the buffer of `binding`
  };
  Kind kind = Kind::kNone;
  std::int32_t binding = -1;
  std::int64_t offset_bytes = 0;
  ir::OperandId operand;    ///< whose memory it is: itself, or what it views
  std::int32_t piece = -1;  ///< of the arena: index of Placement::layout
};

/// Bindings are numbered: the subgraph's inputs, its outputs, the arena, the pool of texts, the
/// state of random numbers, then one for each operand that outlives the range which writes it.
struct BindingNumbers {
  std::int32_t num_inputs = 0;
  std::int32_t num_outputs = 0;
  std::int32_t input(std::size_t index) const { return static_cast<std::int32_t>(index); }
  std::int32_t output(std::size_t index) const {
    return num_inputs + static_cast<std::int32_t>(index);
  }
  std::int32_t arena() const { return num_inputs + num_outputs; }
  std::int32_t texts() const { return arena() + 1; }
  std::int32_t random_state() const { return texts() + 1; }
  std::int32_t kept(ir::OperandId id) const { return random_state() + 1 + id.value(); }
  /// Number of bindings without those of `kept`.
  std::size_t num_fixed() const { return static_cast<std::size_t>(random_state()) + 1; }
};

BindingNumbers binding_numbers(const ir::Subgraph& subgraph);

/// What is known of the step at one place of the order.
struct StepTraits {
  bool is_view = false;
  std::uint32_t in_place_inputs = 0;  ///< bit i: output 0 may overwrite input i
  /// A step of the executor: it tells the sizes of its results and brings their memory.
  bool is_executor = false;
  /// Its result lies in the binding of the random state; nothing writes it during the run.
  bool is_random_state = false;

  bool operator==(const StepTraits&) const = default;
};

struct PlacementRequest {
  const ir::Subgraph* subgraph = nullptr;
  std::size_t begin = 0;  ///< positions in the order
  std::size_t end = 0;
  /// Type of an operand; static for every tensor that the range reads, or writes by kernels.
  std::function<const ir::Type&(ir::OperandId)> type_of;
  /// Whether to reserve room for an operand to grow by a quarter; null: for none.
  std::function<bool(ir::OperandId)> may_grow;
  /// By operand: the last place of the order that reads it, bodies included. Empty: the placement
  /// looks at the steps behind the range itself. Borrowed.
  std::span<const std::size_t> last_read;
  std::span<const StepTraits> traits;           ///< one per step of the range
  const SharedTable<Place>* earlier = nullptr;  ///< of the range before; null for the first
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
  SharedTable<Place> places;        ///< by operand; shares most with the range before
  std::vector<OutputCopy> copies;   ///< after the last step
  std::vector<ir::OperandId> kept;  ///< written here, read by a later range
  ArenaLayout layout;
  std::vector<std::int64_t> piece_bytes;  ///< by piece of the layout: what it has room for
  std::int64_t lower_bound_bytes = 0;     ///< of the arena of a sequential plan
  /// Absent from a sequential plan: the request has no sites, or `divide` refused their number.
  std::optional<TaskGraph> tasks;
};

/// Fails: kResourceExhausted when the arena or a tensor is too large; kInternal for a step whose
///        operand has no place or no static type.
Result<Placement> place_operands(const PlacementRequest& request);

/// Whether a placement serves a step of other sizes: the operands fit their pieces, and a result
/// that overwrites an operand is as large as that one. Requires: the traits of all steps are those
/// of the placement.
bool fits(const Placement& placement, const ir::Operation& operation, const StepTraits& traits,
          const std::function<const ir::Type&(ir::OperandId)>& type_of);

}  // namespace sluice::plan

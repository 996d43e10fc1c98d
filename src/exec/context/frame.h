// The state of one subgraph in a context: memory, bindings, recordings. Frames of bodies live as
// long as the context, so that all iterations of a loop reuse them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "exec/aligned_buffer.h"
#include "exec/context/recording.h"

namespace sluice::exec {

struct SubgraphCode;

/// Where an output of the subgraph goes.
struct FrameOutput {
  void* bound = nullptr;  ///< the caller's memory, used if aligned and large enough
  std::int64_t capacity_bytes = 0;
  bool is_skipped = false;  ///< no one reads it: not copied
  void* target = nullptr;   ///< where this run writes
  AlignedBuffer own;
  terms::TensorView view;  ///< of the last run, in `bound` or `own`
  Value value;             ///< of the last run, where the output is no tensor
};

/// What random operators read, as `sluice::RandomState` gives it. No two runs of a subgraph get the
/// same numbers.
struct alignas(backend::kAlignment) RandomState {
  std::uint64_t seed = 0;
  std::uint64_t run = 0;        ///< of the model
  std::uint64_t iteration = 0;  ///< run of the subgraph within that run of the model
};

/// Used by one thread, for one run at a time. Exactly one operation runs a given subgraph, so runs
/// of a frame never nest.
struct Frame {
  explicit Frame(const SubgraphCode& code_to_run, void* texts);

  const SubgraphCode& code;
  std::vector<terms::TensorView> inputs;  ///< of tensors; their addresses stand in `bindings` too
  std::vector<FrameOutput> outputs;
  std::vector<void*> bindings;  ///< see plan::BindingNumbers
  AlignedBuffer arena;
  RandomState random;                          ///< of the run under way
  std::uint64_t context_run = 0;               ///< that `random.iteration` counts in
  std::map<std::int32_t, AlignedBuffer> kept;  ///< by binding: what outlives its range
  /// By operand: sequences, optionals, and shared tensors whose address is in `bindings`.
  std::vector<Value> values;
  /// Types of the last step's results, if the executor ran that step itself.
  std::vector<ir::Type> step_types;
  /// Number of the operation's run that the frame's runs belong to: of a loop, all its iterations.
  std::uint64_t call_number = 0;
  std::unique_ptr<Recording> static_recording;

  void set_input(std::size_t index, const terms::TensorView& tensor);
  /// The tensor of an input lies at `data` instead.
  void move_input(std::size_t index, void* data);
  /// Whether a result may be written straight to the memory that the caller bound to an output. It
  /// must be aligned and large enough, and share bytes with no input, except that of a pair of
  /// `in_place`.
  bool is_direct(std::size_t output, std::int64_t size_bytes,
                 std::span<const InPlaceOutput> in_place) const;
  void* binding(std::int32_t number) const { return bindings[static_cast<std::size_t>(number)]; }
  std::int64_t memory_bytes() const;
};

/// Whether two memories have bytes in common.
bool share_bytes(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes);

}  // namespace sluice::exec

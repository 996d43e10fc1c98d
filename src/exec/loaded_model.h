// A compiled model on a group of cores, ready to run; and the contexts that run it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "backend/group.h"
#include "backend/kernel.h"
#include "backend/registry.h"
#include "base/result.h"
#include "device/stream/stream_pool.h"
#include "exec/executors/executor_kind.h"
#include "exec/random/random_source.h"
#include "exec/value.h"
#include "ir/type.h"
#include "package/draft.h"
#include "package/executable.h"

namespace sluice::device {
class DeviceServiceTable;
}

namespace sluice::exec {

/// Where a segment of the executable runs.
struct SegmentPlacement {
  std::int32_t device = 0;  ///< of the segment's backend
  std::vector<std::int32_t> cores;

  bool operator==(const SegmentPlacement&) const = default;
};

struct LoadOptions {
  /// One per segment of the executable (package::segments_of); segments with equal placements share
  /// one group of cores. Empty: all segments on device 0, by `cores` and `num_threads`.
  std::vector<SegmentPlacement> segments;
  /// Cores of device 0, which Context::run keeps its thread to; empty for `num_threads` of them.
  std::vector<std::int32_t> cores;
  /// 0 for all cores that the process may use. Ignored if `cores` is set.
  int num_threads = 0;
  /// How Context::run runs the lists of a step range. A run in parts is always linear.
  ExecutorKind executor = ExecutorKind::kAsCompiled;
  /// Limit on the bytes of one context's intermediate tensors.
  std::int64_t max_arena_bytes = std::int64_t{1} << 40;
  /// A Loop that passes this number of iterations fails the run.
  std::int64_t max_loop_iterations = 100'000'000;
  /// Limit on the bytes of one context's buffers during a run: intermediate tensors, outputs,
  /// values of loops, sequences; and, counted apart, on its strings. All contexts of the process
  /// together are bounded by process_memory.
  std::int64_t max_memory_bytes = std::numeric_limits<std::int64_t>::max();
  /// Limit on the bytes of command lists that one context keeps for shapes of earlier runs, their
  /// plans included; and, counted apart, of the plans that the model keeps for all its contexts.
  /// The least recently used ones go. Those of a model of static shapes are not counted.
  std::int64_t max_recorded_bytes = std::int64_t{64} << 20;
  /// Services of devices with memory of their own: constants are brought there when a context first
  /// records kernels that read them, for a model of static shapes in create_context, and contexts
  /// take memory and streams there. Null: services of this load alone where a device cannot reach
  /// host memory; else kernels read all constants in the mapped file.
  std::shared_ptr<device::DeviceServiceTable> devices;
  /// The name of the model in reports of the devices.
  std::string owner = "a model";
  /// Source of random operators. Loads with one source, such as replicas, never draw the same
  /// numbers. Null: a source of the load's own, with a seed from the system.
  std::shared_ptr<RandomSource> random;
  /// Takes constants that the load packs, and their memory; null: the model keeps them. Must
  /// outlive the load. The executable has no packed constants then.
  package::Draft* draft = nullptr;
};

/// Checks a tensor against its specification.
/// Fails: kInvalidArgument naming the tensor, the type given and the type that the model takes.
Status check_input(const terms::TensorSpec& spec, const terms::TensorView& tensor);

class Context;
class RunTrace;
struct ModelState;
struct ContextState;

class LoadedModel;

/// What the loads of a package have in common: verified bytes, kernels, packed constants, and plans
/// of static shapes. It has no cores, streams or contexts. Immutable; safe from any thread.
class ReadyModel {
 public:
  /// A model on cores of its own, as LoadedModel::place.
  Result<LoadedModel> place(const LoadOptions& options, const std::stop_token& stop = {}) const;
  /// Bytes of constants that the load packed or aligned; the others are the package's.
  std::int64_t own_bytes() const;

 private:
  friend class LoadedModel;
  explicit ReadyModel(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  std::shared_ptr<const ModelState> state_;  ///< without groups
};

/// Immutable; shared by contexts, which keep it alive. Safe from any thread.
class LoadedModel {
 public:
  /// Creates kernels with the executable's backends. Packed constants come from the executable if
  /// they match the loaded backends; the others are packed now. Stops between two constants or
  /// operations once `stop` is requested.
  /// Fails: kNotFound for a backend that is not loaded; kDataLoss for damaged constants;
  ///        kFailedPrecondition for constants left out (ir::is_left_out) that kernels need here;
  ///        kUnimplemented for an operation that a backend no longer takes.
  static Result<LoadedModel> load(package::Executable executable,
                                  const backend::BackendRegistry& backends,
                                  const LoadOptions& options, const std::stop_token& stop = {});

  /// Places the same model on other cores, given by `options.segments` or `options.cores`. Both
  /// models share the mapped file, constants and packed constants; on the same devices also kernels
  /// and memory plan.
  /// Fails: as creation of groups; as `load` if kernels must be created again.
  Result<LoadedModel> place(const LoadOptions& options, const std::stop_token& stop = {}) const;
  /// For later loads; does not keep this model's cores.
  ReadyModel ready() const;

  const terms::Signature& signature() const;
  const package::Executable& executable() const;
  std::shared_ptr<const package::Executable> shared_executable() const;

  /// Random operators of the runs that start from now on start from `seed`.
  void set_seed(std::uint64_t seed) const;

  /// Number of the executable's segments. With dynamic shapes only Context::run runs them, all at
  /// once.
  std::size_t num_segments() const;
  bool has_static_shapes() const;
  /// Never kAsCompiled.
  ExecutorKind executor() const;
  /// The cores that run a segment.
  /// Requires: segment < number of package::segments_of.
  const std::shared_ptr<const backend::Group>& group_of(std::size_t segment) const;
  /// Bytes that one context of a model of static shapes takes at most: arena and outputs; -1 if
  /// shapes are not known.
  std::int64_t context_bytes() const;

  /// Number of command lists that a run submits, over all ranges of a model of static shapes; 0 if
  /// shapes are not known. With one, all executors do the same.
  std::size_t num_tasks() const;

  /// The arena of a context, and the least that any plan of the same steps in sequence needs; zeros
  /// if shapes are not known.
  struct ArenaUse {
    std::int64_t arena_bytes = 0;
    std::int64_t lower_bound_bytes = 0;
  };
  ArenaUse arena_use() const;

  /// Memory of an own-memory device that a context of static shapes takes.
  struct DeviceUse {
    std::string backend;
    int device = 0;
    std::int64_t constant_bytes = 0;  ///< shared by all contexts
    std::int64_t tensor_bytes = 0;
  };
  /// Predicted from the plan; nothing is allocated. Empty if shapes are not known.
  std::vector<DeviceUse> device_use() const;

  /// Bytes of the plans that the model keeps for shapes of earlier runs; an estimate.
  std::int64_t plan_bytes() const;

  /// Results of loading that a package can keep, so that later loads skip the work: packed
  /// constants, and the memory plan of a model of static shapes.
  struct Preparation {
    std::vector<package::PackedConstant> packed;
    /// Constants that kernels read in packed form only.
    std::vector<std::pair<ir::SubgraphId, ir::OperandId>> unread;
    std::optional<plan::ArenaLayout> plan;
  };
  Preparation preparation() const;

  /// A kernel of a subgraph whose shapes are all known.
  struct StaticKernel {
    ir::SubgraphId subgraph;
    std::size_t position = 0;  ///< in the subgraph's order
    std::shared_ptr<const backend::Kernel> kernel;
  };
  /// By subgraph, then position.
  std::vector<StaticKernel> static_kernels() const;

  /// A context owns an arena and bindings. Contexts of one model run at the same time without
  /// taking a lock; use each from one thread at a time. Its streams are from a pool per group,
  /// where `owner` has them.
  /// Fails: what recording its command lists and bringing constants report; kCancelled.
  Result<Context> create_context(const std::stop_token& stop = {},
                                 std::string_view owner = "context") const;
  /// Who has streams of the segment's group now.
  std::vector<device::StreamUse> stream_uses(std::size_t segment) const;

 private:
  friend class ReadyModel;
  explicit LoadedModel(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  std::shared_ptr<const ModelState> state_;
};

/// A device of a backend.
struct DeviceName {
  std::string_view backend;
  std::int32_t number = 0;
};

/// Called on the running thread before each range of steps, so at least once per iteration of a
/// loop; by the linear executor also before each segment. An error ends the run with that error.
/// Takes well below a microsecond.
using Checkpoint = std::function<Status()>;

/// An input and an output, by index: the value that a run gives is what the next one reads.
struct StatePair {
  std::size_t input = 0;
  std::size_t output = 0;

  bool operator==(const StatePair&) const = default;
};

/// One run at a time of a loaded model. Movable. Strings are offsets and bytes, as in a package.
class Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Uses the caller's memory until the next call for this input. `run` reads it, without a copy if
  /// the backends take inputs of its alignment (sluice/extensions/input_alignment.h), and never
  /// writes it. Fails: kInvalidArgument for an index, type, shape or size that the signature does
  /// not take.
  Status set_input(std::size_t index, const terms::TensorView& tensor);
  /// The input is its default again, as in a new context.
  /// Fails: kInvalidArgument for an index, or an input without a default.
  Status reset_input(std::size_t index);
  /// An input that is a sequence or an optional, or a tensor. Shared until the next call for it.
  Status set_input_value(std::size_t index, Value value);

  /// The output is written to the caller's memory from now on, without a copy if it is aligned to
  /// 64 bytes. It may be the memory of an input of the same size: runs then write in place where
  /// the model reads the input for the last time (in_place_outputs.h), and copy elsewhere. Null
  /// data returns to memory of the context's own, which is the default.
  Status bind_output(std::size_t index, void* data, std::int64_t capacity_bytes);

  /// Lends the context the memory of states: that to which the input and the output of a pair are
  /// bound. From now on the caller neither reads nor changes it but through `bring_output` and
  /// `set_input`. A state whose kernels run on one device of own memory, where one of them changes
  /// it in place, then stays there between runs. Others are as without this call. A state ends when
  /// its input or output is bound elsewhere, and with the context, which loses its last value.
  /// Fails, and keeps no further state:
  ///   kInvalidArgument    an index out of range; memories that differ or are not aligned to 64
  ///                       bytes; an input or output of another state
  ///   kResourceExhausted  a device is too small, if the model's shapes are known
  Status keep_states(std::span<const StatePair> pairs);
  /// Copies a kept state to the caller's memory, where it is not there; does nothing for other
  /// outputs. Fails: as the device's copies.
  Status bring_output(std::size_t index);
  /// Bytes of kept states whose values lie on devices.
  std::int64_t kept_bytes() const;

  /// As set_input and bind_output for memory of `device`, which runs the model. Its address is
  /// aligned to 64 bytes, and it stays allocated until other memory is set or bound. Work of others
  /// on it has ended before `run` starts; the outputs are complete when `run` returns.
  /// Fails besides: kFailedPrecondition for a model that does not run wholly on the device, whose
  /// shapes a run decides, or that gives an input or a constant as an output, and for a plug-in
  /// that takes no memory of others; kInvalidArgument for what is not memory of the device;
  /// kResourceExhausted for an output that is larger than `capacity_bytes`.
  Status set_device_input(std::size_t index, const terms::TensorView& tensor,
                          const DeviceName& device);
  Status bind_device_output(std::size_t index, void* data, std::int64_t capacity_bytes,
                            const DeviceName& device);

  /// For deadlines and cancellation: the runs from now on call it; empty: none. A run in parts does
  /// not, because nothing in it can loop.
  void set_checkpoint(Checkpoint checkpoint);

  /// Runs from now on are measured, until null is given. `trace` outlives them. A run in parts is
  /// not measured.
  void set_trace(RunTrace* trace);

  /// Fails: kFailedPrecondition naming an input without a default that was not set;
  ///        kResourceExhausted for bound outputs that are too small, and at the limit on memory;
  ///        what the checkpoint and kernels report.
  Status run();

  // A run in parts, for a scheduler: `begin`, then every segment in order, `submit_segment` and
  // `poll_segment` until it is done, then `finish`.
  // Requires: a model of static shapes.

  /// Takes the inputs as `run` does.
  /// Fails: as `run` does for inputs.
  Status begin();
  /// Starts a segment and returns; a backend without workers may run it on this thread.
  Status submit_segment(std::size_t segment);
  /// Whether the segment submitted last is done.
  /// Fails: what its kernels report.
  Result<bool> poll_segment(std::size_t segment);
  /// Makes the outputs readable.
  /// Fails: kResourceExhausted for bound outputs that are too small.
  Status finish();

  /// Output of the last run that succeeded. Its memory stays valid until the next run.
  const terms::TensorView& output(std::size_t index) const;
  /// Output of the last run that succeeded, if it is a sequence or an optional; empty for tensors.
  const Value& output_value(std::size_t index) const;

  /// Hands the memory of an output of the last run to the caller, without a copy. The context's
  /// limit of memory counts it no more. `output` is empty until the next run, which allocates anew.
  /// Fails: kInvalidArgument for an index out of range; kFailedPrecondition for an output that is
  ///        bound, was taken, is no tensor, or before the first run.
  Result<Tensor> take_output(std::size_t index);

  /// Bytes that runs copied since the context was created: inputs and outputs that kernels could
  /// not read or write in the caller's memory, what they copied between the host and devices of own
  /// memory, and inputs and constants that are outputs too.
  std::int64_t copied_bytes() const;

  /// Bytes of the context's own: arena, outputs, staging.
  std::int64_t memory_bytes() const;
  /// Bytes of the command lists that it keeps for shapes of earlier runs, and of their plans.
  std::int64_t recorded_bytes() const;

 private:
  friend class LoadedModel;
  explicit Context(std::unique_ptr<ContextState> state);
  std::unique_ptr<ContextState> state_;
};

}  // namespace sluice::exec

// A compiled model on a group of cores, ready to run; and the contexts that run it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/group.h"
#include "backend/registry.h"
#include "base/result.h"
#include "exec/value.h"
#include "ir/type.h"
#include "package/executable.h"

namespace sluice::exec {

/// Where a segment of the executable runs.
struct SegmentPlacement {
  std::int32_t device = 0;  ///< of the segment's backend
  std::vector<std::int32_t> cores;

  bool operator==(const SegmentPlacement&) const = default;
};

/// Brings a constant to where a group's kernels read it best. What comes back points there and
/// keeps it there; null means where the constant lies already. Fails with kCancelled once the token
/// is asked to stop.
using BringConstant = std::function<Result<std::shared_ptr<const void>>(
    const backend::Group&, const Bytes&, const std::stop_token&)>;

struct LoadOptions {
  /// One per segment of the executable (package::segments_of); segments that are placed alike share
  /// one group of cores. Empty: all on device 0, by `cores` and `num_threads`.
  std::vector<SegmentPlacement> segments;
  /// Cores of device 0 that the model's groups take; empty for `num_threads` of them.
  std::vector<std::int32_t> cores;
  /// 0 for all the cores that the process may use. Ignored where `cores` says which.
  int num_threads = 0;
  /// Most bytes that one context's intermediate tensors may take.
  std::int64_t arena_limit_bytes = std::int64_t{1} << 40;
  /// Iterations after which a Loop is taken to have no end, and the run fails.
  std::int64_t max_loop_iterations = 100'000'000;
  /// Called when a context first records kernels that read the constant, so for a model of static
  /// shapes in create_context. Unset: all constants are read where they lie.
  BringConstant bring_constant;
};

/// Whether `tensor` is what `spec` takes. Fails: kInvalidArgument naming the tensor, what came and
/// what the model takes.
Status check_input(const package::TensorSpec& spec, const TensorView& tensor);

class Context;
struct ModelState;
struct ContextState;

/// Immutable; shared by contexts, which keep it alive. Safe from any thread.
class LoadedModel {
 public:
  /// Takes kernels from the executable's backends, packed constants from the executable where they
  /// fit the backends at hand, and packs the others now. Ends between two constants or operations
  /// once `stop` is requested.
  /// Fails: kNotFound for a backend that is not there; kDataLoss for damaged constants;
  ///        kUnimplemented for an operation that a backend no longer takes.
  static Result<LoadedModel> load(package::Executable executable,
                                  const backend::BackendRegistry& backends,
                                  const LoadOptions& options, const std::stop_token& stop = {});

  /// The same model once more, elsewhere: mapping, constants, packed constants and, on the same
  /// devices, kernels and memory plan are shared. `options.segments` or `options.cores` say where.
  /// Fails: what making groups reports; what `load` does where kernels are made anew.
  Result<LoadedModel> place(const LoadOptions& options, const std::stop_token& stop = {}) const;

  const package::Signature& signature() const;
  const package::Executable& executable() const;

  /// Segments of the executable; dynamic shapes make them one unit, which only Context::run runs.
  std::size_t num_segments() const;
  bool has_static_shapes() const;
  /// The cores that run a segment. Requires: segment < number of package::segments_of.
  const std::shared_ptr<const backend::Group>& group_of(std::size_t segment) const;
  /// Bytes that one context of a model of static shapes takes at most: arena and outputs; -1 if
  /// shapes are not known.
  std::int64_t context_bytes() const;

  /// What loading found out and a later load need not do again: constants in their backends' form,
  /// and the memory plan of a model of static shapes.
  struct Preparation {
    std::vector<package::PackedConstant> packed;
    std::optional<plan::ArenaLayout> plan;
  };
  Preparation preparation() const;

  /// A context owns an arena and bindings. Contexts of one model run at the same time without
  /// taking a lock; one context is used by one thread at a time.
  /// Fails: what recording its command lists and bringing constants report; kCancelled.
  Result<Context> create_context(const std::stop_token& stop = {}) const;

 private:
  explicit LoadedModel(std::shared_ptr<const ModelState> state) : state_(std::move(state)) {}
  std::shared_ptr<const ModelState> state_;
};

/// One run at a time of a loaded model. Movable. Strings are offsets and bytes, as in a package.
class Context {
 public:
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  /// Uses the caller's memory, without a copy if it is aligned to 64 bytes, until the next call for
  /// this input. It is read by `run`, never written.
  /// Fails: kInvalidArgument for an index, type, shape or size that the signature does not take.
  Status set_input(std::size_t index, const TensorView& tensor);
  /// An input that is a sequence or an optional, or a tensor. Shared until the next call for it.
  Status set_input_value(std::size_t index, Value value);

  /// The output is written to the caller's memory from now on, without a copy if it is aligned to
  /// 64 bytes. Null data returns to memory of the context's own, which is the default.
  Status bind_output(std::size_t index, void* data, std::int64_t capacity_bytes);

  /// Fails: kFailedPrecondition naming an input that was not set; kResourceExhausted for bound
  ///        outputs that are too small; and what kernels report.
  Status run();

  // A run in parts, for a scheduler: `begin`, then every segment in order, `submit_segment` and
  // `poll_segment` until it is done, then `finish`. Requires: a model of static shapes.

  /// Takes the inputs as `run` does. Fails: as `run` does for inputs.
  Status begin();
  /// Starts a segment and returns; a backend without workers may run it on this thread.
  Status submit_segment(std::size_t segment);
  /// Whether the segment submitted last is done. Fails: what its kernels report.
  Result<bool> poll_segment(std::size_t segment);
  /// Makes the outputs readable. Fails: kResourceExhausted for bound outputs that are too small.
  Status finish();

  /// Of the last run that succeeded. Its memory stays valid until the next run.
  const TensorView& output(std::size_t index) const;
  /// Of the last run that succeeded, for outputs that are sequences or optionals; empty for
  /// tensors.
  const Value& output_value(std::size_t index) const;

  /// Bytes of the context's own: arena, outputs, staging.
  std::int64_t memory_bytes() const;

 private:
  friend class LoadedModel;
  explicit Context(std::unique_ptr<ContextState> state);
  std::unique_ptr<ContextState> state_;
};

}  // namespace sluice::exec

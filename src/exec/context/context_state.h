// The state of a context.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/texts.h"
#include "base/containers/lru_map.h"
#include "device/stream/event_manager.h"
#include "exec/context/frame.h"
#include "exec/executors/lane_threads.h"
#include "exec/model_state.h"

namespace sluice::exec {

class KeptStates;

/// An input as the caller set it.
struct BoundInput {
  bool is_set = false;
  bool is_on_device = false;  ///< `view`: the host cannot read it
  terms::TensorView view;
  const void* address = nullptr;  ///< the caller's memory, or `staging` if that is not aligned
  AlignedBuffer staging;
  Value value;  ///< if it was set as a value
};

/// An output as the caller gets it.
struct BoundOutput {
  void* bound = nullptr;
  bool is_on_device = false;  ///< `bound`: the host cannot write it
  std::int64_t capacity_bytes = 0;
  terms::TensorView view;
  AlignedBuffer encoded;  ///< strings as offsets and bytes
  Value value;
};

struct ContextState {
  ContextState(std::shared_ptr<const ModelState> of, std::shared_ptr<ByteBudget> payer)
      : model(std::move(of)),
        memory(std::move(payer)),
        texts(memory),
        recordings(model->options.max_recorded_bytes, &list_bytes) {}

  std::shared_ptr<const ModelState> model;
  std::shared_ptr<ByteBudget> memory;         ///< what all buffers and texts are charged to
  Checkpoint checkpoint;                      ///< may be empty
  RunTrace* trace = nullptr;                  ///< of the caller; null: runs are not measured
  std::vector<device::PooledStream> streams;  // one per group of the model
  /// Orders the streams, where their backend has events and there are several of them.
  std::optional<device::EventManager> events;
  backend::TextPool texts;  // of the run under way, or the last one
  std::vector<BoundInput> inputs;
  std::vector<BoundOutput> outputs;
  std::shared_ptr<KeptStates> states;  ///< never null once created
  std::uint64_t run_number = 0;        ///< of the run under way; the first is 1
  std::uint64_t random_seed = 0;       ///< of the run under way: see RandomSource
  std::uint64_t random_run = 0;
  std::int64_t copied_bytes = 0;               ///< see Context::copied_bytes
  std::int64_t list_bytes = 0;                 // of the lists of recordings
  std::vector<std::unique_ptr<Frame>> frames;  // by subgraph; made when first run
  /// Recordings of all frames, for shapes that only runs give. A run holds those it still needs.
  LruMap<RunKey, std::shared_ptr<const Recording>, RunKeyHash> recordings;
  /// Those of recordings, by the placement that they were recorded for and keep alive.
  std::unordered_map<const plan::Placement*, std::weak_ptr<RecordedLists>> lists;
  /// On devices, of lists that were dropped: they stay there until a run has recorded others.
  std::vector<std::shared_ptr<const void>> held_constants;
  std::unique_ptr<LaneThreads> lanes;  // made when first needed

  Frame& frame(ir::SubgraphId id) {
    std::unique_ptr<Frame>& found = frames[id.index()];
    if (!found) found = std::make_unique<Frame>(*model->subgraphs[id.index()], texts.get());
    return *found;
  }
};

// What becomes of kept states when the caller binds memory.

/// For an input that is about to be set. It becomes the new value of a kept state if it lies in the
/// lent memory; else the state ends.
/// Fails: as `end_state`.
Status take_state(ContextState& state, std::size_t input, const terms::TensorView& tensor);

/// Copies the value to the lent memory. Input and output are like others from now on.
/// Fails: as the device's copies; the value is lost then, and the state has ended all the same.
Status end_state(ContextState& state, StatePair pair);

/// Fails: kInvalidArgument if another input or output shares bytes with the memory of a kept state,
///        whose value may be on a device.
Status check_states_apart(const ContextState& state);

}  // namespace sluice::exec

// The stages that a request passes on its way through a model, and the memory it needs there.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/loaded_model.h"
#include "runtime/inference/device_io.h"
#include "runtime/request.h"

namespace sluice::runtime {

enum class StageKind : std::uint8_t { kCopyIn, kCompute, kCopyOut };

/// Slots, one per request at a time, each with a context and, on devices with memory of their own,
/// buffers there; and stages: copy in, the segments, copy out. Models of dynamic shapes have one
/// stage that runs everything. A stage runs on a lane; a lane takes one slot at a time. A slot is
/// used by one thread at a time, other slots beside it by others.
class Pipeline {
 public:
  /// `devices` serve those of the model's devices that have memory of their own.
  /// Requires: num_slots >= 1. Fails: what creating contexts and buffers reports; kCancelled soon
  /// after `stop` is requested.
  static Result<Pipeline> create(exec::LoadedModel model, std::size_t num_slots,
                                 device::DeviceServiceTable& devices, const std::string& name,
                                 const std::stop_token& stop = {});

  const exec::LoadedModel& model() const { return model_; }
  std::size_t num_slots() const { return slots_.size(); }
  std::size_t num_stages() const { return stages_.size(); }
  std::size_t num_lanes() const { return num_lanes_; }
  StageKind kind(std::size_t stage) const { return stages_[stage].kind; }
  std::size_t lane(std::size_t stage) const { return stages_[stage].lane; }
  /// Of a compute stage. Models of dynamic shapes run all segments in one, their first.
  std::size_t segment(std::size_t stage) const { return stages_[stage].segment; }
  /// Of contexts and buffers, measured.
  std::int64_t memory_bytes() const;

  /// Takes a request's memory: inputs are read and outputs written there until its last stage.
  /// Fails: kBadInput.
  Status prepare(std::size_t slot, const Request& request);
  /// Starts a stage and returns, unless the backend runs it on this thread.
  Status start(std::size_t slot, std::size_t stage);
  Result<bool> poll(std::size_t slot, std::size_t stage);
  /// All stages, one after the other, after `prepare`. Blocks.
  Status run(std::size_t slot);
  /// The slot's stage will never be done: its device is lost. Copies that have not started do not.
  void abandon(std::size_t slot);
  /// After the last stage.
  Result<std::vector<OutputTensor>> take_outputs(std::size_t slot);

 private:
  struct Stage {
    StageKind kind = StageKind::kCompute;
    std::size_t segment = 0;
    std::size_t lane = 0;
  };
  struct Slot {
    exec::Context context;
    std::unique_ptr<DeviceIo> device;           // null without copy stages
    std::vector<void*> sources;                 // the request's inputs
    std::vector<std::shared_ptr<void>> owners;  // of outputs that the caller gave no memory for
    std::vector<OutputMemory> targets;          // where outputs go
  };

  explicit Pipeline(exec::LoadedModel model) : model_(std::move(model)) {}
  void add_stages(bool has_copies);
  Status bind_outputs(Slot& slot, const Request& request);
  static Status start_copy_out(Slot& slot);
  bool is_last_compute(std::size_t stage) const;

  exec::LoadedModel model_;
  std::vector<Slot> slots_;
  std::vector<Stage> stages_;
  std::size_t num_lanes_ = 0;
};

}  // namespace sluice::runtime

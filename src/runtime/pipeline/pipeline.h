// The stages of a request, and the memory that a request occupies.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/loaded_model.h"
#include "runtime/pipeline/device_io.h"
#include "runtime/request/request.h"
#include "terms/server/profile.h"

namespace sluice::runtime {

/// A request occupies a slot: a context, and on own-memory devices buffers. It passes the stages
/// copy in, one per segment, copy out; a model of dynamic shapes has one stage for everything. A
/// stage runs on a lane, and a lane runs one slot at a time. One thread at a time uses a slot;
/// several threads may use different slots.
class Pipeline {
 public:
  /// `devices` has the services of own-memory devices.
  /// Requires: num_slots >= 1. Fails: errors of creating contexts and buffers; kCancelled soon
  /// after `stop` is requested.
  static Result<Pipeline> create(exec::LoadedModel model, std::size_t num_slots,
                                 device::DeviceServiceTable& devices, const std::string& name,
                                 const std::stop_token& stop = {});

  const exec::LoadedModel& model() const { return model_; }
  std::size_t num_slots() const { return slots_.size(); }
  std::size_t num_stages() const { return stages_.size(); }
  std::size_t num_lanes() const { return num_lanes_; }
  terms::StageKind kind(std::size_t stage) const { return stages_[stage].kind; }
  std::size_t lane(std::size_t stage) const { return stages_[stage].lane; }
  /// Segment of a compute stage. A model of dynamic shapes has one such stage, which reports its
  /// first segment.
  std::size_t segment(std::size_t stage) const { return stages_[stage].segment; }
  /// The device that runs the whole model, if it has memory of its own, as LeftBytes::device: it
  /// leaves outputs there, and reads inputs that others left. Null otherwise.
  const void* left_on() const { return left_on_.get(); }
  /// Measured bytes of contexts and buffers.
  std::int64_t memory_bytes() const;
  /// Bytes of a slot that does not run: what its context keeps for shapes of earlier requests.
  std::int64_t recorded_bytes(std::size_t slot) const {
    return slots_[slot].context.recorded_bytes();
  }

  /// Binds a request's memory, which the slot reads and writes until the last stage. A model of
  /// dynamic shapes calls `checkpoint` while it runs; an error ends its stage.
  /// Fails: as Context::set_input and Request::fetch_input; kBadInput for outputs' memory.
  Status prepare(std::size_t slot, const Request& request, exec::Checkpoint checkpoint = {});
  /// Starts a stage. Returns at once, or after the stage if the backend runs it on this thread.
  Status start(std::size_t slot, std::size_t stage);
  Result<bool> poll(std::size_t slot, std::size_t stage);
  /// Runs all stages in order. `before_segment`, unless empty, is called before each segment;
  /// before all of them if the model's shapes are dynamic or inputs are copied to a device. The
  /// inputs' memory is read after it. Requires: `prepare`; with `before_segment` all inputs are
  /// aligned, or they have their values. Blocks.
  Status run(std::size_t slot, const std::function<Status(std::size_t)>& before_segment = {});
  /// Gives up the running stage, because its device is lost, and drops copies that have not
  /// started.
  void abandon(std::size_t slot);
  /// After the last stage.
  Result<std::vector<terms::OutputTensor>> take_outputs(std::size_t slot);

 private:
  struct Stage {
    terms::StageKind kind = terms::StageKind::kCompute;
    std::size_t segment = 0;
    std::size_t lane = 0;
  };
  struct Slot {
    exec::Context context;
    std::unique_ptr<DeviceIo> device;                 // null without copy stages
    std::vector<void*> sources;                       // the request's inputs
    std::vector<std::shared_ptr<const void>> copies;  // of inputs, that the device has
    std::vector<std::shared_ptr<void>> owners;        // of outputs without memory of the caller
    std::vector<terms::OutputMemory> targets;         // memory of the outputs
    std::vector<device::PooledMemory> left;           // of outputs that stay on the device
    device::Urgency urgency;                          // of the request's copies
  };

  explicit Pipeline(exec::LoadedModel model) : model_(std::move(model)) {}
  /// False: Context::run does a request in one stage, with dynamic shapes or by an executor.
  bool runs_in_parts() const;
  void add_stages(bool has_copies);
  /// False: a segment runs on another device than the first.
  bool is_on_one_device() const;
  exec::DeviceName device_name() const;
  Status bind_outputs(Slot& slot, const Request& request);
  Status bind_output(Slot& slot, std::size_t index, std::int64_t size_bytes) const;
  Status set_input(Slot& slot, std::size_t index, const Request& request) const;
  Result<terms::OutputTensor> take_output(Slot& slot, std::size_t index) const;
  static Status start_copy_out(Slot& slot);
  bool is_last_compute(std::size_t stage) const;
  Status run_by_segments(Slot& slot, const std::function<Status(std::size_t)>& before_segment);

  /// Services of the device that runs the first segment, if it has memory of its own; null
  /// otherwise.
  std::shared_ptr<device::DeviceServices> first_;
  std::shared_ptr<device::DeviceServices> left_on_;
  std::shared_ptr<const void> name_;       ///< in reports of devices, while anything below exists
  std::shared_ptr<const void> left_name_;  ///< of outputs on the device; null without `left_on_`
  exec::LoadedModel model_;
  std::vector<Slot> slots_;
  std::vector<Stage> stages_;
  std::size_t num_lanes_ = 0;
};

}  // namespace sluice::runtime

// A discrete-event simulation of devices, driven by the calls of the plug-in's table.
//
// A stream runs its steps in sequence. A step waits at a station (the cores of its group, the
// engines of a copy path) until a server is free, and occupies the server for its duration. Then
// the step takes effect: the kernel runs, the bytes are copied. Kernels wait in the order of
// submission of their lists, copies in the order in which they became ready. Time advances from
// event to event, only in `wait`, `advance_to` and `destroy_stream`.
#pragma once

#include <array>
#include <mutex>
#include <span>

#include "engine/event_log.h"
#include "engine/memory.h"
#include "engine/objects.h"
#include "engine/random.h"

namespace sluice::sim {

/// All public functions are safe across threads; one mutex guards everything.
class Simulator {
 public:
  explicit Simulator(Description description);

  const Description& description() const { return description_; }
  int num_devices() const { return static_cast<int>(description_.devices.size()); }
  /// Fails: SLUICE_NOT_FOUND.
  Status check_device(int device) const;

  Status allocate(int device, std::int64_t size_bytes, void** address);
  void free(int device, void* address);
  std::int64_t memory_used_bytes(int device) const;
  /// Fails: SLUICE_INVALID_ARGUMENT unless the bytes are allocated on the device.
  Status check_memory(int device, const void* address, std::int64_t size_bytes) const;

  /// Fails unless the cores are distinct, exist, and belong to no other group.
  Status create_group(int device, std::span<const std::int32_t> cores, Group** group);
  void destroy_group(Group* group);

  Stream* create_stream(Group* group);
  /// Lets its work finish; what can never finish is dropped.
  void destroy_stream(Stream* stream);

  CommandList* create_list(Group* group);
  /// Destroys a list; an unfinished run of the list is dropped.
  void destroy_list(CommandList* list);
  std::int64_t next_kernel_id();

  Status submit(Stream* stream, CommandList* list, std::span<void* const> bindings);
  Status wait(Stream* stream, std::int64_t timeout_ns);

  Event* create_event();
  void destroy_event(Event* event);
  void record(Event* event, Stream* stream);
  void wait_for(Event* event, Stream* stream);

  std::int64_t now_ns() const;
  std::int64_t next_event_ns() const;
  void advance_to(std::int64_t time_ns);
  std::string log() const;

  std::int64_t inject(Fault fault);
  Status clear_fault(std::int64_t id);
  Status reset_device(int device);

 private:
  struct Change {
    Stream* stream = nullptr;  ///< whose step ends
    std::int64_t loss = 0;     ///< or the fault that begins
  };
  /// The way of one copy.
  struct Route {
    Station* station = nullptr;
    std::int64_t duration_ns = 0;
    int source = -1;  ///< device, -1 for the host
    int target = -1;
  };
  struct DeviceState {
    std::vector<Group*> group_of_core;
    Station to_device, to_host, within;
    bool is_lost = false;
  };

  // simulator.cc: objects, and time
  std::int64_t next_event() const;
  void happen();
  EventKey schedule(std::int64_t time_ns, Change change);
  Status check_cores(int device, std::span<const std::int32_t> cores) const;
  DeviceState& state_of(int device) { return devices_[static_cast<std::size_t>(device)]; }
  const Device& device_of(const Group& group) const;

  // steps.cc: what streams do
  void start_next(Stream& stream);
  void dispatch(Station& station);
  void begin(Stream& stream);
  std::int64_t begin_kernel(Stream& stream);
  std::int64_t compute_ns(Stream& stream, const Kernel& kernel);
  std::int64_t begin_copy(Stream& stream);
  Status check_reach(const Stream& stream) const;
  void complete(Stream& stream);
  void end_run(Stream& stream, const Status& status);
  Station* detach(Stream& stream);
  Route route_of(const Stream& stream, const Run& run);
  std::string describe(const Stream& stream) const;

  // events.cc
  void push(Stream& stream, Run run);
  bool pass_recording(Stream& stream);
  void happened(Recording& recording);

  // faults.cc
  void lose(int device);
  void fail_all(int device, const Status& status);
  Status lost_status(int device) const;
  std::int64_t slowed(std::int64_t duration_ns, const Group& group) const;
  Status stuck_status(const Stream& stream) const;

  mutable std::mutex mutex_;
  const Description description_;
  Random random_;
  EventLog log_;
  DeviceMemories memories_;
  FaultTable faults_;
  std::vector<DeviceState> devices_;
  std::vector<std::array<Station, 2>> links_;  ///< a to b, b to a
  std::map<int, Stream*> streams_;
  std::map<EventKey, Change> events_;
  std::int64_t now_ns_ = 0;
  std::int64_t num_events_ = 0;
  std::int64_t num_submissions_ = 0;
  std::int64_t num_copies_ = 0;
  std::int64_t num_kernels_ = 0;
  int num_groups_ = 0;
  int num_streams_ = 0;
  int num_lists_ = 0;
  int num_device_events_ = 0;
};

}  // namespace sluice::sim

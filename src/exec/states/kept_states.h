// States that a context keeps: an input and an output in one memory of the caller's, which runs
// change. Between runs a value lies where it was changed last, which may be a device.
//
//     caller's memory  --set_input-->  [value]  --bring-->  caller's memory
//                                       |   ^
//                   a run on a device   v   |  a run of lists that read host memory
//                                  StateMemory
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/command_list.h"
#include "device/memory_pool.h"
#include "device/stream/stream_pool.h"
#include "exec/loaded_model.h"

namespace sluice::exec {

/// Memory of a device for one state, and the lists that copy between it and binding 0, the
/// caller's memory. Lists of kernels that name the memory keep it.
struct StateMemory {
  std::size_t group = 0;  ///< into SegmentMap::groups
  device::PooledMemory memory;
  backend::CommandList in, out;
};

/// Where recorded lists expect a state.
using StatePlace = std::pair<std::size_t, std::shared_ptr<StateMemory>>;  ///< input of the model

/// Used by one thread at a time, while no run of its context is under way or by that run.
class KeptStates {
 public:
  /// Where a state gets memory, which `owner` has in reports.
  struct Room {
    std::size_t group = 0;  ///< into SegmentMap::groups
    const std::shared_ptr<const backend::Group>& device;
    device::MemoryPool* memory = nullptr;
    std::string_view owner;
  };

  bool is_empty() const { return states_.empty(); }
  std::vector<StatePair> pairs() const;
  /// Null if there is none.
  const StatePair* find_input(std::size_t input) const;
  const StatePair* find_output(std::size_t output) const;
  /// Bytes of values that lie on devices.
  std::int64_t device_bytes() const;

  /// The value is in the caller's memory. Requires: no pair has the input or the output.
  void add(StatePair pair) { states_.push_back({pair, nullptr}); }
  void remove(std::size_t input);
  /// The value is in the caller's memory again, whatever lies on a device.
  void set_changed(std::size_t input);

  /// Memory for the state on the device of a group, the same for all lists of its size.
  /// Requires: a pair has the input.
  /// Fails: kResourceExhausted, or as the plug-in says.
  Result<std::shared_ptr<StateMemory>> place(std::size_t input, const Room& room,
                                             std::int64_t size_bytes);

  /// Moves each value to where lists want it: the caller's memory for a state that has no entry.
  /// `memories`: the caller's, by input of the model. Returns the bytes that were copied.
  /// Fails: as the plug-in's copies; the value then lies where it was.
  Result<std::int64_t> settle(std::span<const StatePlace> wanted,
                              std::span<device::PooledStream> streams,
                              std::span<void* const> memories);
  /// Copies a value to the caller's memory. It stays where it lies.
  Status bring(std::size_t input, std::span<device::PooledStream> streams, void* memory) const;

 private:
  struct State {
    StatePair pair;
    std::shared_ptr<StateMemory> at;  ///< null: the caller's memory
  };
  /// Input, group, size.
  using PlaceKey = std::tuple<std::size_t, std::size_t, std::int64_t>;

  State* find(std::size_t input);
  const State* find(std::size_t input) const;

  std::vector<State> states_;
  std::map<PlaceKey, std::weak_ptr<StateMemory>> places_;  ///< those that lists or states name
};

}  // namespace sluice::exec

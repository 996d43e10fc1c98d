// Lanes of a warp by the instruction that they are at.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/ptx/code/warp.h"

namespace sluice::cuda::ptx {

/// Lanes at one instruction. They diverge into several groups and come together again where the
/// groups' instructions meet: the group that is furthest behind runs first.
///
///     kReady --> kAtBarrier --> kReady       the block's barrier opens
///     kReady --> kAwaitsLanes --> kReady     lanes that an instruction names arrive, or end
struct Group {
  enum class State : std::uint8_t { kReady, kAtBarrier, kAwaitsLanes };

  std::uint32_t at = 0;  ///< instruction
  std::uint32_t mask = 0;
  State state = State::kReady;
  std::uint8_t barrier = 0;            ///< of kAtBarrier
  std::vector<std::uint32_t> returns;  ///< instructions behind the calls that it is in
};

class Groups {
 public:
  void start(std::uint32_t mask) { groups_.assign(1, Group{0, mask, Group::State::kReady, 0, {}}); }

  /// The ready group that runs next: of the deepest call, the one furthest behind, joined with
  /// others at its instruction. Null if none is ready.
  Group* choose();
  /// The first instruction behind `group` where another group stands; there they may join.
  std::uint32_t next_meeting(const Group& group) const;

  /// Splits lanes off a group, to go on elsewhere. Pointers to groups end.
  void split(std::size_t index, std::uint32_t mask, std::uint32_t at);
  std::size_t index_of(const Group& group) const {
    return static_cast<std::size_t>(&group - groups_.data());
  }
  Group& operator[](std::size_t index) { return groups_[index]; }
  /// Ends lanes; groups that waited for lanes look again.
  void end(std::size_t index, std::uint32_t mask);

  bool is_empty() const { return groups_.empty(); }
  std::vector<Group>& all() { return groups_; }
  const std::vector<Group>& all() const { return groups_; }

 private:
  std::vector<Group> groups_;
};

}  // namespace sluice::cuda::ptx

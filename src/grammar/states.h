// Where texts may be in an automaton: its states, which are made as texts come to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "grammar/automaton.h"
#include "text/vocabulary/pair_map.h"

namespace sluice::grammar {

struct FrameTag;
struct StateTag;
/// A stack of nodes to return to. Equal stacks have one number.
using FrameId = Id<FrameTag>;
/// A set of places. Equal sets have one number.
using StateId = Id<StateTag>;

/// Borrows the automaton. Used by one thread at a time.
class States {
 public:
  /// Places of a state at most: beyond, the grammar is too ambiguous.
  static constexpr std::size_t kMaxPlaces = 4096;
  /// What may be made before `renew_budget`: places and edges that are visited, and bytes. Beyond,
  /// the grammar is too ambiguous, too.
  static constexpr std::size_t kMaxVisits = std::size_t{1} << 22;
  static constexpr std::size_t kMaxNewBytes = std::size_t{16} << 20U;

  /// The stack of the grammar's root, and one of which nothing is known.
  static constexpr FrameId kBottom{0};
  static constexpr FrameId kUnknown{1};
  /// No text goes on from here.
  static constexpr StateId kDead{0};

  struct Place {
    NodeId node;
    FrameId stack;
    bool operator==(const Place&) const = default;
  };

  explicit States(const Automaton& automaton);

  void renew_budget() {
    visits_end_ = num_visits_ + kMaxVisits;
    bytes_end_ = size_bytes() + kMaxNewBytes;
  }

  /// The state of the node alone. Fails: kInvalidArgument for a grammar that is too ambiguous.
  Result<StateId> at(NodeId node, FrameId stack);
  /// Behind the rule of the stack's top. Requires: neither kBottom nor kUnknown.
  Result<StateId> after(FrameId stack) {
    return at(frames_[stack.index()].node, frames_[stack.index()].below);
  }

  /// The state behind one more byte. Where that would fail as `at` it is kDead, and `check` says
  /// so.
  StateId next(StateId from, std::uint8_t byte) {
    const std::size_t slot = from.index() * automaton_.num_classes() + automaton_.byte_class(byte);
    return rows_[slot].is_valid() ? rows_[slot] : make_next(from, byte, slot);
  }
  Status check() const;

  /// Those from which a byte may come.
  std::span<const Place> places(StateId state) const {
    const State& of = states_[state.index()];
    return std::span(places_).subspan(of.begin, of.end - of.begin);
  }
  /// Whether the text may end here.
  bool may_end(StateId state) const { return states_[state.index()].may_end; }
  /// Whether a rule ended whose stack is unknown.
  bool is_beyond(StateId state) const { return states_[state.index()].is_beyond; }

  std::size_t size_bytes() const;
  std::size_t num_visits() const { return num_visits_; }

 private:
  struct State {
    std::size_t begin;  ///< of its places
    std::size_t end;
    bool may_end;
    bool is_beyond;
  };
  struct Frame {
    NodeId node;
    FrameId below;
  };

  bool is_spent() const { return num_visits_ > visits_end_ || size_bytes() > bytes_end_; }
  StateId make_next(StateId from, std::uint8_t byte, std::size_t slot);
  void visit(NodeId node, FrameId stack);
  StateId close();
  StateId intern(bool may_end, bool is_beyond);
  FrameId push(NodeId node, FrameId below);

  const Automaton& automaton_;
  std::vector<Frame> frames_;
  text::PairMap<std::int32_t> frame_ids_;
  std::vector<Place> places_;
  std::vector<State> states_;
  std::unordered_multimap<std::uint64_t, StateId> by_hash_;
  std::vector<StateId> rows_;  ///< [states, classes of bytes]; not valid: not known yet
  bool is_too_ambiguous_ = false;
  std::size_t num_visits_ = 0;
  std::size_t visits_end_ = kMaxVisits;
  std::size_t bytes_end_ = kMaxNewBytes;

  // State of one closure.
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Place> fresh_;
  std::vector<Place> found_;
};

}  // namespace sluice::grammar

#include "grammar/states.h"

#include <algorithm>

namespace sluice::grammar {
namespace {

std::uint64_t key_of(const States::Place& place) {
  return text::PairMap<std::int32_t>::key(static_cast<std::uint32_t>(place.node.value()),
                                          static_cast<std::uint32_t>(place.stack.value()));
}

}  // namespace

States::States(const Automaton& automaton) : automaton_(automaton) {
  frames_.resize(2);  // kBottom and kUnknown
  intern(false, false);
  std::ranges::fill(rows_, kDead);
}

Result<StateId> States::at(NodeId node, FrameId stack) {
  visit(node, stack);
  const StateId state = close();
  SLUICE_TRY(check());
  return state;
}

Status States::check() const {
  if (!is_too_ambiguous_) return ok_status();
  return invalid_argument(
      "the grammar is too large or too ambiguous: a text goes on in too many ways");
}

StateId States::make_next(StateId from, std::uint8_t byte, std::size_t slot) {
  const State state = states_[from.index()];
  if (is_spent()) {
    is_too_ambiguous_ = true;
    return kDead;
  }
  for (std::size_t i = state.begin; i < state.end; ++i) {
    const Place place = places_[i];
    const auto edges = automaton_.byte_edges(place.node);
    num_visits_ += edges.size();
    for (const Automaton::ByteEdge& edge : edges) {
      if (edge.bytes.first <= byte && byte <= edge.bytes.last) visit(edge.target, place.stack);
    }
  }
  const StateId next = close();
  rows_[slot] = next;
  return next;
}

void States::visit(NodeId node, FrameId stack) {
  ++num_visits_;
  if (seen_.insert(key_of({node, stack})).second) fresh_.push_back({node, stack});
}

/// The state of what was visited, and of all that is reached from there without a byte.
StateId States::close() {
  bool may_end = false;
  bool is_beyond = false;
  while (!fresh_.empty() && seen_.size() <= kMaxPlaces && !is_spent()) {
    const Place place = fresh_.back();
    fresh_.pop_back();
    if (!automaton_.byte_edges(place.node).empty()) found_.push_back(place);
    for (const NodeId target : automaton_.jumps(place.node)) visit(target, place.stack);
    for (const Automaton::Call& call : automaton_.calls(place.node)) {
      // Without the return that a tail does not need, lists by recursion keep a flat stack.
      const bool is_tail = automaton_.is_tail(call.target);
      visit(call.start, is_tail ? place.stack : push(call.target, place.stack));
    }
    if (!automaton_.is_final(place.node)) continue;
    if (place.stack == kBottom) {
      may_end = true;
    } else if (place.stack == kUnknown) {
      is_beyond = true;
    } else {
      const Frame frame = frames_[place.stack.index()];
      visit(frame.node, frame.below);
    }
  }
  is_too_ambiguous_ = is_too_ambiguous_ || !fresh_.empty();
  const StateId state = fresh_.empty() ? intern(may_end, is_beyond) : kDead;
  seen_.clear();
  fresh_.clear();
  found_.clear();
  return state;
}

StateId States::intern(bool may_end, bool is_beyond) {
  std::ranges::sort(found_, {}, key_of);
  std::uint64_t hash = (may_end ? 1U : 0U) + (is_beyond ? 2U : 0U);
  for (const Place& place : found_) hash = (hash ^ key_of(place)) * 0x9E3779B97F4A7C15U + 1;
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    const StateId state = entry->second;
    const bool is_equal = this->may_end(state) == may_end && this->is_beyond(state) == is_beyond &&
                          std::ranges::equal(places(state), found_);
    if (is_equal) return state;
  }
  const StateId made(states_.size());
  const std::size_t first = places_.size();
  places_.insert(places_.end(), found_.begin(), found_.end());
  states_.push_back({first, places_.size(), may_end, is_beyond});
  rows_.resize(rows_.size() + automaton_.num_classes());
  by_hash_.emplace(hash, made);
  return made;
}

FrameId States::push(NodeId node, FrameId below) {
  std::int32_t& id = frame_ids_[key_of({node, below})];
  if (id == 0) {
    id = static_cast<std::int32_t>(frames_.size());
    frames_.push_back({node, below});
  }
  return FrameId(id);
}

std::size_t States::size_bytes() const {
  constexpr std::size_t kEntryBytes = 64;  // of a hash table, about
  return frames_.size() * (sizeof(Frame) + kEntryBytes) + places_.size() * sizeof(Place) +
         states_.size() * (sizeof(State) + kEntryBytes) + rows_.size() * sizeof(StateId);
}

}  // namespace sluice::grammar

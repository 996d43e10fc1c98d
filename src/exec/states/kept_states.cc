#include "exec/states/kept_states.h"

#include <algorithm>

namespace sluice::exec {
namespace {

Result<backend::CommandList> make_copy(const std::shared_ptr<const backend::Group>& device,
                                       const sluice_argument& source, const sluice_argument& target,
                                       std::int64_t size_bytes) {
  auto list = SLUICE_TRY(backend::CommandList::create(device));
  SLUICE_TRY(list.add_copy(source, target, size_bytes));
  SLUICE_TRY(list.finish());
  return list;
}

Result<std::int64_t> run_copy(const backend::CommandList& list, const StateMemory& at,
                              std::span<device::PooledStream> streams, void* memory) {
  device::PooledStream& stream = streams[at.group];
  SLUICE_TRY(stream->submit(list, std::span<void* const>(&memory, 1)));
  SLUICE_TRY(stream->wait());
  return at.memory.size_bytes();
}

}  // namespace

std::vector<StatePair> KeptStates::pairs() const {
  std::vector<StatePair> all;
  for (const State& state : states_) all.push_back(state.pair);
  return all;
}

KeptStates::State* KeptStates::find(std::size_t input) {
  const auto found = std::ranges::find(states_, input, [](const State& s) { return s.pair.input; });
  return found == states_.end() ? nullptr : &*found;
}

const KeptStates::State* KeptStates::find(std::size_t input) const {
  return const_cast<KeptStates*>(this)->find(input);  // NOLINT: nothing is changed
}

const StatePair* KeptStates::find_input(std::size_t input) const {
  const State* const state = find(input);
  return state == nullptr ? nullptr : &state->pair;
}

const StatePair* KeptStates::find_output(std::size_t output) const {
  const auto found =
      std::ranges::find(states_, output, [](const State& s) { return s.pair.output; });
  return found == states_.end() ? nullptr : &found->pair;
}

std::int64_t KeptStates::device_bytes() const {
  std::int64_t total = 0;
  for (const State& state : states_) total += state.at ? state.at->memory.size_bytes() : 0;
  return total;
}

void KeptStates::remove(std::size_t input) {
  std::erase_if(states_, [&](const State& state) { return state.pair.input == input; });
}

void KeptStates::set_changed(std::size_t input) {
  if (State* const state = find(input)) state->at = nullptr;
}

Result<std::shared_ptr<StateMemory>> KeptStates::place(std::size_t input, const Room& room,
                                                       std::int64_t size_bytes) {
  std::erase_if(places_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<StateMemory>& known = places_[{input, room.group, size_bytes}];
  if (auto memory = known.lock()) return memory;
  auto memory =
      SLUICE_TRY(room.memory->allocate(size_bytes, room.owner, device::MemoryCategory::kTensors));
  const sluice_argument here = backend::bound_argument(0, 0);
  const sluice_argument there = backend::fixed_argument(memory.address());
  auto in = SLUICE_TRY(make_copy(room.device, here, there, size_bytes));
  auto out = SLUICE_TRY(make_copy(room.device, there, here, size_bytes));
  auto made = std::make_shared<StateMemory>(
      StateMemory{room.group, std::move(memory), std::move(in), std::move(out)});
  known = made;
  return made;
}

Result<std::int64_t> KeptStates::settle(std::span<const StatePlace> wanted,
                                        std::span<device::PooledStream> streams,
                                        std::span<void* const> memories) {
  std::int64_t copied_bytes = 0;
  for (State& state : states_) {
    const auto place = std::ranges::find(wanted, state.pair.input, &StatePlace::first);
    const std::shared_ptr<StateMemory> to = place == wanted.end() ? nullptr : place->second;
    if (to == state.at) continue;
    void* const memory = memories[state.pair.input];
    if (state.at != nullptr) {
      copied_bytes += SLUICE_TRY(run_copy(state.at->out, *state.at, streams, memory));
    }
    if (to != nullptr) copied_bytes += SLUICE_TRY(run_copy(to->in, *to, streams, memory));
    state.at = to;
  }
  return copied_bytes;
}

Status KeptStates::bring(std::size_t input, std::span<device::PooledStream> streams,
                         void* memory) const {
  const State* const state = find(input);
  if (state == nullptr || state->at == nullptr) return ok_status();
  return run_copy(state->at->out, *state->at, streams, memory).status();
}

}  // namespace sluice::exec

#include "generate/cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/checked.h"

namespace sluice::generate {
namespace {

/// A step copies the cache, once in so many tokens; a token reads at most so many empty places.
constexpr std::int64_t kStepPlaces = 256;
constexpr std::string_view kPrefix = "state.";
constexpr std::int64_t kTooLarge = std::numeric_limits<std::int64_t>::max();

}  // namespace

Result<Cache::State> Cache::state_of(const terms::Signature& signature, std::size_t input) {
  const terms::TensorSpec& spec = signature.inputs[input];
  const auto output =
      std::ranges::find(signature.outputs, spec.name + ".next", &terms::TensorSpec::name);
  const ir::Shape* shape = spec.type.shape();
  const bool fits = output != signature.outputs.end() && shape != nullptr && shape->size() == 4 &&
                    (*shape)[0].is(1) && (*shape)[1].is_known() && !(*shape)[2].is_known() &&
                    (*shape)[3].is_known() && output->type == spec.type;
  if (!fits) {
    return invalid_argument(
        "input \"{}\" is {}, not a state [1, heads, M, size] with its next "
        "value among the outputs",
        spec.name, spec.type.to_string());
  }
  const std::int64_t size = (*shape)[3].value();
  const auto row_bytes = ir::storage_bytes(spec.type.element(), size);
  if (!row_bytes) return invalid_argument("input \"{}\" is too large", spec.name);
  return State{.input = input,
               .output = static_cast<std::size_t>(output - signature.outputs.begin()),
               .heads = (*shape)[1].value(),
               .row_bytes = *row_bytes,
               .element = spec.type.element(),
               .size = size};
}

Result<Cache> Cache::create(const terms::Signature& signature) {
  Cache cache;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (!signature.inputs[i].name.starts_with(kPrefix)) continue;
    cache.states_.push_back(SLUICE_TRY(state_of(signature, i)));
  }
  if (!cache.states_.empty()) return cache;
  return invalid_argument("the model has no states that keep keys and values");
}

MutableBytes Cache::grown(State& state, std::int64_t places) const {
  // Zeros, because attention multiplies rows that it does not see by 0: no NaN may lie there.
  MutableBytes larger(static_cast<std::size_t>(state.heads * places * state.row_bytes));
  for (std::int64_t head = 0; places_ > 0 && head < state.heads; ++head) {
    std::memcpy(larger.view().data() + head * places * state.row_bytes,
                state.memory.view().data() + head * places_ * state.row_bytes,
                static_cast<std::size_t>(places_ * state.row_bytes));
  }
  return larger;
}

std::int64_t Cache::places_with(std::int64_t places, std::int64_t most) const {
  if (places <= places_) return places_;
  const std::int64_t rounded = (places + kStepPlaces - 1) / kStepPlaces * kStepPlaces;
  return std::max(places, std::min(rounded, most));
}

Result<bool> Cache::reserve(std::int64_t places, std::int64_t most) {
  const std::int64_t wanted = places_with(places, most);
  if (wanted == places_) return false;
  if (bytes_with(places, most) == kTooLarge) {
    return make_error(Code::kResourceExhausted, "a cache of {} places is too large", wanted);
  }
  // All memory first: without enough of it nothing has changed.
  std::vector<MutableBytes> larger;
  for (State& state : states_) larger.push_back(grown(state, wanted));
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].memory = std::move(larger[i]);
  places_ = wanted;
  return true;
}

std::vector<Cache::Binding> Cache::bindings() {
  std::vector<Binding> bindings;
  for (State& state : states_) {
    const std::span<std::byte> memory = state.memory.view();
    bindings.push_back({state.input,
                        state.output,
                        {memory.data(),
                         static_cast<std::int64_t>(memory.size()),
                         state.element,
                         {1, state.heads, places_, state.size}}});
  }
  return bindings;
}

std::int64_t Cache::bytes_with(std::int64_t places, std::int64_t most) const {
  const std::int64_t wanted = places_with(places, most);
  std::int64_t bytes = 0;
  for (const State& state : states_) {
    const std::int64_t sizes[] = {state.heads, wanted, state.row_bytes};
    const auto product = checked_product(sizes);
    const auto sum = product ? checked_add(bytes, *product) : std::nullopt;
    if (!sum) return kTooLarge;
    bytes = *sum;
  }
  return bytes;
}

}  // namespace sluice::generate

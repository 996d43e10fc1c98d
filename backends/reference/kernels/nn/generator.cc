#include "reference/kernels/nn/generator.h"

#include <bit>

#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

/// The attribute; nullopt without one.
std::optional<std::uint64_t> seed_of(const Call& call) {
  if (const auto* given = call.attributes().find("seed", SLUICE_ATTRIBUTE_FLOAT)) {
    return std::bit_cast<std::uint32_t>(given->floats[0]);
  }
  if (const auto* given = call.attributes().find("seed", SLUICE_ATTRIBUTE_INT)) {
    return static_cast<std::uint64_t>(given->ints[0]);
  }
  return std::nullopt;
}

}  // namespace

Status Generator::create(const Call& call, int input, std::optional<Generator>* generator) {
  const sluice_tensor& tensor = call.input(input);
  if (tensor.element_type != plugin::kU64 || plugin::num_elements(tensor) != 3) {
    return refuse_model(call, "no state of random numbers; compile the model again");
  }
  const auto state = plugin::elements<const std::uint64_t>(tensor);
  // Nodes with equal seeds draw the same numbers, as in other runtimes.
  const std::optional<std::uint64_t> seed = seed_of(call);
  const std::int64_t stream = seed ? -1 : call.attributes().get_int("sluice_stream");
  std::uint64_t start = seed.value_or(state[0]);
  for (const std::uint64_t part : {static_cast<std::uint64_t>(stream), state[1], state[2]}) {
    start = mix(mix(start + kStep) ^ (part + kStep));
  }
  *generator = Generator(start);
  return plugin::ok();
}

}  // namespace sluice::reference

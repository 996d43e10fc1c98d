#include "exec/packed_store.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace sluice::exec {
namespace {

using Key = std::tuple<std::size_t, std::uint32_t>;  // place in the order, input

/// Packed constants of the executable by whom they are for.
std::map<Key, const package::PackedConstant*> index_of(const package::Executable& executable) {
  std::map<Key, const package::PackedConstant*> index;
  for (const package::PackedConstant& packed : executable.packed) {
    index.emplace(Key(packed.operation, packed.input), &packed);
  }
  return index;
}

bool fits(const package::PackedConstant& packed, const backend::Backend& backend,
          const backend::Packing& packing) {
  return packed.backend == backend.name() && packed.backend_version == backend.version() &&
         packed.packing_key == backend.packing_key() && packed.format == packing.format &&
         packed.data.size() == static_cast<std::size_t>(packing.size_bytes);
}

/// The bytes that the executable has for this input, or freshly packed ones.
Result<package::PackedConstant> provide(const package::Executable& executable,
                                        const package::PackedConstant* kept,
                                        const backend::Backend& backend, const backend::Op& op,
                                        const Key& key, const backend::Packing& packing) {
  if (kept != nullptr && fits(*kept, backend, packing)) {
    SLUICE_TRY(executable.verify(kept->data, op.describe() + ": its packed constant"));
    return *kept;
  }
  const auto [place, input] = key;
  constexpr std::size_t kPageBytes = 4096;
  MutableBytes bytes(static_cast<std::size_t>(packing.size_bytes), kPageBytes);
  SLUICE_TRY(backend.pack(op, static_cast<int>(input), bytes.view()));
  return package::PackedConstant{backend.name(),
                                 backend.version(),
                                 backend.packing_key(),
                                 static_cast<std::uint32_t>(place),
                                 input,
                                 packing.format,
                                 std::move(bytes).freeze()};
}

}  // namespace

Result<PackedStore> PackedStore::create(
    const package::Executable& executable,
    std::span<const std::shared_ptr<const backend::Backend>> backends) {
  PackedStore store;
  const auto kept = index_of(executable);
  const ir::Subgraph& main = executable.graph.main();
  for (std::size_t place = 0; place < main.order().size(); ++place) {
    const ir::Operation& operation = main.operation(main.order()[place]);
    const std::int16_t number = executable.backend_of[place];
    const bool has_constants =
        std::any_of(operation.inputs.begin(), operation.inputs.end(),
                    [&](ir::OperandId input) { return main.is_constant(input); });
    if (number < 0 || !has_constants) continue;
    const backend::Backend& backend = *backends[static_cast<std::size_t>(number)];
    const auto op = SLUICE_TRY(backend::Op::create({executable.graph, main, operation}));
    for (std::size_t input = 0; input < operation.inputs.size(); ++input) {
      if (!main.is_constant(operation.inputs[input])) continue;
      const auto packing = SLUICE_TRY(backend.query_packing(op, static_cast<int>(input)));
      if (!packing) continue;
      const Key key(place, static_cast<std::uint32_t>(input));
      const auto found = kept.find(key);
      store.all_.push_back(SLUICE_TRY(provide(
          executable, found == kept.end() ? nullptr : found->second, backend, op, key, *packing)));
    }
  }
  return store;
}

std::vector<std::span<const std::byte>> PackedStore::of(std::size_t place) const {
  std::vector<std::span<const std::byte>> spans;
  const auto first = std::lower_bound(
      all_.begin(), all_.end(), place,
      [](const package::PackedConstant& packed, std::size_t at) { return packed.operation < at; });
  for (auto it = first; it != all_.end() && it->operation == place; ++it) {
    spans.resize(it->input + std::size_t{1});
    spans[it->input] = it->data.view();
  }
  return spans;
}

}  // namespace sluice::exec

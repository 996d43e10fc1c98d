#include "exec/constants/packed_store.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "exec/constants/stop.h"

namespace sluice::exec {
namespace {

/// The executable's packed constants by operation and input.
PackedIndex index_of(const package::Executable& executable) {
  PackedIndex index;
  for (const package::PackedConstant& packed : executable.packed) {
    index.emplace(PackedKey(packed.subgraph, packed.operation, packed.input), &packed);
  }
  return index;
}

bool fits(const package::PackedConstant& packed, const backend::Backend& backend,
          const backend::Packing& packing) {
  return packed.backend == backend.name() && packed.backend_version == backend.version() &&
         packed.packing_key == backend.packing_key() && packed.format == packing.format &&
         packed.data.size() == static_cast<std::size_t>(packing.size_bytes);
}

/// The executable's packed bytes for this input, or the constant packed now.
Result<package::PackedConstant> provide(const package::Executable& executable,
                                        const package::PackedConstant* kept,
                                        const backend::Backend& backend, const backend::Op& op,
                                        const ir::Operand& constant, const PackedKey& key,
                                        const backend::Packing& packing,
                                        Verification& verification) {
  if (kept != nullptr && fits(*kept, backend, packing)) {
    verification.add(kept->data, op.describe() + ": its packed constant");
    return *kept;
  }
  SLUICE_TRY(
      executable.verify(constant.constant->data, fmt::format("constant \"{}\"", constant.name)));
  const auto [subgraph, position, input] = key;
  constexpr std::size_t kPageBytes = 4096;
  MutableBytes bytes(static_cast<std::size_t>(packing.size_bytes), kPageBytes);
  SLUICE_TRY(backend.pack(op, static_cast<int>(input), bytes.view()));
  return package::PackedConstant{
      backend.name(), backend.version(), backend.packing_key(),     position,
      input,          packing.format,    std::move(bytes).freeze(), subgraph};
}

}  // namespace

Result<PackedStore> PackedStore::create(
    const package::Executable& executable,
    std::span<const std::shared_ptr<const backend::Backend>> backends, Verification& verification,
    const std::stop_token& stop) {
  PackedStore store;
  const PackedIndex kept = index_of(executable);
  for (std::size_t i = 0; i < executable.backend_of.size(); ++i) {
    if (executable.backend_of[i].empty()) continue;
    SLUICE_TRY(
        store.add_subgraph(executable, kept, backends, verification, stop, ir::SubgraphId(i)));
  }
  return store;
}

Status PackedStore::add_subgraph(const package::Executable& executable, const PackedIndex& kept,
                                 std::span<const std::shared_ptr<const backend::Backend>> backends,
                                 Verification& verification, const std::stop_token& stop,
                                 ir::SubgraphId id) {
  const ir::Subgraph& subgraph = executable.graph.subgraph(id);
  for (std::size_t position = 0; position < subgraph.order().size(); ++position) {
    SLUICE_TRY(check_not_stopped(stop));
    const ir::Operation& operation = subgraph.operation(subgraph.order()[position]);
    const std::int16_t number = executable.backend_of[id.index()][position];
    const bool has_constants =
        std::any_of(operation.inputs.begin(), operation.inputs.end(),
                    [&](ir::OperandId input) { return subgraph.is_constant(input); });
    if (number < 0 || !has_constants) continue;
    const backend::Backend& backend = *backends[static_cast<std::size_t>(number)];
    const auto op = backend::Op::create({executable.graph, subgraph, operation});
    if (!op.is_ok()) continue;  // unknown ranks: constants stay unpacked
    for (std::size_t input = 0; input < operation.inputs.size(); ++input) {
      if (!subgraph.is_constant(operation.inputs[input])) continue;
      const auto packing = SLUICE_TRY(backend.query_packing(*op, static_cast<int>(input)));
      if (!packing) continue;
      const PackedKey key(static_cast<std::uint32_t>(id.index()),
                          static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(input));
      const auto found = kept.find(key);
      all_.push_back(SLUICE_TRY(provide(executable, found == kept.end() ? nullptr : found->second,
                                        backend, *op, subgraph.operand(operation.inputs[input]),
                                        key, *packing, verification)));
    }
  }
  return ok_status();
}

std::vector<std::span<const std::byte>> PackedStore::of(ir::SubgraphId subgraph,
                                                        std::size_t position) const {
  std::vector<std::span<const std::byte>> spans;
  const std::pair<std::size_t, std::size_t> wanted(subgraph.index(), position);
  const auto key = [](const package::PackedConstant& packed) {
    return std::pair<std::size_t, std::size_t>(packed.subgraph, packed.operation);
  };
  const auto first = std::lower_bound(
      all_.begin(), all_.end(), wanted,
      [&](const package::PackedConstant& packed, const auto& at) { return key(packed) < at; });
  for (auto it = first; it != all_.end() && key(*it) == wanted; ++it) {
    spans.resize(it->input + std::size_t{1});
    spans[it->input] = it->data.view();
  }
  return spans;
}

}  // namespace sluice::exec

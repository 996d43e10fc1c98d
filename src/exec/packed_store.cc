#include "exec/packed_store.h"

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

/// Bytes of a heap buffer with the alignment that tensors have.
Result<Bytes> pack_now(const backend::Backend& backend, const backend::Op& op, int input,
                       std::int64_t size_bytes) {
  const auto size = static_cast<std::size_t>(size_bytes);
  const std::align_val_t alignment{4096};
  std::shared_ptr<std::byte> memory(new (alignment) std::byte[size], [=](std::byte* bytes) {
    ::operator delete[](bytes, alignment);
  });
  const std::span<std::byte> view(memory.get(), size);
  SLUICE_TRY(backend.pack(op, input, view));
  return Bytes(std::move(memory), view);
}

}  // namespace

Result<PackedStore> PackedStore::create(
    const package::Executable& executable,
    std::span<const std::shared_ptr<const backend::Backend>> backends) {
  PackedStore store;
  const auto packed = index_of(executable);
  const ir::Subgraph& main = executable.graph.main();
  for (std::size_t place = 0; place < main.order().size(); ++place) {
    const ir::Operation& operation = main.operation(main.order()[place]);
    const std::int16_t number = executable.backend_of[place];
    if (number < 0) continue;
    const backend::Backend& backend = *backends[static_cast<std::size_t>(number)];
    for (std::size_t input = 0; input < operation.inputs.size(); ++input) {
      if (!main.is_constant(operation.inputs[input])) continue;
      const auto op = SLUICE_TRY(backend::Op::create({executable.graph, main, operation}));
      const auto packing = SLUICE_TRY(backend.query_packing(op, static_cast<int>(input)));
      if (!packing) continue;
      const auto found = packed.find(Key(place, static_cast<std::uint32_t>(input)));
      Bytes bytes;
      if (found != packed.end() && fits(*found->second, backend, *packing)) {
        bytes = found->second->data;
        SLUICE_TRY(executable.verify(bytes, operation.describe() + ": its packed constant"));
      } else {
        bytes = SLUICE_TRY(pack_now(backend, op, static_cast<int>(input), packing->size_bytes));
        store.packed_now_bytes_ += packing->size_bytes;
      }
      auto& inputs = store.by_place_[place];
      inputs.resize(operation.inputs.size());
      inputs[input] = std::move(bytes);
    }
  }
  return store;
}

std::vector<std::span<const std::byte>> PackedStore::of(std::size_t place) const {
  std::vector<std::span<const std::byte>> spans;
  const auto it = by_place_.find(place);
  if (it == by_place_.end()) return spans;
  for (const Bytes& bytes : it->second) spans.push_back(bytes.view());
  return spans;
}

}  // namespace sluice::exec

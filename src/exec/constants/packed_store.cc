#include "exec/constants/packed_store.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "backend/memory.h"
#include "base/file.h"
#include "exec/constants/stop.h"

namespace sluice::exec {
namespace {

/// Subgraph, position in its order, input.
using PackedKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
using PackedIndex = std::map<PackedKey, const package::PackedConstant*>;

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
  // Version and key stand for everything that the packing depends on: the plug-in's code and the
  // processor's instruction set.
  return packed.backend == backend.name() && packed.backend_version == backend.version() &&
         packed.packing_key == backend.packing_key() && packed.format == packing.format &&
         packed.data.size() == static_cast<std::size_t>(packing.size_bytes);
}

/// Goes through the operations of a model and provides the packed form of their constants.
class Packer {
 public:
  Packer(const package::Executable& executable,
         std::span<const std::shared_ptr<const backend::Backend>> backends,
         Verification& verification, const std::stop_token& stop, package::Draft* draft)
      : executable_(executable),
        backends_(backends),
        verification_(verification),
        stop_(stop),
        draft_(draft),
        kept_(index_of(executable)) {}

  Status run() {
    for (std::size_t i = 0; i < executable_.backend_of.size(); ++i) {
      // In order of subgraph, position and input: of() searches by bisection.
      if (!executable_.backend_of[i].empty()) SLUICE_TRY(add_subgraph(ir::SubgraphId(i)));
    }
    if (draft_ != nullptr) return draft_->map_packed(all_);
    return ok_status();
  }
  std::vector<package::PackedConstant> take_all() { return std::move(all_); }
  std::int64_t own_bytes() const { return draft_ == nullptr ? own_bytes_ : 0; }

 private:
  Status add_subgraph(ir::SubgraphId id) {
    const ir::Subgraph& subgraph = executable_.graph.subgraph(id);
    for (std::size_t position = 0; position < subgraph.order().size(); ++position) {
      SLUICE_TRY(check_not_stopped(stop_));
      const ir::Operation& operation = subgraph.operation(subgraph.order()[position]);
      const std::int16_t number = executable_.backend_of[id.index()][position];
      const bool has_constants =
          std::any_of(operation.inputs.begin(), operation.inputs.end(),
                      [&](ir::OperandId input) { return subgraph.is_constant(input); });
      if (number < 0 || !has_constants) continue;
      const backend::Backend& backend = *backends_[static_cast<std::size_t>(number)];
      backend::OpSource source = {executable_.graph, subgraph, operation};
      source.packed = stand_ins(id, position, operation);
      const auto op = backend::Op::create(source);
      // The code of a constant that was left out and is needed; other failures mean that nothing
      // can be packed.
      if (op.status().code() == Code::kFailedPrecondition) return op.status();
      if (!op.is_ok()) continue;  // unknown ranks: constants stay unpacked
      for (std::size_t input = 0; input < operation.inputs.size(); ++input) {
        if (!subgraph.is_constant(operation.inputs[input])) continue;
        const Use use = {backend, source, *op, operation.inputs[input]};
        SLUICE_TRY(add_input(use, key_of(id, position, input)));
      }
    }
    return ok_status();
  }

  /// Packed bytes of constants that are left out, by input. Backends take packed bytes as a sign of
  /// a constant whose value is not at hand.
  std::vector<std::span<const std::byte>> stand_ins(ir::SubgraphId id, std::size_t position,
                                                    const ir::Operation& operation) const {
    const ir::Subgraph& subgraph = executable_.graph.subgraph(id);
    std::vector<std::span<const std::byte>> spans(operation.inputs.size());
    for (std::size_t input = 0; input < spans.size(); ++input) {
      const ir::Constant* constant = subgraph.find_constant(operation.inputs[input]);
      if (constant == nullptr || !ir::is_left_out(*constant)) continue;
      const auto found = kept_.find(key_of(id, position, input));
      if (found != kept_.end()) spans[input] = found->second->data.view();
    }
    return spans;
  }

  static PackedKey key_of(ir::SubgraphId id, std::size_t position, std::size_t input) {
    return {static_cast<std::uint32_t>(id.index()), static_cast<std::uint32_t>(position),
            static_cast<std::uint32_t>(input)};
  }

  /// An input that is a constant.
  struct Use {
    const backend::Backend& backend;
    const backend::OpSource& source;
    const backend::Op& op;
    ir::OperandId operand;
  };

  /// The executable's packed bytes for this input, or the constant packed now.
  Status add_input(const Use& use, const PackedKey& key) {
    const auto packing =
        SLUICE_TRY(use.backend.query_packing(use.op, static_cast<int>(std::get<2>(key))));
    const auto found = kept_.find(key);
    const package::PackedConstant* kept = found == kept_.end() ? nullptr : found->second;
    if (kept != nullptr && packing && fits(*kept, use.backend, *packing)) {
      // Checksums are compared in the background while the load goes on.
      verification_.add(kept->data, use.op.describe() + ": its packed constant");
      all_.push_back(*kept);
      return ok_status();
    }
    const ir::Operand& constant = use.source.subgraph.operand(use.operand);
    if (ir::is_left_out(*constant.constant)) return left_out(constant, kept, use.backend);
    if (!packing) return ok_status();
    const Bytes& data = constant.constant->data;
    SLUICE_TRY(executable_.verify(data, fmt::format("constant \"{}\"", constant.name)));
    SLUICE_TRY(pack(use, *packing, data, key));
    if (draft_ == nullptr) return ok_status();
    // The compiler reads each constant once; its pages need not stay in memory.
    release_pages(data.view());
    return draft_->add_packed(all_.back());
  }

  static Status left_out(const ir::Operand& constant, const package::PackedConstant* kept,
                         const backend::Backend& backend) {
    const std::string there =
        kept == nullptr ? "not at all"
                        : fmt::format("as packed by {} {} for {} (\"{}\")", kept->backend,
                                      kept->backend_version, kept->packing_key, kept->format);
    return make_error(Code::kFailedPrecondition,
                      "constant \"{}\": the package, compiled with --packed-only, has it {}, but "
                      "{} {} for {} runs here and takes another form; compile the model here, or "
                      "without --packed-only",
                      constant.name, there, backend.name(), backend.version(),
                      backend.packing_key());
  }

  /// A constant that is not aligned for kernels, as it may lie in a mapped model, is copied for the
  /// time that the backend reads it.
  Status pack(const Use& use, const backend::Packing& packing, const Bytes& constant,
              const PackedKey& key) {
    const auto [subgraph, position, input] = key;
    backend::Op op = use.op;
    if (!backend::is_aligned(constant.data())) {
      backend::OpSource source = use.source;
      source.values.emplace(use.operand, MutableBytes::copy_of(constant.view()).freeze());
      release_pages(constant.view());
      op = SLUICE_TRY(backend::Op::create(source));
    }
    // Aligned to a page, as it would be in a mapped package.
    constexpr std::size_t kPageBytes = 4096;
    MutableBytes bytes(static_cast<std::size_t>(packing.size_bytes), kPageBytes);
    SLUICE_TRY(use.backend.pack(op, static_cast<int>(input), bytes.view()));
    own_bytes_ += packing.size_bytes;
    all_.push_back({use.backend.name(), use.backend.version(), use.backend.packing_key(), position,
                    input, packing.format, std::move(bytes).freeze(), subgraph});
    return ok_status();
  }

  const package::Executable& executable_;
  const std::span<const std::shared_ptr<const backend::Backend>> backends_;
  Verification& verification_;
  const std::stop_token& stop_;
  package::Draft* draft_;
  PackedIndex kept_;
  std::vector<package::PackedConstant> all_;
  std::int64_t own_bytes_ = 0;
};

}  // namespace

Result<PackedStore> PackedStore::create(
    const package::Executable& executable,
    std::span<const std::shared_ptr<const backend::Backend>> backends, Verification& verification,
    const std::stop_token& stop, package::Draft* draft) {
  Packer packer(executable, backends, verification, stop, draft);
  SLUICE_TRY(packer.run());
  PackedStore store;
  store.own_bytes_ = packer.own_bytes();
  store.all_ = packer.take_all();
  return store;
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

#include "package/draft.h"

#include <utility>

#include "base/file.h"
#include "package/create_file.h"
#include "package/writer.h"

namespace sluice::package {
namespace {

Bytes slice_of(const Bytes& file, const schema::Extent& extent) {
  return file.slice(static_cast<std::size_t>(extent.offset_bytes()),
                    static_cast<std::size_t>(extent.size_bytes()));
}

}  // namespace

// writer refers to file, so both move together behind a pointer.
struct Draft::State {
  explicit State(AtomicFile opened) : file(std::move(opened)), writer(file) {}
  AtomicFile file;
  Writer<AtomicFile> writer;
};

Draft::Draft(std::unique_ptr<State> state) : state_(std::move(state)) {}
Draft::Draft(Draft&&) noexcept = default;
Draft::~Draft() = default;

Result<Draft> Draft::create(const std::filesystem::path& target) {
  auto state = std::make_unique<State>(SLUICE_TRY(create_file(target)));
  SLUICE_TRY(state->writer.start());
  return Draft(std::move(state));
}

Status Draft::write_graph(ir::Graph& graph) {
  SLUICE_TRY(state_->writer.write_graph(graph));
  const Bytes file = SLUICE_TRY(state_->file.map());
  for (std::size_t s = 0; s < graph.num_subgraphs(); ++s) {
    ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
      ir::Operand& operand = subgraph.operand(ir::OperandId(i));
      if (!operand.constant) continue;
      // The constants point into the file from here on: the heap copies are freed before packing
      // begins, which needs the memory.
      const auto extent = state_->writer.find_constant(operand.constant->data.data());
      if (extent) operand.constant->data = slice_of(file, *extent);
    }
  }
  return ok_status();
}

Status Draft::add_packed(PackedConstant& packed) {
  SLUICE_TRY(state_->writer.add_packed(packed.data.view()));
  // Written, so no longer needed in memory; map_packed points to the bytes in the file.
  packed.data = Bytes();
  return ok_status();
}

Status Draft::map_packed(std::span<PackedConstant> packed) {
  if (packed.empty()) return ok_status();
  const Bytes file = SLUICE_TRY(state_->file.map());
  for (std::size_t i = 0; i < packed.size(); ++i) {
    packed[i].data = slice_of(file, state_->writer.packed()[i]);
  }
  return ok_status();
}

Status Draft::finish(const Executable& executable) {
  SLUICE_TRY(state_->writer.finish(executable));
  // Renames the file to its name: until here a crash leaves the former package in place.
  return state_->file.commit();
}

}  // namespace sluice::package

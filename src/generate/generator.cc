#include "generate/generator.h"

namespace sluice::generate {
namespace {

/// Tokens of a prompt that one run computes. Bounds the memory of a run.
constexpr std::int64_t kChunkTokens = 512;

}  // namespace

Result<Generator> Generator::create(const exec::LoadedModel& model) {
  Facts facts = SLUICE_TRY(facts_of(model.executable().graph.metadata));
  const Ports ports = SLUICE_TRY(find_ports(model.signature()));
  const auto page = SLUICE_TRY(PagePool::page_size(model.signature()));
  const std::int64_t most_pages = (facts.context + page.places - 1) / page.places;
  auto pool = SLUICE_TRY(PagePool::create(model.signature(), most_pages));
  auto context = SLUICE_TRY(model.create_context());
  std::vector<exec::StatePair> states;
  for (const PagePool::Binding& state : pool->bindings()) {
    SLUICE_TRY(context.set_input(state.input, state.view));
    SLUICE_TRY(context.bind_output(state.output, state.view.data, state.view.size_bytes));
    states.push_back({state.input, state.output});
  }
  SLUICE_TRY(context.keep_states(states));
  return Generator(std::move(context), Pages(std::move(pool)), ports,
                   Sequence(std::move(facts), ports.vocabulary));
}

Status Generator::start(Request request) {
  SLUICE_TRY(sequence_.start(std::move(request)));
  logits_ = {};
  return ok_status();
}

Result<std::optional<std::int64_t>> Generator::next() {
  if (sequence_.is_full()) return std::optional<std::int64_t>();
  while (true) {
    const Sequence::Piece piece = SLUICE_TRY(sequence_.next_piece(kChunkTokens));
    if (piece.ids.empty()) return sequence_.choose(logits_);
    SLUICE_TRY(run(piece));
  }
}

Status Generator::run(const Sequence::Piece& piece) {
  SLUICE_TRY(pages_.reserve(piece.end));
  batch_.clear();
  batch_.add(piece, pages_);
  for (const auto& [input, view] : batch_.inputs()) {
    SLUICE_TRY(context_.set_input(input, view));
  }
  // Anew for each run: the generator may have moved.
  context_.set_checkpoint([this] { return sequence_.check_stop(); });
  SLUICE_TRY(context_.run());
  sequence_.take_piece(piece);
  const terms::TensorView& output = context_.output(ports_.logits);
  logits_ = {static_cast<const float*>(output.data), static_cast<std::size_t>(vocabulary())};
  return ok_status();
}

}  // namespace sluice::generate

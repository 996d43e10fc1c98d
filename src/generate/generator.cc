#include "generate/generator.h"

#include "generate/logprobs.h"

namespace sluice::generate {
namespace {

/// Tokens of a prompt that one run computes. Bounds the memory of a run.
constexpr std::int64_t kChunkTokens = 512;
/// Tokens whose logits one run gives. Bounds the memory of the logits.
constexpr std::int64_t kScoredTokens = 64;

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
  SLUICE_TRY(run_batch());
  sequence_.take_piece(piece);
  logits_ = logits_of(0);
  return ok_status();
}

Status Generator::run_batch() {
  for (const auto& [input, view] : batch_.inputs()) {
    SLUICE_TRY(context_.set_input(input, view));
  }
  // Anew for each run: the generator may have moved.
  context_.set_checkpoint([this] { return sequence_.check_stop(); });
  return context_.run();
}

std::span<const float> Generator::logits_of(std::int64_t row) const {
  const terms::TensorView& output = context_.output(ports_.logits);
  return {static_cast<const float*>(output.data) + row * vocabulary(),
          static_cast<std::size_t>(vocabulary())};
}

Result<std::vector<float>> Generator::score(std::vector<std::int64_t> ids) {
  SLUICE_TRY(start({.prompt = std::move(ids), .max_tokens = 0}));
  sequence_.set_computed(0);  // the logits of all tokens are wanted, of the former sequence's, too
  const std::span<const std::int64_t> tokens = sequence_.tokens();
  std::vector<float> logprobs;
  while (sequence_.num_missing() > 0) {
    const Sequence::Piece piece = SLUICE_TRY(sequence_.next_piece(kScoredTokens));
    SLUICE_TRY(pages_.reserve(piece.end));
    batch_.clear();
    // Logits are those of a sequence's last token: each token is a sequence on the same pages.
    for (std::size_t i = 0; i < piece.ids.size(); ++i) {
      batch_.add({piece.ids.subspan(i, 1), piece.positions.subspan(i, 1), piece.end, piece.adapter},
                 pages_);
    }
    SLUICE_TRY(run_batch());
    sequence_.take_piece(piece);
    for (std::int64_t i = 0; i < std::ssize(piece.ids); ++i) {
      const std::size_t next = logprobs.size() + 1;
      if (next == tokens.size()) break;
      logprobs.push_back(logprobs_of(logits_of(i), tokens[next], 0).chosen);
    }
  }
  return logprobs;
}

}  // namespace sluice::generate

#include "grammar/grammars.h"

#include <algorithm>

#include "grammar/gbnf.h"
#include "grammar/schema/read_schema.h"

namespace sluice::grammar {

Result<Automaton> read_source(const Source& source) {
  const bool is_loose = source.form == Source::Form::kLooseSchema;
  const bool is_schema = is_loose || source.form == Source::Form::kSchema;
  const Strictness strictness = is_loose ? Strictness::kLoose : Strictness::kExact;
  auto rules = is_schema ? read_schema(source.text, strictness) : read_gbnf(source.text);
  const Rules read = SLUICE_TRY(std::move(rules).with_context(is_schema ? "schema" : "grammar"));
  return Automaton::build(read);
}

Result<std::shared_ptr<TokenGrammar>> Grammars::find(const Source& source) {
  if (source.form == Source::Form::kAny) return std::shared_ptr<TokenGrammar>();
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(
      kept_, source, [](const auto& entry) -> const Source& { return entry.first; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return found->second;
  }
  Automaton automaton = SLUICE_TRY(read_source(source));
  if (trie_ == nullptr) {
    TokenTrie trie = SLUICE_TRY(TokenTrie::create(tokenizer_));
    trie_ = std::make_shared<const TokenTrie>(std::move(trie));
  }
  auto made = std::make_shared<TokenGrammar>(std::move(automaton), trie_);
  kept_.emplace_front(source, made);
  drop_old();
  return made;
}

/// The first one stays, however large it is.
void Grammars::drop_old() {
  std::size_t bytes = 0;
  std::size_t num_kept = 0;
  for (const auto& [source, grammar] : kept_) {
    bytes += grammar->automaton_bytes();
    if (num_kept == kMaxKept || (num_kept > 0 && bytes > kMaxAutomataBytes)) break;
    ++num_kept;
  }
  kept_.resize(num_kept);
}

}  // namespace sluice::grammar

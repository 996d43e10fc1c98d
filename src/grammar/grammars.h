// The grammars that a model's texts keep to.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "grammar/token_grammar.h"
#include "grammar/token_trie.h"
#include "text/tokenizer.h"

namespace sluice::grammar {

/// What a text must be.
struct Source {
  /// kLooseSchema: words that a grammar cannot say restrict nothing.
  enum class Form { kAny, kSchema, kLooseSchema, kGbnf };
  Form form = Form::kAny;
  std::string text = {};  ///< a JSON schema, or a grammar

  bool operator==(const Source&) const = default;
};
/// The automaton of a source that is not kAny. Fails: as read_schema, read_gbnf and
/// Automaton::build.
Result<Automaton> read_source(const Source& source);

/// Grammars of one tokenizer. The last ones are kept with their masks. Safe across threads.
class Grammars {
 public:
  static constexpr std::size_t kMaxKept = 8;
  /// Limit of the automata that are kept beside the last one.
  static constexpr std::size_t kMaxAutomataBytes = std::size_t{16} << 20U;

  explicit Grammars(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  /// Null for kAny. Blocks while a grammar is read; the first call also reads the vocabulary, which
  /// takes a microsecond for each token. Fails: as read_source.
  Result<std::shared_ptr<TokenGrammar>> find(const Source& source);

 private:
  void drop_old();

  const text::Tokenizer tokenizer_;
  std::mutex mutex_;  ///< guards the rest
  std::shared_ptr<const TokenTrie> trie_;
  std::list<std::pair<Source, std::shared_ptr<TokenGrammar>>> kept_;  ///< the last used first
};

}  // namespace sluice::grammar

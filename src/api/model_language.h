// How a model's package reads and writes text, for those who ask.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/result.h"
#include "grammar/grammars.h"
#include "package/executable.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::api {

/// Read by the first call. Safe from any thread.
class ModelLanguage {
 public:
  explicit ModelLanguage(std::shared_ptr<const package::Executable> executable)
      : executable_(std::move(executable)) {}

  /// Whether the package has a tokenizer, however damaged.
  bool has_tokenizer() const;
  /// Fails: as generate::read_tokenizer.
  Result<text::Tokenizer> tokenizer() const;
  /// Fails: as generate::read_chat_template.
  Result<text::ChatTemplate> chat_template() const;
  /// The grammar that a text keeps to; null for any text. Fails: as `tokenizer` and Grammars::find.
  Result<std::shared_ptr<grammar::TokenGrammar>> grammar(const grammar::Source& source) const;

 private:
  void read() const;

  std::shared_ptr<const package::Executable> executable_;
  mutable std::once_flag is_read_;
  mutable std::optional<Result<text::Tokenizer>> tokenizer_;
  mutable std::optional<Result<text::ChatTemplate>> chat_template_;
  mutable std::optional<grammar::Grammars> grammars_;
};

}  // namespace sluice::api

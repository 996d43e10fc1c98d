// What serving texts asks of a model beside its line.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "completions/scheduler.h"
#include "dispatch/model_ref.h"
#include "generate/facts.h"
#include "generate/ports.h"
#include "grammar/grammars.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::completions {

/// Immutable but for the scheduler and the grammars.
struct LanguageModel {
  generate::Facts facts;
  generate::Ports ports;
  text::Tokenizer tokenizer;
  Result<text::ChatTemplate> chat;  ///< or why there is none
  std::shared_ptr<Scheduler> scheduler;
  std::shared_ptr<grammar::Grammars> grammars;
};

/// The input by which clients of Triton's text models ask for a text.
inline constexpr std::string_view kTextInput = "text_input";

/// Whether the package says that the model generates texts.
bool is_language_model(const dispatch::ModelRef& model);

/// Why a request with one answer gets no text, as with Triton's decoupled models.
Status text_needs_stream(const dispatch::ModelRef& model);

/// For PerModel. Takes up to a second for the tokenizer of a large vocabulary.
/// Fails: kInvalidArgument for a model that generates no text, or runs in a worker process;
///        as generate::read_tokenizer.
Result<std::shared_ptr<const LanguageModel>> read_language_model(const dispatch::ModelRef& model);

}  // namespace sluice::completions

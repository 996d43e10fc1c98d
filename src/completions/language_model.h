// What serving texts asks of a model beside its line.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "completions/scheduler.h"
#include "dispatch/model_ref.h"
#include "generate/facts.h"
#include "generate/ports.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::completions {

/// Immutable but for the scheduler.
struct LanguageModel {
  generate::Facts facts;
  generate::Ports ports;
  text::Tokenizer tokenizer;
  Result<text::ChatTemplate> chat;  ///< or why there is none
  std::shared_ptr<Scheduler> scheduler;
};

/// Whether the package says that the model generates texts.
bool is_language_model(const dispatch::ModelRef& model);

/// The language models that a daemon serves; each package is read once. Safe across threads.
class LanguageModels {
 public:
  /// Blocks while a tokenizer is read: up to a second for a large vocabulary.
  /// Fails: kInvalidArgument for a model that generates no text, or runs in a worker process;
  ///        as generate::read_tokenizer.
  Result<std::shared_ptr<const LanguageModel>> find(
      const std::shared_ptr<const dispatch::ModelRef>& model);

 private:
  struct Entry {
    std::weak_ptr<const dispatch::ModelRef> model;  ///< an unload waits for those who share it
    std::mutex mutex;                               ///< held while it is read; taken without the
                                                    ///< table's
    std::shared_ptr<const LanguageModel> language;
  };
  std::shared_ptr<Entry> entry_of(const std::shared_ptr<const dispatch::ModelRef>& model);

  std::mutex mutex_;
  std::map<const dispatch::ModelRef*, std::shared_ptr<Entry>> entries_;
};

}  // namespace sluice::completions

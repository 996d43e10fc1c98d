#include "completions/language_model.h"

#include "generate/text/package_text.h"
#include "package/executable.h"

namespace sluice::completions {
namespace {

Result<std::shared_ptr<const LanguageModel>> read(const dispatch::ModelRef& model) {
  if (model.is_remote()) {
    return invalid_argument(
        "texts are served of models in the daemon's own process; this one runs in a worker");
  }
  const auto executable = model.sink().executable();
  if (executable == nullptr) return invalid_argument("the model generates no text");
  auto facts = SLUICE_TRY(generate::facts_of(executable->graph.metadata));
  const auto ports = SLUICE_TRY(generate::find_ports(model.signature()));
  auto tokenizer = SLUICE_TRY(generate::read_tokenizer(*executable));
  auto scheduler = std::make_shared<Scheduler>(facts, ports);
  return std::make_shared<const LanguageModel>(
      LanguageModel{std::move(facts), ports, std::move(tokenizer),
                    generate::read_chat_template(*executable), std::move(scheduler)});
}

}  // namespace

bool is_language_model(const dispatch::ModelRef& model) {
  const auto executable = model.sink().executable();
  return executable != nullptr && executable->graph.metadata.contains(generate::kFact);
}

/// Forgets models that are unloaded: a later model may have the address of one.
std::shared_ptr<LanguageModels::Entry> LanguageModels::entry_of(
    const std::shared_ptr<const dispatch::ModelRef>& model) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second->model.expired(); });
  auto& entry = entries_[model.get()];
  if (entry == nullptr) {
    entry = std::make_shared<Entry>();
    entry->model = model;
  }
  return entry;
}

Result<std::shared_ptr<const LanguageModel>> LanguageModels::find(
    const std::shared_ptr<const dispatch::ModelRef>& model) {
  const auto entry = entry_of(model);
  const std::lock_guard lock(entry->mutex);
  if (entry->language == nullptr) entry->language = SLUICE_TRY(read(*model));
  return entry->language;
}

}  // namespace sluice::completions

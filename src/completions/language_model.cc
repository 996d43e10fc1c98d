#include "completions/language_model.h"

#include "generate/text/package_text.h"
#include "package/executable.h"

namespace sluice::completions {

Result<std::shared_ptr<const LanguageModel>> read_language_model(const dispatch::ModelRef& model) {
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
  auto grammars = std::make_shared<grammar::Grammars>(tokenizer);
  return std::make_shared<const LanguageModel>(LanguageModel{
      std::move(facts), ports, std::move(tokenizer), generate::read_chat_template(*executable),
      std::move(scheduler), std::move(grammars)});
}

bool is_language_model(const dispatch::ModelRef& model) {
  const auto executable = model.sink().executable();
  return executable != nullptr && executable->graph.metadata.contains(generate::kFact);
}

Status text_needs_stream(const dispatch::ModelRef& model) {
  return unimplemented(
      "model {} writes texts in several answers: ask for one over ModelStreamInfer, or with POST "
      "/v2/models/{}/generate",
      model.name(), model.name());
}

}  // namespace sluice::completions

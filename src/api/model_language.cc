#include "api/model_language.h"

#include "generate/text/package_text.h"

namespace sluice::api {

bool ModelLanguage::has_tokenizer() const { return generate::has_tokenizer(*executable_); }

void ModelLanguage::read() const {
  std::call_once(is_read_, [this] {
    tokenizer_ = generate::read_tokenizer(*executable_);
    chat_template_ = generate::read_chat_template(*executable_);
    if (tokenizer_->is_ok()) grammars_.emplace(**tokenizer_);
  });
}

Result<text::Tokenizer> ModelLanguage::tokenizer() const {
  read();
  return *tokenizer_;
}

Result<text::ChatTemplate> ModelLanguage::chat_template() const {
  read();
  return *chat_template_;
}

Result<std::shared_ptr<grammar::TokenGrammar>> ModelLanguage::grammar(
    const grammar::Source& source) const {
  if (source.form == grammar::Source::Form::kAny) return std::shared_ptr<grammar::TokenGrammar>();
  const auto tokenizer = SLUICE_TRY(this->tokenizer());
  return grammars_->find(source);
}

}  // namespace sluice::api

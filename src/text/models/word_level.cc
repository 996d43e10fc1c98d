#include "text/models/word_level.h"

#include "text/models/read_vocabulary.h"

namespace sluice::text {
namespace {

class WordLevel : public Model {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown)
      : vocabulary_(std::move(vocabulary)), unknown_(std::move(unknown)) {}

  const Vocabulary& vocabulary() const override { return vocabulary_; }

  Status encode(std::string_view word, std::vector<TokenId>& ids) const override {
    TokenId id = vocabulary_.find(word);
    if (!id.is_valid()) id = vocabulary_.find(unknown_);
    if (!id.is_valid()) {
      return invalid_argument(
          "neither a word of the text nor the unknown token \"{}\" is in the vocabulary", unknown_);
    }
    ids.push_back(id);
    return ok_status();
  }

 private:
  Vocabulary vocabulary_;
  std::string unknown_;
};

}  // namespace

Result<std::unique_ptr<const Model>> read_word_level(const Field& field) {
  Vocabulary vocabulary = SLUICE_TRY(read_vocabulary(SLUICE_TRY(field.member("vocab"))));
  std::string unknown(SLUICE_TRY(field.text_of("unk_token")));
  return std::unique_ptr<const Model>(
      std::make_unique<WordLevel>(std::move(vocabulary), std::move(unknown)));
}

}  // namespace sluice::text

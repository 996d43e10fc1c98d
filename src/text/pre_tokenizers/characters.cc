#include "text/pre_tokenizers/characters.h"

#include "text/pre_tokenizers/split_characters.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

template <typename Predicate>
class AtCharacters : public PreTokenizer {
 public:
  AtCharacters(SplitBehavior behavior, Predicate is_delimiter)
      : behavior_(behavior), is_delimiter_(is_delimiter) {}

  Status split(Pieces& pieces, RegexBudget& /*budget*/) const override {
    split_characters(pieces, behavior_, is_delimiter_);
    return ok_status();
  }

 private:
  SplitBehavior behavior_;
  Predicate is_delimiter_;
};

template <typename Predicate>
std::unique_ptr<const PreTokenizer> at_characters(SplitBehavior behavior, Predicate is_delimiter) {
  return std::make_unique<AtCharacters<Predicate>>(behavior, is_delimiter);
}

class Whitespace : public PreTokenizer {
 public:
  Status split(Pieces& pieces, RegexBudget& /*budget*/) const override {
    split_characters(pieces, SplitBehavior::kRemoved,
                     [](char32_t c) { return is_white_space(c) && !is_word(c); });
    split_characters(pieces, SplitBehavior::kContiguous, is_word);
    return ok_status();
  }
};

class Bert : public PreTokenizer {
 public:
  Status split(Pieces& pieces, RegexBudget& /*budget*/) const override {
    split_characters(pieces, SplitBehavior::kRemoved, is_white_space);
    split_characters(pieces, SplitBehavior::kIsolated, is_punctuation);
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<const PreTokenizer> make_whitespace() { return std::make_unique<Whitespace>(); }

std::unique_ptr<const PreTokenizer> make_whitespace_split() {
  return at_characters(SplitBehavior::kRemoved, is_white_space);
}

std::unique_ptr<const PreTokenizer> make_bert_pre_tokenizer() { return std::make_unique<Bert>(); }

Result<std::unique_ptr<const PreTokenizer>> read_digits(const Field& field) {
  const bool is_individual = SLUICE_TRY(field.truth_or("individual_digits", false));
  return at_characters(is_individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                       is_numeric);
}

Result<std::unique_ptr<const PreTokenizer>> read_punctuation(const Field& field) {
  auto behavior = SplitBehavior::kIsolated;
  if (const auto named = field.find("behavior")) {
    const auto name = SLUICE_TRY(named->text());
    behavior = SLUICE_TRY(parse_split_behavior(name).with_context(named->path()));
  }
  return at_characters(behavior, is_punctuation);
}

}  // namespace sluice::text

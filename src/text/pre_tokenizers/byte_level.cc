#include "text/pre_tokenizers/byte_level.h"

#include <optional>

#include "text/pre_tokenizers/split.h"
#include "text/unicode/byte_characters.h"

namespace sluice::text {
namespace {

/// GPT-2's words: contractions, letters, digits and other characters with a space before them,
/// spaces.
constexpr std::string_view kWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool adds_space, std::optional<Regex> words)
      : adds_space_(adds_space), words_(std::move(words)) {}

  Status split(Pieces& pieces, RegexBudget& budget) const override {
    if (adds_space_) add_spaces(pieces);
    if (words_) {
      SLUICE_TRY(split_at_matches(*words_, SplitBehavior::kIsolated, false, pieces, budget));
    }
    map_pieces(pieces, [](const Match& /*span*/, std::string_view piece, std::string& text) {
      append_byte_characters(text, piece);
    });
    return ok_status();
  }

 private:
  static void add_spaces(Pieces& pieces) {
    map_pieces(pieces, [](const Match& /*span*/, std::string_view piece, std::string& text) {
      if (!piece.starts_with(' ')) text += ' ';
      text += piece;
    });
  }

  bool adds_space_;
  std::optional<Regex> words_;
};

}  // namespace

Result<std::unique_ptr<const PreTokenizer>> read_byte_level(const Field& field) {
  const bool adds_space = SLUICE_TRY(field.truth_or("add_prefix_space", true));
  std::optional<Regex> words;
  if (SLUICE_TRY(field.truth_or("use_regex", true))) words = SLUICE_TRY(Regex::compile(kWords));
  return std::unique_ptr<const PreTokenizer>(
      std::make_unique<ByteLevel>(adds_space, std::move(words)));
}

}  // namespace sluice::text

#include "text/pre_tokenizers/metaspace.h"

#include "text/json/metaspace.h"
#include "text/pre_tokenizers/split_characters.h"

namespace sluice::text {
namespace {

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceFields fields) : fields_(std::move(fields)) {
    std::size_t at = 0;
    character_ = next_character(fields_.replacement, at);
  }

  Status split(Pieces& pieces, RegexBudget& /*budget*/) const override {
    map_pieces(pieces, [&](const Match& span, std::string_view piece, std::string& text) {
      append(piece, pieces.is_at_start && span.begin == 0, text);
    });
    if (fields_.splits) {
      split_characters(pieces, SplitBehavior::kMergedWithNext,
                       [this](char32_t c) { return c == character_; });
    }
    return ok_status();
  }

 private:
  void append(std::string_view piece, bool is_first, std::string& to) const {
    const bool may_prepend = fields_.prepend == PrependScheme::kAlways ||
                             (fields_.prepend == PrependScheme::kFirst && is_first);
    if (may_prepend && !piece.starts_with(' ') && !piece.starts_with(fields_.replacement)) {
      to += fields_.replacement;
    }
    for (const char byte : piece) {
      if (byte == ' ') {
        to += fields_.replacement;
      } else {
        to += byte;
      }
    }
  }

  MetaspaceFields fields_;
  char32_t character_ = 0;
};

}  // namespace

Result<std::unique_ptr<const PreTokenizer>> read_metaspace(const Field& field) {
  MetaspaceFields fields = SLUICE_TRY(read_metaspace_fields(field));
  return std::unique_ptr<const PreTokenizer>(std::make_unique<Metaspace>(std::move(fields)));
}

}  // namespace sluice::text

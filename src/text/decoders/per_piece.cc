#include "text/decoders/per_piece.h"

#include <algorithm>
#include <array>

#include "text/json/metaspace.h"
#include "text/normalizers/replace.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

using Read = Result<std::unique_ptr<const Decoder>>;

/// Replaces from left to right without looking at what it wrote. Copies the text once; most pieces
/// have no match and stay as they are.
void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string out;
  std::size_t end = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, end)) {
    out.append(text, end, at - end);
    out += to;
    end = at + from.size();
  }
  out.append(text, end);
  text = std::move(out);
}

class Metaspace : public Decoder {
 public:
  explicit Metaspace(MetaspaceFields fields) : fields_(std::move(fields)) {}

  Status decode(std::vector<std::string>& pieces, Decoding& /*decoding*/) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // The encoder put the mark before the text. It marks a word break in all other pieces, so the
      // first piece alone drops it.
      const bool was_prepended = i == 0 && fields_.prepend != PrependScheme::kNever;
      replace_all(pieces[i], fields_.replacement, was_prepended ? "" : " ");
    }
    return ok_status();
  }

 private:
  MetaspaceFields fields_;
};

class WordPiece : public Decoder {
 public:
  WordPiece(std::string_view prefix, bool cleans_up) : prefix_(prefix), cleans_up_(cleans_up) {}

  Status decode(std::vector<std::string>& pieces, Decoding& /*decoding*/) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::string& piece = pieces[i];
      // A piece with the prefix ("##ing") continues a word; another one begins a word. The first
      // piece keeps its prefix, as in the reference implementation.
      if (i > 0 && piece.starts_with(prefix_)) {
        piece.erase(0, prefix_.size());
      } else if (i > 0) {
        piece.insert(0, 1, ' ');
      }
      if (cleans_up_) clean_up(piece);
    }
    return ok_status();
  }

 private:
  // The rules of Hugging Face's `clean_up_tokenization`, in its order: one rule may make what a
  // later one matches. The odd rule for "do not" belongs to that list.
  static void clean_up(std::string& piece) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{
        {" .", "."},
        {" ?", "?"},
        {" !", "!"},
        {" ,", ","},
        {" ' ", "'"},
        {" n't", "n't"},
        {" 'm", "'m"},
        {" do not", " don't"},
        {" 's", "'s"},
        {" 've", "'ve"},
        {" 're", "'re"},
    }};
    for (const auto& [from, to] : kRules) replace_all(piece, from, to);
  }

  std::string prefix_;
  bool cleans_up_;
};

class Bpe : public Decoder {
 public:
  explicit Bpe(std::string_view suffix) : suffix_(suffix) {}

  Status decode(std::vector<std::string>& pieces, Decoding& /*decoding*/) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // The suffix ("</w>") ends a word, so it becomes a space, but for the last word of the text.
      replace_all(pieces[i], suffix_, i + 1 == pieces.size() ? "" : " ");
    }
    return ok_status();
  }

 private:
  std::string suffix_;
};

/// Takes up to `start` and `stop` characters of a kind from the ends of each piece.
class Strip : public Decoder {
 public:
  Strip(std::string_view content, std::int64_t start, std::int64_t stop)
      : content_(content), start_(start), stop_(stop) {}

  Status decode(std::vector<std::string>& pieces, Decoding& /*decoding*/) const override {
    for (std::string& piece : pieces) {
      // The two loops share what is left, so one character is not taken from both ends.
      std::string_view rest = piece;
      for (std::int64_t i = 0; i < start_ && rest.starts_with(content_); ++i) {
        rest.remove_prefix(content_.size());
      }
      for (std::int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i) {
        rest.remove_suffix(content_.size());
      }
      piece = std::string(rest);
    }
    return ok_status();
  }

 private:
  std::string content_;
  std::int64_t start_;
  std::int64_t stop_;
};

class ReplaceEach : public Decoder {
 public:
  explicit ReplaceEach(Replace replace) : replace_(std::move(replace)) {}

  Status decode(std::vector<std::string>& pieces, Decoding& decoding) const override {
    for (std::string& piece : pieces) SLUICE_TRY(replace_.normalize(piece, decoding.budget));
    return ok_status();
  }

 private:
  Replace replace_;
};

}  // namespace

Read read_metaspace_decoder(const Field& field) {
  MetaspaceFields fields = SLUICE_TRY(read_metaspace_fields(field));
  return std::unique_ptr<const Decoder>(std::make_unique<Metaspace>(std::move(fields)));
}

Read read_word_piece_decoder(const Field& field) {
  const auto prefix = SLUICE_TRY(field.text_of("prefix"));
  const bool cleans_up = SLUICE_TRY(field.truth_or("cleanup", true));
  return std::unique_ptr<const Decoder>(std::make_unique<WordPiece>(prefix, cleans_up));
}

Read read_bpe_decoder(const Field& field) {
  const auto suffix = SLUICE_TRY(field.text_of("suffix"));
  return std::unique_ptr<const Decoder>(std::make_unique<Bpe>(suffix));
}

Read read_strip_decoder(const Field& field) {
  const auto content = SLUICE_TRY(field.text_of("content"));
  const std::int64_t start = SLUICE_TRY(field.whole_or("start", 0));
  const std::int64_t stop = SLUICE_TRY(field.whole_or("stop", 0));
  if (content.empty()) return field.error("the content is empty");
  return std::unique_ptr<const Decoder>(std::make_unique<Strip>(content, start, stop));
}

Read read_replace_decoder(const Field& field) {
  Replace replace = SLUICE_TRY(Replace::read(field));
  return std::unique_ptr<const Decoder>(std::make_unique<ReplaceEach>(std::move(replace)));
}

}  // namespace sluice::text

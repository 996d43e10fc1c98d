// A token's text may depend on the tokens before it: whether a space stands before a word, which
// bytes a character has. So the last tokens whose text is out are decoded again with those that
// wait, and what is new behind their text goes out.
#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

/// A character has at most four bytes, so more tokens than this wait only for broken bytes.
constexpr std::size_t kMaxWaiting = 16;

/// Whole characters that both texts begin with.
std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto ends = std::ranges::mismatch(a, b);
  auto size = static_cast<std::size_t>(ends.in1 - a.begin());
  while (size > 0 && size < b.size() && (static_cast<unsigned char>(b[size]) & 0xC0U) == 0x80U)
    --size;
  return size;
}

std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; });
}

}  // namespace

Result<std::string> StreamDecoder::add(TokenId id) {
  ids_.push_back(id);
  const std::string text = SLUICE_TRY(tokenizer_.decode(ids_, options_));
  const bool may_change = text.ends_with(kReplacement) && ids_.size() - num_out_ < kMaxWaiting;
  const std::size_t known = common_prefix(out_, text);
  // Tokens without a text may change that of the next; a long run of them must not cost its square.
  if (text == out_ && ids_.size() - num_out_ > kMaxWaiting) ids_.pop_back();
  if (may_change || known == text.size()) return std::string();
  std::string fresh = text.substr(known);
  num_characters_ += count_characters(fresh);
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(num_out_));
  num_out_ = ids_.size();
  out_ = SLUICE_TRY(tokenizer_.decode(ids_, options_));
  return fresh;
}

Result<std::string> StreamDecoder::finish() {
  const std::string text = SLUICE_TRY(tokenizer_.decode(ids_, options_));
  std::string fresh = text.substr(common_prefix(out_, text));
  ids_.clear();
  num_characters_ = 0;
  num_out_ = 0;
  out_.clear();
  return fresh;
}

Result<std::string> StreamDecoder::spell(TokenId id) const {
  constexpr DecodeOptions kBytes = {.skips_special_tokens = false, .keeps_bytes = true};
  std::vector<TokenId> ids = ids_;
  const std::string before = SLUICE_TRY(tokenizer_.decode(ids, kBytes));
  ids.push_back(id);
  const std::string with = SLUICE_TRY(tokenizer_.decode(ids, kBytes));
  const auto fresh = std::ranges::mismatch(before, with).in2;
  return std::string(fresh, with.end());
}

Result<std::int64_t> StreamDecoder::num_characters() const {
  const std::string text = SLUICE_TRY(tokenizer_.decode(ids_, options_));
  return num_characters_ + count_characters(text) - count_characters(out_);
}

}  // namespace sluice::text

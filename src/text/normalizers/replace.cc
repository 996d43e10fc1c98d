#include "text/normalizers/replace.h"

#include "text/json/pattern.h"

namespace sluice::text {
namespace {

/// Contents are short, but a text of them may be long.
constexpr std::size_t kMaxContentBytes = 1024;
constexpr std::size_t kMaxTextBytes = std::size_t{256} << 20U;

}  // namespace

Result<Replace> Replace::read(const Field& field) {
  Regex regex = SLUICE_TRY(read_pattern(SLUICE_TRY(field.member("pattern"))));
  const auto content = SLUICE_TRY(field.text_of("content"));
  if (content.size() > kMaxContentBytes) return field.error("the content is too long");
  return Replace(std::move(regex), std::string(content));
}

Status Replace::normalize(std::string& text, RegexBudget& budget) const {
  std::string to;
  to.reserve(text.size());
  std::size_t end = 0;
  bool is_too_long = false;
  SLUICE_TRY(regex_.for_each_match(text, budget, [&](const Match& match) {
    is_too_long = is_too_long || to.size() > kMaxTextBytes;
    if (is_too_long) return;
    to.append(text, end, match.begin - end);
    to += content_;
    end = match.end;
  }));
  if (is_too_long) {
    return make_error(Code::kResourceExhausted, "normalizing makes more than {} bytes of the text",
                      kMaxTextBytes);
  }
  to.append(text, end);
  text = std::move(to);
  return ok_status();
}

}  // namespace sluice::text

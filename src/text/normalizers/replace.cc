#include "text/normalizers/replace.h"

#include "text/json/pattern.h"

namespace sluice::text {
namespace {

constexpr std::size_t kMaxContentBytes = 1024;

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
    is_too_long = is_too_long || to.size() > kMaxWorkingBytes;
    if (is_too_long) return;
    to.append(text, end, match.begin - end);
    to += content_;
    end = match.end;
  }));
  if (is_too_long) return check_working_size(to.size());
  to.append(text, end);
  text = std::move(to);
  return ok_status();
}

}  // namespace sluice::text

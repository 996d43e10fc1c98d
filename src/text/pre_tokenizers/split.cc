#include "text/pre_tokenizers/split.h"

#include "text/json/pattern.h"

namespace sluice::text {
namespace {

class Split : public PreTokenizer {
 public:
  Split(Regex regex, SplitBehavior behavior, bool is_inverse)
      : regex_(std::move(regex)), behavior_(behavior), is_inverse_(is_inverse) {}

  Status split(Pieces& pieces, RegexBudget& budget) const override {
    return split_at_matches(regex_, behavior_, is_inverse_, pieces, budget);
  }

 private:
  Regex regex_;
  SplitBehavior behavior_;
  bool is_inverse_;
};

}  // namespace

Status split_at_matches(const Regex& regex, SplitBehavior behavior, bool is_inverse, Pieces& pieces,
                        RegexBudget& budget) {
  std::vector<Match> spans;
  spans.reserve(pieces.spans.size());
  for (const Match& span : pieces.spans) {
    Splitter splitter(behavior, spans);
    std::size_t end = span.begin;
    const Status status = regex.for_each_match(pieces.piece(span), budget, [&](Match match) {
      match = {span.begin + match.begin, span.begin + match.end};
      if (end != match.begin) splitter.add({end, match.begin}, is_inverse);
      splitter.add(match, !is_inverse);
      end = match.end;
    });
    SLUICE_TRY(status);
    if (end != span.end) splitter.add({end, span.end}, is_inverse);
    splitter.finish();
  }
  pieces.spans = std::move(spans);
  return ok_status();
}

Result<std::unique_ptr<const PreTokenizer>> read_split(const Field& field) {
  Regex regex = SLUICE_TRY(read_pattern(SLUICE_TRY(field.member("pattern"))));
  const auto name = SLUICE_TRY(field.text_of("behavior"));
  const auto behavior = SLUICE_TRY(parse_split_behavior(name).with_context(field.path()));
  const bool is_inverse = SLUICE_TRY(field.truth_or("invert", false));
  return std::unique_ptr<const PreTokenizer>(
      std::make_unique<Split>(std::move(regex), behavior, is_inverse));
}

}  // namespace sluice::text

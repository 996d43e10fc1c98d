#include "generate/sequence.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text/plural.h"

namespace sluice::generate {

std::int64_t Sequence::limit() const {
  const auto prompt = static_cast<std::int64_t>(request_.prompt.size());
  const std::int64_t room = facts_.context - prompt;
  return prompt + std::min(room, request_.max_tokens.value_or(room));
}

Status Sequence::start(Request request) {
  SLUICE_TRY(request.sampling.check());
  SLUICE_TRY(request.sampling.check_ids(vocabulary_));
  const auto count = static_cast<std::int64_t>(request.prompt.size());
  if (count == 0) return invalid_argument("the prompt has no tokens");
  for (const std::int64_t id : request.prompt) {
    if (id >= 0 && id < vocabulary_) continue;
    return invalid_argument("the prompt has the id {}; the model has tokens 0 to {}", id,
                            vocabulary_ - 1);
  }
  const std::int64_t top = request.top_logprobs.value_or(0);
  if (top < 0 || top > vocabulary_) {
    return invalid_argument("top_logprobs is {}; it takes 0 to {}", top, vocabulary_);
  }
  const std::int64_t wanted = request.max_tokens.value_or(0);
  if (wanted < 0) return invalid_argument("max_tokens is {}; it takes 0 or more", wanted);
  if (count > facts_.context || wanted > facts_.context - count) {
    return make_error(Code::kOutOfRange,
                      "the prompt has {} and {} may follow; the model's context has {}",
                      counted(count, "token"), wanted, facts_.context);
  }
  const std::int64_t adapter = SLUICE_TRY(find_adapter(facts_, request.adapter));
  if (std::exchange(adapter_, adapter) != adapter) computed_ = 0;
  // The last token of the prompt is always computed: its logits are wanted.
  const auto most = std::min(static_cast<std::size_t>(computed_), request.prompt.size() - 1);
  const auto first_other =
      std::mismatch(request.prompt.begin(),
                    request.prompt.begin() + static_cast<std::ptrdiff_t>(most), tokens_.begin());
  computed_ = first_other.first - request.prompt.begin();
  tokens_ = request.prompt;
  sampler_ = Sampler(request.sampling);
  matcher_.reset();
  allowed_.clear();
  if (request.grammar != nullptr) matcher_.emplace(request.grammar);
  request_ = std::move(request);
  finish_ = Finish::kNone;
  return ok_status();
}

bool Sequence::is_full() {
  const auto count = static_cast<std::int64_t>(tokens_.size());
  if (finish_ == Finish::kNone && !tokens_.empty() && count >= limit()) {
    finish_ = count >= facts_.context ? Finish::kContext : Finish::kTokens;
  }
  return finish_ != Finish::kNone;
}

Result<Sequence::Piece> Sequence::next_piece(std::int64_t most) {
  if (tokens_.empty()) return make_error(Code::kFailedPrecondition, "no prompt was given");
  const std::int64_t count = std::min(most, num_missing());
  if (count > 0) SLUICE_TRY(check_stop());
  positions_.resize(static_cast<std::size_t>(count));
  std::iota(positions_.begin(), positions_.end(), computed_);
  const auto ids = std::span(tokens_).subspan(static_cast<std::size_t>(computed_),
                                              static_cast<std::size_t>(count));
  return Piece{ids, positions_, computed_ + count, adapter_};
}

Status Sequence::check_stop() const {
  if (!request_.is_stopped || !request_.is_stopped()) return ok_status();
  return make_error(Code::kCancelled, "the generation was stopped after {}",
                    counted(computed_, "token"));
}

bool Sequence::is_stop(std::int64_t token) const {
  return std::ranges::find(facts_.stops, token) != facts_.stops.end() ||
         std::ranges::find(request_.stops, token) != request_.stops.end();
}

/// Tokens that the grammar goes on with, and where it may end, those that end the text. False where
/// nothing can follow.
Result<bool> Sequence::allow_tokens() {
  constexpr std::int64_t kBits = 64;
  const auto mask = SLUICE_TRY(matcher_->mask());
  allowed_ = mask->bits;
  allowed_.resize(static_cast<std::size_t>((vocabulary_ + kBits - 1) / kBits));
  for (const auto* stops : {&facts_.stops, &request_.stops}) {
    for (const std::int64_t stop : *stops) {
      if (stop < 0 || stop >= vocabulary_) continue;
      std::uint64_t& word = allowed_[static_cast<std::size_t>(stop / kBits)];
      const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(stop % kBits);
      word = mask->may_end ? word | bit : word & ~bit;
    }
  }
  if (mask->is_empty && mask->may_end) return false;
  if (std::ranges::any_of(allowed_, [](std::uint64_t word) { return word != 0; })) return true;
  return make_error(Code::kFailedPrecondition,
                    "no token of the model's vocabulary goes on with the grammar");
}

Result<std::optional<std::int64_t>> Sequence::choose(std::span<const float> logits) {
  const bool may_go_on = matcher_ ? SLUICE_TRY(allow_tokens()) : true;
  if (!may_go_on) {
    finish_ = Finish::kStop;
    return std::optional<std::int64_t>();
  }
  const std::span<const std::int64_t> tokens = tokens_;
  const std::size_t prompt = request_.prompt.size();
  const std::int64_t token =
      SLUICE_TRY(sampler_.choose(logits, {tokens.first(prompt), tokens.subspan(prompt)}, allowed_));
  if (is_stop(token)) {
    finish_ = Finish::kStop;
    return std::optional<std::int64_t>();
  }
  if (matcher_) SLUICE_TRY(matcher_->accept(token));
  tokens_.push_back(token);
  if (matcher_ && matcher_->is_over()) finish_ = Finish::kStop;
  return std::optional(token);
}

}  // namespace sluice::generate

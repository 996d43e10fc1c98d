#include "generate/text/text_generator.h"

#include <fmt/format.h>

namespace sluice::generate {

Result<TextGenerator> TextGenerator::create(const exec::LoadedModel& model,
                                            std::optional<text::Tokenizer> tokenizer) {
  auto generator = SLUICE_TRY(Generator::create(model));
  return TextGenerator(std::move(generator), std::move(tokenizer));
}

Status TextGenerator::start(Request request, std::vector<std::string> stops) {
  if (!tokenizer_ && !stops.empty()) {
    return invalid_argument("texts that end the text need a model with a tokenizer");
  }
  const std::int64_t num_prompt_tokens = std::ssize(request.prompt);
  const auto top_logprobs = request.top_logprobs;
  SLUICE_TRY(generator_.start(std::move(request)));
  top_logprobs_ = top_logprobs;
  num_prompt_tokens_ = num_prompt_tokens;
  num_tokens_ = 0;
  finish_ = Finish::kNone;
  if (tokenizer_) stream_.emplace(*tokenizer_, std::move(stops));
  return ok_status();
}

Result<std::optional<TextGenerator::Piece>> TextGenerator::next() {
  if (finish_ != Finish::kNone) return std::optional<Piece>();
  const auto token = generator_.next();
  if (!token.is_ok() && token.status().code() == Code::kCancelled) return end(Finish::kCancelled);
  if (!token.is_ok()) return token.status();
  if (!*token) return end(generator_.finish());
  Piece piece = {*token, {}};
  if (top_logprobs_) {
    const auto num_top = static_cast<std::size_t>(*top_logprobs_);
    piece.logprobs = logprobs_of(generator_.logits(), **token, num_top);
  }
  if (stream_) {
    piece.text = SLUICE_TRY(stream_->add(**token));
    if (stream_->is_over()) finish_ = Finish::kStop;
  } else {
    piece.text = fmt::format("{}{}", num_tokens_ == 0 ? "" : " ", **token);
  }
  ++num_tokens_;
  return std::optional(std::move(piece));
}

Result<std::optional<TextGenerator::Piece>> TextGenerator::end(Finish finish) {
  finish_ = finish;
  if (!stream_) return std::optional<Piece>();
  std::string rest = SLUICE_TRY(stream_->finish());
  if (rest.empty()) return std::optional<Piece>();
  return std::optional(Piece{std::nullopt, std::move(rest), std::nullopt});
}

}  // namespace sluice::generate

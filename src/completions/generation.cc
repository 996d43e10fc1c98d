#include "completions/generation.h"

#include <utility>

#include "base/no_memory.h"
#include "terms/runtime_code.h"

namespace sluice::completions {
namespace {

Status cancelled() {
  return terms::runtime_error(RuntimeCode::kCancelled, "the text was cancelled");
}

}  // namespace

Generation::Generation(std::shared_ptr<dispatch::ModelRef> model,
                       std::shared_ptr<const LanguageModel> language, TextRequest request,
                       Shared& shared, std::shared_ptr<dispatch::RequestQuota> quota)
    : model_(std::move(model)),
      language_(std::move(language)),
      deadline_ns_(request.deadline_ns),
      priority_(request.priority),
      shared_(shared),
      quota_(std::move(quota)),
      sequence_(language_->facts, language_->ports.vocabulary),
      text_(language_->tokenizer, std::move(request.stops)) {}

Result<std::shared_ptr<Generation>> Generation::create(
    std::shared_ptr<dispatch::ModelRef> model, std::shared_ptr<const LanguageModel> language,
    TextRequest request, Shared& shared, std::shared_ptr<dispatch::RequestQuota> quota) {
  generate::Request tokens = std::move(request.tokens);
  std::shared_ptr<Generation> made(new Generation(std::move(model), std::move(language),
                                                  std::move(request), shared, std::move(quota)));
  made->num_prompt_tokens_ = std::ssize(tokens.prompt);
  SLUICE_TRY(made->sequence_.start(std::move(tokens)));
  return made;
}

Status Generation::start(std::shared_ptr<TextSink> sink) {
  SLUICE_TRY(quota_->enter());
  sink_ = std::move(sink);
  ++shared_.num_texts;
  if (sequence_.is_full()) {
    end(ok_status());
    return ok_status();
  }
  const Status status =
      catch_no_memory([&] { return language_->scheduler->add(shared_from_this()); });
  if (status.is_ok()) return ok_status();
  sink_ = nullptr;
  leave();
  return status;
}

Status Generation::check() const {
  if (is_cancelled_) return cancelled();
  if (!is_late()) return ok_status();
  return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed after {} tokens",
                              num_tokens_);
}

Result<generate::Sequence::Piece> Generation::next_piece(std::int64_t most) {
  piece_ = SLUICE_TRY(sequence_.next_piece(most));
  return piece_;
}

bool Generation::take(const Status& status, std::span<const float> logits) {
  const auto next = is_cancelled_     ? Result<Next>(cancelled())
                    : !status.is_ok() ? Result<Next>(status)
                                      : catch_no_memory([&] { return take_step(logits); });
  if (next.is_ok() && *next == Next::kStep) return true;
  if (next.is_ok() && *next == Next::kPause) return !pause();
  end(next.is_ok() ? ok_status() : next.status());
  return false;
}

Result<Generation::Next> Generation::take_step(std::span<const float> logits) {
  sequence_.take_piece(piece_);
  return sequence_.num_missing() > 0 ? Next::kStep : take_token(logits);
}

Result<Generation::Next> Generation::take_token(std::span<const float> logits) {
  const auto token = SLUICE_TRY(sequence_.choose(logits));
  std::string text;
  if (token) {
    ++num_tokens_;
    text = SLUICE_TRY(text_.add(*token));
  }
  const bool is_over = !token || text_.is_over() || sequence_.is_full();
  if (is_over) text += SLUICE_TRY(text_.finish());
  const bool wants_more = text.empty() || sink_->take(text);
  if (is_over) return Next::kOver;
  return wants_more ? Next::kStep : Next::kPause;
}

/// True: `resume` or `cancel` has the turn from now on.
bool Generation::pause() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_resumed_, false) || is_cancelled_) return false;
  is_paused_ = true;
  return true;
}

void Generation::resume() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_paused_, false)) {
      is_resumed_ = true;
      return;
    }
  }
  const Status status =
      catch_no_memory([&] { return language_->scheduler->add(shared_from_this()); });
  if (!status.is_ok()) end(status);
}

void Generation::cancel() {
  bool has_turn = false;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    has_turn = std::exchange(is_paused_, false);
  }
  if (has_turn || language_->scheduler->remove(*this)) end(cancelled());
}

void Generation::end(Status status) {
  Ending ending;
  ending.status = std::move(status);
  ending.is_stop = text_.is_over() || sequence_.finish() == generate::Finish::kStop;
  ending.num_prompt_tokens = num_prompt_tokens_;
  ending.num_tokens = num_tokens_;
  const auto sink = std::exchange(sink_, nullptr);
  pages_ = nullptr;
  leave();
  // A long text may find no memory for its answer; an error needs little.
  ending.status = catch_no_memory([&]() -> Status {
    sink->end(ending);
    return ok_status();
  });
  if (!ending.status.is_ok()) sink->end(ending);
}

void Generation::leave() {
  quota_->leave();
  --shared_.num_texts;
}

}  // namespace sluice::completions

#include "completions/generation.h"

#include <algorithm>
#include <utility>

#include "base/no_memory.h"
#include "base/process/with_lock.h"
#include "base/text/plural.h"
#include "generate/logprobs.h"
#include "terms/runtime_code.h"

namespace sluice::completions {
namespace {

Status cancelled() {
  return terms::runtime_error(RuntimeCode::kCancelled, "the text was cancelled");
}

}  // namespace

Generation::Generation(std::shared_ptr<dispatch::ModelRef> model,
                       std::shared_ptr<const LanguageModel> language, TextRequest request,
                       Shared& shared, dispatch::RequestLimits limits)
    : model_(std::move(model)),
      language_(std::move(language)),
      deadline_ns_(request.deadline_ns),
      priority_(std::min(request.priority, limits.max_priority)),
      account_(request.account),
      shared_(shared),
      limits_(std::move(limits)),
      sequence_(language_->facts, language_->ports.vocabulary),
      text_(language_->tokenizer, std::move(request.stops)) {}

Result<std::shared_ptr<Generation>> Generation::create(
    std::shared_ptr<dispatch::ModelRef> model, std::shared_ptr<const LanguageModel> language,
    TextRequest request, Shared& shared, dispatch::RequestLimits limits) {
  generate::Request tokens = std::move(request.tokens);
  std::shared_ptr<Generation> made(new Generation(std::move(model), std::move(language),
                                                  std::move(request), shared, std::move(limits)));
  made->top_logprobs_ = tokens.top_logprobs;
  made->num_prompt_tokens_ = std::ssize(tokens.prompt);
  SLUICE_TRY(made->sequence_.start(std::move(tokens)));
  return made;
}

Status Generation::start(std::shared_ptr<TextSink> sink) {
  SLUICE_TRY(limits_.quota->enter());
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

void Generation::set_pool(std::shared_ptr<generate::PagePool> pool) {
  const std::int64_t places = pool->places();
  pages_ = std::make_shared<generate::Pages>(std::move(pool));
  auto known = language_->scheduler->prefixes().find(sequence_.tokens(), places, page_account());
  const std::int64_t computed = std::ssize(known) * places;
  pages_->share(std::move(known));
  sequence_.set_computed(computed);
  // Later calls follow a loss of pages: the cache may hold this text's own tokens then.
  if (std::exchange(has_begun_, true)) return;
  num_cached_tokens_ = computed;
  shared_.num_prompt_tokens += num_prompt_tokens_;
  shared_.num_cached_tokens += num_cached_tokens_;
}

/// Pages of one adapter say nothing about texts of another: each has accounts of its own.
std::uint64_t Generation::page_account() const {
  const std::uint64_t count = language_->facts.adapters.size() + 1;
  return account_ * count + static_cast<std::uint64_t>(sequence_.adapter() + 1);
}

/// Others may share the pages that the last piece filled.
void Generation::keep_pages() {
  const std::int64_t places = pages_->pool().places();
  const std::int64_t begin = piece_.end - std::ssize(piece_.ids);
  if (piece_.end / places == begin / places) return;
  const auto computed = sequence_.tokens().first(static_cast<std::size_t>(piece_.end));
  language_->scheduler->prefixes().keep(computed, pages_->pages(), places, kept_, page_account());
}

Status Generation::check() const {
  if (is_cancelled_) return cancelled();
  if (!is_late()) return ok_status();
  return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed after {}",
                              counted(num_tokens_, "token"));
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
  keep_pages();
  return sequence_.num_missing() > 0 ? Next::kStep : take_token(logits);
}

Result<Generation::Next> Generation::take_token(std::span<const float> logits) {
  const auto token = SLUICE_TRY(sequence_.choose(logits));
  Piece piece;
  if (token) {
    ++num_tokens_;
    if (top_logprobs_) SLUICE_TRY(add_logprobs(logits, *token, piece));
    piece.text = SLUICE_TRY(text_.add(*token));
  }
  const bool is_over = !token || text_.is_over() || sequence_.is_full();
  if (is_over) piece.text += SLUICE_TRY(text_.finish());
  const bool says_something = !piece.text.empty() || !piece.logprobs.empty();
  const bool wants_more = !says_something || sink_->take(piece);
  if (is_over) return Next::kOver;
  return wants_more ? Next::kStep : Next::kPause;
}

/// Before the text has the token: each is spelled behind the tokens so far.
Status Generation::add_logprobs(std::span<const float> logits, std::int64_t token,
                                Piece& piece) const {
  const auto found = generate::logprobs_of(logits, token, static_cast<std::size_t>(*top_logprobs_));
  piece.offset = SLUICE_TRY(text_.num_characters());
  std::string chosen = SLUICE_TRY(text_.spell(token));
  piece.logprobs.push_back({std::move(chosen), found.chosen});
  for (const auto& [id, logprob] : found.top) {
    std::string bytes = SLUICE_TRY(text_.spell(id));
    piece.logprobs.push_back({std::move(bytes), logprob});
  }
  return ok_status();
}

/// True: `resume` or `cancel` has the turn from now on.
bool Generation::pause() {
  // First: once it is paused, somebody may resume or end it at once.
  language_->scheduler->pause(shared_from_this());
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_resumed_, false) && !is_cancelled_) {
      is_paused_ = true;
      return true;
    }
  }
  language_->scheduler->remove(*this);
  return false;
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
  const bool has_turn = with_lock(mutex_, [&] {
    is_cancelled_ = true;
    return std::exchange(is_paused_, false);
  });
  const bool waited = language_->scheduler->remove(*this);
  if (has_turn || waited) end(cancelled());
}

void Generation::end(Status status) {
  Ending ending;
  ending.status = std::move(status);
  ending.is_stop = text_.is_over() || sequence_.finish() == generate::Finish::kStop;
  ending.num_prompt_tokens = num_prompt_tokens_;
  ending.num_cached_tokens = num_cached_tokens_;
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
  limits_.quota->leave();
  --shared_.num_texts;
}

}  // namespace sluice::completions

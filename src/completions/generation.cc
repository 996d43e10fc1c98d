// A step's request has no deadline: in the model's line a text with little time would pass all
// others with each token. The deadline is looked at between steps instead.
#include "completions/generation.h"

#include <fmt/format.h>

#include <utility>

#include "base/no_memory.h"
#include "terms/runtime_code.h"

namespace sluice::completions {
namespace {

/// Tokens of a prompt that one step computes: the tokens of other texts wait for it.
constexpr std::int64_t kChunkTokens = 128;

Status cancelled() {
  return terms::runtime_error(RuntimeCode::kCancelled, "the text was cancelled");
}

}  // namespace

Generation::Generation(std::shared_ptr<dispatch::ModelRef> model,
                       std::shared_ptr<const LanguageModel> language, TextRequest request,
                       Shared& shared, std::shared_ptr<dispatch::RequestQuota> quota,
                       generate::Cache cache)
    : model_(std::move(model)),
      language_(std::move(language)),
      deadline_ns_(request.deadline_ns),
      priority_(request.priority),
      shared_(shared),
      quota_(std::move(quota)),
      sequence_(language_->facts, language_->ports.vocabulary),
      text_(language_->tokenizer, std::move(request.stops)),
      cache_(std::move(cache)),
      logits_(static_cast<std::size_t>(language_->ports.vocabulary) * sizeof(float)) {}

Result<std::shared_ptr<Generation>> Generation::create(
    std::shared_ptr<dispatch::ModelRef> model, std::shared_ptr<const LanguageModel> language,
    TextRequest request, Shared& shared, std::shared_ptr<dispatch::RequestQuota> quota) {
  auto cache = SLUICE_TRY(generate::Cache::create(model->signature()));
  generate::Request tokens = std::move(request.tokens);
  std::shared_ptr<Generation> made(new Generation(std::move(model), std::move(language),
                                                  std::move(request), shared, std::move(quota),
                                                  std::move(cache)));
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
  const Status status = catch_no_memory([&]() -> Status {
    charge_ = SLUICE_TRY(ByteCharge::take(shared_.caches, 0));
    piece_ = SLUICE_TRY(sequence_.next_piece(kChunkTokens));
    return step();
  });
  if (status.is_ok()) return ok_status();
  sink_ = nullptr;
  leave();
  return status;
}

/// Submits the piece. Once it has, somebody else may have the turn.
Status Generation::step() {
  if (deadline_ns_ <= model_->clock().now_ns()) {
    return terms::runtime_error(RuntimeCode::kTimeout, "the deadline passed after {} tokens",
                                num_tokens_);
  }
  const std::int64_t context = language_->facts.context;
  SLUICE_TRY(charge_.resize(cache_.bytes_with(piece_.end, context))
                 .with_context("caches of texts in the making"));
  SLUICE_TRY(cache_.reserve(piece_.end, context));
  runtime::Request request = step_request();
  const auto flight = SLUICE_TRY(take_off());
  return shared_.flights.post(flight, request, nullptr);
}

runtime::Request Generation::step_request() {
  const terms::Signature& signature = model_->signature();
  const generate::Ports& ports = language_->ports;
  runtime::Request request;
  request.inputs.resize(signature.inputs.size());
  request.outputs.resize(signature.outputs.size());
  request.inputs[ports.ids] = generate::view_of(piece_.ids);
  request.inputs[ports.positions] = generate::view_of(piece_.positions);
  for (const generate::Cache::Binding& state : cache_.bindings()) {
    request.inputs[state.input] = state.view;
    request.outputs[state.output] = {state.view.data, state.view.size_bytes};
  }
  const std::span<std::byte> logits = logits_.view();
  request.outputs[ports.logits] = {logits.data(), static_cast<std::int64_t>(logits.size())};
  request.priority = priority_;
  request.memory_owner = shared_from_this();
  request.on_done = [self = shared_from_this()](const runtime::Reply& reply) { self->take(reply); };
  return request;
}

Result<std::shared_ptr<dispatch::Flight>> Generation::take_off() {
  auto flight = shared_.flights.enter(model_, /*may_compute=*/false);
  {
    const std::lock_guard lock(mutex_);
    if (!is_cancelled_) {
      flight_ = flight;
      return flight;
    }
  }
  shared_.flights.drop(*flight);
  return cancelled();
}

void Generation::take(const runtime::Reply& reply) {
  go_on(catch_no_memory([&] { return take_step(reply); }));
}

Result<Generation::Next> Generation::take_step(const runtime::Reply& reply) {
  if (reply.code != RuntimeCode::kOk) return reply.errors.to_status();
  sequence_.take_piece(piece_);
  piece_ = SLUICE_TRY(sequence_.next_piece(kChunkTokens));
  return piece_.ids.empty() ? take_token() : Next::kStep;
}

Result<Generation::Next> Generation::take_token() {
  const auto* logits = reinterpret_cast<const float*>(logits_.view().data());
  const auto vocabulary = static_cast<std::size_t>(language_->ports.vocabulary);
  const auto token = SLUICE_TRY(sequence_.choose({logits, vocabulary}));
  std::string text;
  if (token) {
    ++num_tokens_;
    text = SLUICE_TRY(text_.add(*token));
  }
  const bool is_over = !token || text_.is_over() || sequence_.is_full();
  if (is_over) text += SLUICE_TRY(text_.finish());
  const bool wants_more = text.empty() || sink_->take(text);
  if (is_over) return Next::kOver;
  piece_ = SLUICE_TRY(sequence_.next_piece(kChunkTokens));
  return wants_more ? Next::kStep : Next::kPause;
}

/// With the turn.
void Generation::go_on(const Result<Next>& next) {
  if (!next.is_ok()) return end(next.status());
  if (*next == Next::kOver) return end(ok_status());
  if (*next == Next::kPause && pause()) return;
  const Status status = catch_no_memory([&] { return step(); });
  if (!status.is_ok()) end(status);
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
  go_on(Next::kStep);
}

void Generation::cancel() {
  std::shared_ptr<dispatch::Flight> flight;
  bool was_paused = false;
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    was_paused = std::exchange(is_paused_, false);
    flight = flight_;
  }
  if (was_paused) return end(cancelled());
  if (flight != nullptr) flight->cancel();  // one that was answered takes no notice
}

void Generation::end(Status status) {
  Ending ending;
  ending.status = std::move(status);
  ending.is_stop = text_.is_over() || sequence_.finish() == generate::Finish::kStop;
  ending.num_prompt_tokens = num_prompt_tokens_;
  ending.num_tokens = num_tokens_;
  const auto sink = std::exchange(sink_, nullptr);
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

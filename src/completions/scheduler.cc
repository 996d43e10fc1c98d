// A step's request has no deadline: in the model's line a text with little time would pass all
// others with each token. The deadline is looked at between steps instead.
#include "completions/scheduler.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "base/no_memory.h"
#include "base/process/with_lock.h"
#include "completions/generation.h"
#include "terms/runtime_code.h"

namespace sluice::completions {
namespace {

/// Tokens of a step: those that decode, and pieces of prompts, for which the others wait.
constexpr std::int64_t kStepTokens = 128;
/// Texts of a step. Bounds its logits, and how long a token takes.
constexpr std::size_t kStepTexts = 32;
/// Tokens of prompts for which a step has room whatever its other texts are. A prompt that comes
/// behind so many waits for the next step.
constexpr std::int64_t kPromptTokens = kStepTokens - static_cast<std::int64_t>(kStepTexts);
/// Texts of full length whose pages a pool has at most. It takes addresses, not memory.
constexpr std::int64_t kPoolTexts = 64;

bool has_results(const runtime::Reply& reply) {
  // Where a model looks for NaN, the text whose logits have one fails by its choice of a token.
  return reply.code == RuntimeCode::kOk || reply.code == RuntimeCode::kNumericError;
}

bool decodes(const std::shared_ptr<Generation>& text) { return text->num_missing() == 1; }

bool has_pages(const std::shared_ptr<Generation>& text) { return text->num_pages() > 0; }

/// Whether `a` keeps its pages rather than `b`: what it has computed would be lost.
bool comes_before(const Generation& a, const Generation& b) {
  return std::tuple(a.priority(), a.num_pages(), &a) > std::tuple(b.priority(), b.num_pages(), &b);
}

bool are_all_cancelled(const std::vector<std::shared_ptr<Generation>>& texts) {
  return !texts.empty() &&
         std::ranges::all_of(texts, [](const auto& text) { return text->is_cancelled(); });
}

}  // namespace

Status Scheduler::add(std::shared_ptr<Generation> text) {
  const Generation* const newcomer = text.get();
  {
    const std::lock_guard lock(mutex_);
    // Texts fly and come back without an allocation.
    std::erase(paused_, text);
    const std::size_t most = waiting_.size() + flying_.size() + paused_.size() + 1;
    waiting_.reserve(most);
    paused_.reserve(most);
    flying_.reserve(kStepTexts);
    waiting_.push_back(std::move(text));
    if (std::exchange(is_running_, true)) return ok_status();
  }
  return run(newcomer);
}

bool Scheduler::remove(const Generation& text) {
  std::shared_ptr<dispatch::Flight> flight;
  {
    const std::lock_guard lock(mutex_);
    const auto address = [](const auto& other) { return other.get(); };
    std::erase_if(paused_, [&](const auto& other) { return other.get() == &text; });
    const auto found = std::ranges::find(waiting_, &text, address);
    if (found != waiting_.end()) {
      waiting_.erase(found);
      return true;
    }
    if (are_all_cancelled(flying_)) flight = flight_;
  }
  if (flight != nullptr) flight->cancel();  // one that was answered takes no notice
  return false;
}

void Scheduler::pause(std::shared_ptr<Generation> text) {
  const std::lock_guard lock(mutex_);
  paused_.push_back(std::move(text));
}

/// Requires: is_running_ is the caller's. It is the step's in flight afterwards, or nobody's.
Status Scheduler::run(const Generation* newcomer) {
  Status refused;
  const auto refuse = [&](const std::shared_ptr<Generation>& text, const Status& why) {
    if (text.get() == newcomer) {
      refused = why;
    } else {
      text->end(why);
    }
  };
  while (true) {
    while (const auto late = take_late()) {
      refuse(late, catch_no_memory([&] { return late->check(); }));
    }
    if (!choose()) return refused;
    std::shared_ptr<Step> step;
    Status status = catch_no_memory([&]() -> Status {
      step = free_step();
      step->texts.reserve(flying_.size());
      step->pages.reserve(flying_.size());
      short_.reserve(flying_.size());
      return ok_status();
    });
    // Who makes the step alone changes flying_, so it may be read without the lock.
    for (const std::shared_ptr<Generation>& text : flying_) {
      const Result<bool> joined = status.is_ok()
                                      ? catch_no_memory([&] { return join(*step, text); })
                                      : Result<bool>(status);
      if (!joined.is_ok()) {
        refuse(text, joined.status());
      } else if (!*joined) {
        short_.push_back(text);
      }
    }
    if (!status.is_ok()) continue;
    wait_for_pages(*step);
    if (step->texts.empty()) continue;
    status = catch_no_memory([&]() -> Status {
      SLUICE_TRY(fill(*step));
      return post(step);
    });
    if (status.is_ok()) return refused;
    if (terms::runtime_code_of(status) == RuntimeCode::kQueueFull) {
      if (catch_no_memory([&] { return post_later(step); }).is_ok()) return refused;
    }
    for (const std::shared_ptr<Generation>& text : step->texts) refuse(text, status);
    step->texts.clear();
    step->pages.clear();
  }
}

/// Takes a text that waits in vain out of the line, so that it ends without a place in a step. Null
/// without any.
std::shared_ptr<Generation> Scheduler::take_late() {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      waiting_, [](const auto& text) { return text->is_cancelled() || text->is_late(); });
  if (found == waiting_.end()) return nullptr;
  auto late = std::move(*found);
  waiting_.erase(found);
  return late;
}

/// Whether a text without pages waits until another has ended.
bool Scheduler::may_not_begin(const Generation& text) const {
  return is_short_ && text.num_pages() == 0 && text.priority() <= least_priority_;
}

/// Takes the texts of the next step. False, and nobody runs, without any.
bool Scheduler::choose() {
  const std::lock_guard lock(mutex_);
  std::ranges::stable_sort(waiting_, std::greater(),
                           [](const auto& text) { return text->priority(); });
  flying_.clear();
  flight_ = nullptr;
  is_short_ = is_short_ && std::ranges::any_of(waiting_, has_pages);
  least_priority_ = std::numeric_limits<std::int32_t>::max();
  for (const auto& text : waiting_) {
    if (has_pages(text)) least_priority_ = std::min(least_priority_, text->priority());
  }
  std::int64_t prompt_tokens = 0;
  for (std::shared_ptr<Generation>& text : waiting_) {
    if (flying_.size() == kStepTexts) break;
    if (may_not_begin(*text)) continue;
    if (!flying_.empty() && flying_.front()->max_run_ns() != text->max_run_ns()) continue;
    if (!decodes(text)) {
      if (prompt_tokens >= kPromptTokens) continue;
      prompt_tokens += text->num_missing();
    }
    flying_.push_back(std::move(text));
  }
  std::erase(waiting_, nullptr);
  is_running_ = !flying_.empty();
  return is_running_;
}

/// Takes pages for the text's next piece. False: it waits for them.
Result<bool> Scheduler::join(Step& step, const std::shared_ptr<Generation>& text) {
  SLUICE_TRY(text->check());
  if (may_not_begin(*text)) return false;
  if (text->pages() == nullptr) text->set_pool(SLUICE_TRY(pool_of(*text)));
  if (!SLUICE_TRY(reserve(step, *text))) return false;
  step.texts.push_back(text);
  return true;
}

/// Texts that decode come first, so prompts get the tokens that are left.
Status Scheduler::fill(Step& step) {
  std::stable_partition(step.texts.begin(), step.texts.end(), decodes);
  for (const std::shared_ptr<Generation>& text : step.texts) {
    step.batch.add(SLUICE_TRY(text->next_piece(kStepTokens - step.batch.num_rows())),
                   *text->pages());
    step.pages.push_back(text->pages());
  }
  return ok_status();
}

/// Takes the pages that `text` lacks, if need be those of a text that `comes_before` puts last.
/// That order is total, so its first text gets what it needs and ends, and the others follow.
/// False: those that have pages come first, or are in the step.
Result<bool> Scheduler::reserve(const Step& step, const Generation& text) {
  const std::int64_t places = text.num_computed() + std::min(text.num_missing(), kStepTokens);
  while (true) {
    const Status status = text.pages()->reserve(places);
    if (status.code() != Code::kResourceExhausted) {
      SLUICE_TRY(status);
      return true;
    }
    if (prefixes_->give_back()) continue;
    // Pages of other models do not help where this pool has none left.
    if (!text.pages()->pool().is_full() && text.shared().prefixes.give_back()) continue;
    const std::lock_guard lock(mutex_);
    const auto paused = std::ranges::find_if(paused_, has_pages);
    if (paused != paused_.end()) {
      (*paused)->give_back_pages();
      continue;
    }
    bool have_others_pages = false;
    Generation* last = nullptr;
    for (const Texts* texts : {&waiting_, &flying_}) {
      for (const auto& other : *texts) {
        if (other.get() == &text || !has_pages(other)) continue;
        have_others_pages = true;
        const bool is_in_step = std::ranges::find(step.texts, other) != step.texts.end();
        if (!is_in_step && (last == nullptr || comes_before(*last, *other))) last = other.get();
      }
    }
    if (!have_others_pages) return status.with_context("caches of texts in the making");
    is_short_ = true;
    if (last == nullptr || comes_before(*last, text)) return false;
    last->give_back_pages();
  }
}

/// Puts those that found no pages back into the line.
void Scheduler::wait_for_pages(const Step& step) {
  const std::lock_guard lock(mutex_);
  flying_ = step.texts;
  std::ranges::move(short_, std::back_inserter(waiting_));
  short_.clear();
}

Result<std::shared_ptr<generate::PagePool>> Scheduler::pool_of(const Generation& text) {
  auto pool = pool_.lock();
  if (pool != nullptr) return pool;
  const terms::Signature& signature = text.model()->signature();
  const auto page = SLUICE_TRY(generate::PagePool::page_size(signature));
  const auto& budget = text.shared().caches;
  const std::int64_t of_text = (context_ + page.places - 1) / page.places;
  pool = SLUICE_TRY(generate::PagePool::create(
      signature, std::min(kPoolTexts * of_text, budget->limit_bytes() / page.bytes), budget));
  pool_ = pool;
  text.shared().prefixes.add(prefixes_, page.bytes);
  return pool;
}

/// A run that was cancelled may have its step for a while yet.
std::shared_ptr<Scheduler::Step> Scheduler::free_step() {
  for (const std::shared_ptr<Step>& step : steps_) {
    if (step.use_count() > 1) continue;
    step->batch.clear();
    return step;
  }
  steps_.push_back(std::make_shared<Step>(ports_, context_));
  return steps_.back();
}

Status Scheduler::post(const std::shared_ptr<Step>& step) {
  const Generation& first = *step->texts.front();
  runtime::Request request = request_of(step);
  const auto flight = first.shared().flights.enter(first.model(), /*may_compute=*/false);
  const bool is_cancelled = with_lock(mutex_, [&] {
    flight_ = flight;
    return are_all_cancelled(flying_);
  });
  if (is_cancelled) flight->cancel();
  return first.shared().flights.post(flight, request, {nullptr, first.max_run_ns()});
}

/// The texts stay in the step until then.
Status Scheduler::post_later(const std::shared_ptr<Step>& step) {
  return step->texts.front()->shared().retries.add([self = shared_from_this(), step] {
    self->put_back(*step);
    (void)self->run(nullptr);
  });
}

/// To the front of the line: its texts had their turn in vain.
void Scheduler::put_back(Step& step) {
  step.pages.clear();
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.begin(), std::make_move_iterator(step.texts.begin()),
                  std::make_move_iterator(step.texts.end()));
  step.texts.clear();
}

runtime::Request Scheduler::request_of(const std::shared_ptr<Step>& step) {
  const terms::Signature& signature = step->texts.front()->model()->signature();
  runtime::Request request;
  request.inputs.resize(signature.inputs.size());
  request.outputs.resize(signature.outputs.size());
  for (auto& [input, view] : step->batch.inputs()) request.inputs[input] = std::move(view);
  for (const auto& state : step->pages.front()->pool().bindings()) {
    request.inputs[state.input] = state.view;
    request.outputs[state.output] = {state.view.data, state.view.size_bytes};
  }
  const std::int64_t bytes =
      step->batch.num_sequences() * ports_.vocabulary * static_cast<std::int64_t>(sizeof(float));
  if (std::ssize(step->logits.view()) < bytes) {
    step->logits = MutableBytes(static_cast<std::size_t>(bytes));
  }
  request.outputs[ports_.logits] = {step->logits.view().data(), bytes};
  for (const std::shared_ptr<Generation>& text : step->texts) {
    request.priority = std::max(request.priority, text->priority());
  }
  request.memory_owner = step;
  request.on_done = [self = shared_from_this(), step](const runtime::Reply& reply) {
    self->take(step, reply);
  };
  return request;
}

void Scheduler::take(const std::shared_ptr<Step>& step, const runtime::Reply& reply) {
  const auto* logits = reinterpret_cast<const float*>(step->logits.view().data());
  const auto vocabulary = static_cast<std::size_t>(ports_.vocabulary);
  const Status status = has_results(reply) ? ok_status() : reply.errors.to_status();
  Texts texts = std::exchange(step->texts, {});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i]->take(status, {logits + i * vocabulary, vocabulary})) continue;
    texts[i] = nullptr;
    is_short_ = false;
  }
  // Another reply may come before the run has ended. Whoever computes it then keeps the step.
  if (has_results(reply)) {
    step->pages.clear();
  } else {
    std::erase(steps_, step);
  }
  {
    const std::lock_guard lock(mutex_);
    for (auto& text : texts) {
      if (text != nullptr) waiting_.push_back(std::move(text));
    }
  }
  // Those that came meanwhile wait, and nobody is told of a refusal here but the texts.
  (void)run(nullptr);
}

}  // namespace sluice::completions

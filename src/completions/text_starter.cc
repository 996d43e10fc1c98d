#include "completions/text_starter.h"

#include "base/process/with_lock.h"
#include "completions/generation.h"

namespace sluice::completions {

void StartedText::set(const std::shared_ptr<Generation>& text) {
  const bool is_cancelled = with_lock(mutex_, [&] {
    text_ = text;
    return is_cancelled_;
  });
  if (is_cancelled) text->cancel();
}

void StartedText::cancel() {
  with_lock(mutex_, [&] { is_cancelled_ = true; });
  if (const auto text = find()) text->cancel();
}

void StartedText::resume() {
  if (const auto text = find()) text->resume();
}

std::shared_ptr<Generation> StartedText::find() {
  const std::lock_guard lock(mutex_);
  return text_.lock();
}

}  // namespace sluice::completions

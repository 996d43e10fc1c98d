// How a door has a text made that a client asks for in the words of Triton's generate extension.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "completions/text_sink.h"
#include "dispatch/model_ref.h"
#include "dispatch/request_quota.h"

namespace sluice::completions {

class Generation;

/// A text that was asked for, which other threads may not have begun yet. Safe across threads.
class StartedText {
 public:
  /// For who begins it, before that.
  void set(const std::shared_ptr<Generation>& text);
  /// As Generation::cancel. A text that has not begun ends when it begins.
  void cancel();
  /// As Generation::resume.
  void resume();

 private:
  std::shared_ptr<Generation> find();

  std::mutex mutex_;                ///< guards the rest; held while nothing is called
  std::weak_ptr<Generation> text_;  ///< its sink may hold this
  bool is_cancelled_ = false;
};

struct GenerateCall {
  std::shared_ptr<dispatch::ModelRef> model;
  std::string account;             ///< whose it is, as service::account_of has it
  dispatch::RequestLimits limits;  ///< with a quota
  std::string body;  ///< JSON, as POST .../generate has it; whether "stream" counts not
};

/// Safe from any thread.
class TextStarter {
 public:
  TextStarter() = default;
  TextStarter(const TextStarter&) = delete;
  TextStarter& operator=(const TextStarter&) = delete;
  virtual ~TextStarter() = default;

  /// Blocks not: other threads read the call. The sink gets the text and its end; what goes wrong
  /// is an end, too, maybe before this returns.
  virtual void start_text(GenerateCall call, std::shared_ptr<StartedText> text,
                          std::shared_ptr<TextSink> sink) = 0;
};

}  // namespace sluice::completions

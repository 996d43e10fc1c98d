#include "http/completions/text_sinks.h"

#include <cstddef>
#include <mutex>
#include <utility>

#include "completions/generation.h"

namespace sluice::http {
namespace {

using completions::Ending;
using completions::Piece;

/// What the sinks of an answer share. Safe across threads.
class Texts {
 public:
  Texts(std::unique_ptr<TextFormat> format, std::size_t count, std::function<void()> cancel)
      : format_(std::move(format)), endings_(count), num_left_(count), cancel_(std::move(cancel)) {}
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;
  virtual ~Texts() = default;

  bool take(std::size_t choice, const Piece& piece) {
    const std::lock_guard lock(mutex_);
    return is_over_ || add(choice, piece);
  }
  /// Once more, with an error, for a text whose end found no memory.
  void end(std::size_t choice, const Ending& ending) {
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
      if (ending.status.is_ok()) return end_well(choice, ending);
      is_over_ = true;
      fail(ending.status);
    }
    cancel_();  // ends the others, which come here
  }

 protected:
  // With the lock.
  virtual bool add(std::size_t choice, const Piece& piece) = 0;
  virtual void finish_choice(std::size_t choice, const Ending& ending) = 0;
  virtual void finish(const std::vector<Ending>& endings) = 0;
  virtual void fail(const Status& status) = 0;

  TextFormat& format() { return *format_; }

 private:
  void end_well(std::size_t choice, const Ending& ending) {
    finish_choice(choice, ending);
    endings_[choice] = ending;
    if (num_left_ == 1) finish(endings_);
    --num_left_;
    is_over_ = num_left_ == 0;
  }

  const std::unique_ptr<TextFormat> format_;
  /// Guards the rest; held while the format, the answer and the stream are used.
  std::mutex mutex_;
  std::vector<Ending> endings_;
  std::size_t num_left_;
  bool is_over_ = false;
  const std::function<void()> cancel_;
};

class WholeTexts final : public Texts {
 public:
  WholeTexts(std::unique_ptr<TextFormat> format, std::vector<std::string> echoed, Answer answer,
             std::function<Reply(const Status&)> error, std::function<void()> cancel)
      : Texts(std::move(format), echoed.size(), std::move(cancel)),
        texts_(std::move(echoed)),
        answer_(std::move(answer)),
        error_(std::move(error)) {}

 private:
  bool add(std::size_t choice, const Piece& piece) override {
    texts_[choice] += piece.text;
    format().note(choice, piece);
    return true;
  }
  void finish_choice(std::size_t /*choice*/, const Ending& /*ending*/) override {}
  void finish(const std::vector<Ending>& endings) override {
    Reply reply;
    reply.text = format().whole(texts_, endings);
    answer_(std::move(reply));
  }
  void fail(const Status& status) override { answer_(error_(status)); }

  std::vector<std::string> texts_;
  const Answer answer_;
  const std::function<Reply(const Status&)> error_;
};

class StreamTexts final : public Texts {
 public:
  StreamTexts(std::unique_ptr<TextFormat> how, const std::vector<std::string>& echoed,
              std::shared_ptr<ReplyStream> stream, std::function<void()> cancel)
      : Texts(std::move(how), echoed.size(), std::move(cancel)), stream_(std::move(stream)) {
    for (std::size_t i = 0; i < echoed.size(); ++i) {
      stream_->push(format().begin(i));
      if (!echoed[i].empty()) stream_->push(format().piece(i, {echoed[i]}));
    }
  }

 private:
  bool add(std::size_t choice, const Piece& piece) override {
    return stream_->push(format().piece(choice, piece));
  }
  void finish_choice(std::size_t choice, const Ending& ending) override {
    stream_->push(format().end(choice, ending));
  }
  void finish(const std::vector<Ending>& endings) override {
    stream_->push(format().finish(endings));
    stream_->end();
  }
  void fail(const Status& status) override {
    stream_->push(format().fail(status));
    stream_->end();
  }

  const std::shared_ptr<ReplyStream> stream_;
};

class ChoiceSink final : public completions::TextSink {
 public:
  ChoiceSink(std::shared_ptr<Texts> texts, std::size_t choice)
      : texts_(std::move(texts)), choice_(choice) {}

  bool take(const Piece& piece) override { return texts_->take(choice_, piece); }
  void end(const Ending& ending) override { texts_->end(choice_, ending); }

 private:
  const std::shared_ptr<Texts> texts_;
  const std::size_t choice_;
};

TextSinks sinks_of(const std::shared_ptr<Texts>& texts, std::size_t count) {
  TextSinks sinks;
  for (std::size_t i = 0; i < count; ++i) sinks.push_back(std::make_shared<ChoiceSink>(texts, i));
  return sinks;
}

}  // namespace

TextSinks make_whole_sinks(std::unique_ptr<TextFormat> format, std::vector<std::string> echoed,
                           Answer answer, std::function<Reply(const Status&)> error,
                           std::function<void()> cancel) {
  const std::size_t count = echoed.size();
  return sinks_of(
      std::make_shared<WholeTexts>(std::move(format), std::move(echoed), std::move(answer),
                                   std::move(error), std::move(cancel)),
      count);
}

TextSinks make_stream_sinks(std::unique_ptr<TextFormat> format,
                            const std::vector<std::string>& echoed,
                            std::shared_ptr<ReplyStream> stream, std::function<void()> cancel) {
  return sinks_of(std::make_shared<StreamTexts>(std::move(format), echoed, std::move(stream),
                                                std::move(cancel)),
                  echoed.size());
}

Status start_texts(const std::vector<std::shared_ptr<completions::Generation>>& texts,
                   TextSinks sinks, const std::atomic<bool>& has_failed) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Status status = texts[i]->start(std::move(sinks[i]));
    if (!status.is_ok()) return has_failed ? ok_status() : status;
  }
  return ok_status();
}

}  // namespace sluice::http

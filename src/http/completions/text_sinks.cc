#include "http/completions/text_sinks.h"

#include <utility>

namespace sluice::http {
namespace {

using completions::Ending;

class WholeSink final : public completions::TextSink {
 public:
  WholeSink(std::unique_ptr<TextFormat> format, std::string echoed, Answer answer,
            std::function<Reply(const Status&)> error)
      : format_(std::move(format)),
        text_(std::move(echoed)),
        answer_(std::move(answer)),
        error_(std::move(error)) {}

  bool take(const std::string& text) override {
    text_ += text;
    return true;
  }
  void end(const Ending& ending) override {
    if (!ending.status.is_ok()) return answer_(error_(ending.status));
    Reply reply;
    reply.text = format_->whole(text_, ending);
    answer_(std::move(reply));
  }

 private:
  const std::unique_ptr<TextFormat> format_;
  std::string text_;
  const Answer answer_;
  const std::function<Reply(const Status&)> error_;
};

class StreamSink final : public completions::TextSink {
 public:
  StreamSink(std::unique_ptr<TextFormat> format, const std::string& echoed,
             std::shared_ptr<ReplyStream> stream)
      : format_(std::move(format)), stream_(std::move(stream)) {
    stream_->push(format_->begin());
    if (!echoed.empty()) stream_->push(format_->piece(echoed));
  }

  bool take(const std::string& text) override { return stream_->push(format_->piece(text)); }
  void end(const Ending& ending) override {
    stream_->push(format_->end(ending));
    stream_->end();
  }

 private:
  const std::unique_ptr<TextFormat> format_;
  const std::shared_ptr<ReplyStream> stream_;
};

}  // namespace

std::shared_ptr<completions::TextSink> make_whole_sink(std::unique_ptr<TextFormat> format,
                                                       std::string echoed, Answer answer,
                                                       std::function<Reply(const Status&)> error) {
  return std::make_shared<WholeSink>(std::move(format), std::move(echoed), std::move(answer),
                                     std::move(error));
}

std::shared_ptr<completions::TextSink> make_stream_sink(std::unique_ptr<TextFormat> format,
                                                        const std::string& echoed,
                                                        std::shared_ptr<ReplyStream> stream) {
  return std::make_shared<StreamSink>(std::move(format), echoed, std::move(stream));
}

}  // namespace sluice::http

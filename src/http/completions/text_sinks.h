// Where the texts of an answer go on their way to a client over HTTP.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "completions/text_sink.h"
#include "http/call.h"
#include "http/completions/text_format.h"

namespace sluice::completions {
class Generation;
}

namespace sluice::http {

/// A sink for each choice of an answer, in order. They may be called at the same time.
using TextSinks = std::vector<std::shared_ptr<completions::TextSink>>;

/// Collects the texts and answers when the last has ended, or one has failed: with `error` of its
/// status; then `cancel` ends the others. `echoed` stand before the texts, one for each choice.
TextSinks make_whole_sinks(std::unique_ptr<TextFormat> format, std::vector<std::string> echoed,
                           Answer answer, std::function<Reply(const Status&)> error,
                           std::function<void()> cancel);

/// Pushes events to a stream, those of the choices in between each other. The stream ends behind
/// the last text, or the first that fails; then `cancel` ends the others.
TextSinks make_stream_sinks(std::unique_ptr<TextFormat> format,
                            const std::vector<std::string>& echoed,
                            std::shared_ptr<ReplyStream> stream, std::function<void()> cancel);

/// Starts a text for each sink. `has_failed`: what the sinks' `cancel` sets. A text that has failed
/// cancels those that have yet to start, which is no error here: its sink tells the client.
/// Fails: as Generation::start; some may have started.
Status start_texts(const std::vector<std::shared_ptr<completions::Generation>>& texts,
                   TextSinks sinks, const std::atomic<bool>& has_failed);

}  // namespace sluice::http

// Where a text goes on its way to a client over HTTP.
#pragma once

#include <memory>
#include <string>

#include "http/completions/text_format.h"

namespace sluice::http {

/// Collects the text and answers once. `echoed` stands before the text.
/// `error`: the answer for a text that failed.
std::shared_ptr<completions::TextSink> make_whole_sink(std::unique_ptr<TextFormat> format,
                                                       std::string echoed, Answer answer,
                                                       std::function<Reply(const Status&)> error);

/// Pushes events to a stream, which ends behind the last one.
std::shared_ptr<completions::TextSink> make_stream_sink(std::unique_ptr<TextFormat> format,
                                                        const std::string& echoed,
                                                        std::shared_ptr<ReplyStream> stream);

}  // namespace sluice::http

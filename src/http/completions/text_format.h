// How protocols write a text: whole, or as server-sent events.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "completions/text_sink.h"
#include "http/call.h"
#include "http/completions/tools.h"

namespace sluice::http {

/// Form of one answer, whose choices are texts, counted from 0. Used by one thread at a time.
class TextFormat {
 public:
  TextFormat() = default;
  TextFormat(const TextFormat&) = delete;
  TextFormat& operator=(const TextFormat&) = delete;
  virtual ~TextFormat() = default;

  /// The body of the answer, for texts that did not fail. Each joins the texts of all its pieces,
  /// which the caller gave to `note`.
  virtual std::string whole(std::span<const std::string> texts,
                            std::span<const completions::Ending> endings) = 0;
  /// What a piece says beside its text.
  virtual void note(std::size_t choice, const completions::Piece& piece) = 0;
  /// Events before a choice's first piece.
  virtual std::string begin(std::size_t choice) = 0;
  virtual std::string piece(std::size_t choice, const completions::Piece& piece) = 0;
  /// Events behind a choice's last piece.
  virtual std::string end(std::size_t choice, const completions::Ending& ending) = 0;
  /// Events behind those of all choices.
  virtual std::string finish(std::span<const completions::Ending> endings) = 0;
  /// Events behind which nothing comes: a text failed.
  virtual std::string fail(const Status& status) = 0;
};

/// "data: ..." with an empty line behind it.
std::string event(std::string_view data);

struct OpenAiFormat {
  std::string model;
  bool is_chat = false;
  bool includes_usage = false;
  std::size_t num_prompts = 1;
  std::size_t choices_per_prompt = 1;
  ToolUse tool_use = ToolUse::kNone;
};
std::unique_ptr<TextFormat> make_openai_format(OpenAiFormat options);

struct GenerateFormat {
  std::string model;
  std::string version;
  std::string id;  ///< empty: none
};
std::unique_ptr<TextFormat> make_generate_format(GenerateFormat options);

}  // namespace sluice::http

// How protocols write a text: whole, or as server-sent events.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "completions/generation.h"
#include "http/call.h"

namespace sluice::http {

/// Of one answer. Used by one thread at a time.
class TextFormat {
 public:
  TextFormat() = default;
  TextFormat(const TextFormat&) = delete;
  TextFormat& operator=(const TextFormat&) = delete;
  virtual ~TextFormat() = default;

  /// The body of the answer; of a text that did not fail.
  virtual std::string whole(std::string_view text, const completions::Ending& ending) = 0;
  /// Events before the first piece.
  virtual std::string begin() = 0;
  virtual std::string piece(std::string_view text) = 0;
  /// Events behind the last piece, also of a text that failed.
  virtual std::string end(const completions::Ending& ending) = 0;
};

/// "data: ..." with an empty line behind it.
std::string event(std::string_view data);

struct OpenAiFormat {
  std::string model;
  bool is_chat = false;
  bool includes_usage = false;
};
std::unique_ptr<TextFormat> make_openai_format(OpenAiFormat options);
/// {"error": {"message": ...}}, as OpenAI's clients read it.
Reply openai_error(const Status& status);

struct GenerateFormat {
  std::string model;
  std::string version;
  std::string id;  ///< empty: none
};
std::unique_ptr<TextFormat> make_generate_format(GenerateFormat options);

}  // namespace sluice::http

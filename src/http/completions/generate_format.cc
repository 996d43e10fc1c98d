// The answers of Triton's generate extension.
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "http/completions/text_format.h"

namespace sluice::http {
namespace {

/// An answer with one choice.
class Generate final : public TextFormat {
 public:
  explicit Generate(GenerateFormat options) : options_(std::move(options)) {}

  std::string whole(std::span<const std::string> texts,
                    std::span<const completions::Ending> /*endings*/) override {
    return object(texts.front());
  }
  void note(std::size_t /*choice*/, const completions::Piece& /*piece*/) override {}
  std::string begin(std::size_t /*choice*/) override { return {}; }
  std::string piece(std::size_t /*choice*/, const completions::Piece& piece) override {
    return event(object(piece.text));
  }
  std::string end(std::size_t /*choice*/, const completions::Ending& /*ending*/) override {
    return {};
  }
  std::string finish(std::span<const completions::Ending> /*endings*/) override { return {}; }
  std::string fail(const Status& status) override {
    return event(error_reply(400, status.message()).text);
  }

 private:
  std::string object(const std::string& text) const {
    nlohmann::ordered_json all;
    if (!options_.id.empty()) all["id"] = options_.id;
    all["model_name"] = options_.model;
    all["model_version"] = options_.version;
    all["text_output"] = text;
    return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  const GenerateFormat options_;
};

}  // namespace

std::unique_ptr<TextFormat> make_generate_format(GenerateFormat options) {
  return std::make_unique<Generate>(std::move(options));
}

}  // namespace sluice::http

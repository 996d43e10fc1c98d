// The answers of Triton's generate extension.
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "http/completions/text_format.h"

namespace sluice::http {
namespace {

class Generate final : public TextFormat {
 public:
  explicit Generate(GenerateFormat options) : options_(std::move(options)) {}

  std::string whole(std::string_view text, const completions::Ending& /*ending*/) override {
    nlohmann::ordered_json all;
    if (!options_.id.empty()) all["id"] = options_.id;
    all["model_name"] = options_.model;
    all["model_version"] = options_.version;
    all["text_output"] = text;
    return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  std::string begin() override { return {}; }
  std::string piece(std::string_view text) override { return event(whole(text, {})); }
  std::string end(const completions::Ending& ending) override {
    if (ending.status.is_ok()) return {};
    return event(error_reply(400, ending.status.message()).text);
  }

 private:
  const GenerateFormat options_;
};

}  // namespace

std::unique_ptr<TextFormat> make_generate_format(GenerateFormat options) {
  return std::make_unique<Generate>(std::move(options));
}

}  // namespace sluice::http

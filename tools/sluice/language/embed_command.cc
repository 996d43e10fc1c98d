#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embed/embedder.h"
#include "generate/text/package_text.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

class EmbedCommand : public Command {
 public:
  const char* name() const override { return "embed"; }

  void add_options(Options& options) override {
    options_.add_to(options,
                    "A folder with config.json and safetensors, or a .sluice file that `sluice "
                    "compile` made of one");
    options_.add_weights(options);
    options.add("text", texts_, "The texts").required();
    options.add("--query", query_,
                "Score how well each text answers this one, by a model that scores pairs; the best "
                "comes first");
    options.add_threads(loading_.num_threads, "Cores to use; 0 takes all");
  }

  Result<int> run() override {
    auto executable = SLUICE_TRY(open_model(options_));
    auto tokenizer = SLUICE_TRY(generate::read_tokenizer(executable));
    const auto model =
        SLUICE_TRY(exec::LoadedModel::load(std::move(executable), backend_registry(), loading_));
    auto embedder = SLUICE_TRY(embed::Embedder::create(model, std::move(tokenizer)));
    const std::vector<std::string_view> texts(texts_.begin(), texts_.end());
    if (!query_.empty()) {
      print_scores(SLUICE_TRY(embedder.scores(query_, texts)));
      return 0;
    }
    const auto vectors = SLUICE_TRY(embedder.vectors(texts));
    const auto width = static_cast<std::size_t>(embedder.model().ports.width);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      fmt::print("[{}]\n", fmt::join(std::span(vectors).subspan(i * width, width), ", "));
    }
    return 0;
  }

 private:
  void print_scores(const std::vector<float>& scores) const {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    for (const std::size_t i : order) fmt::print("{:>9.6f}  {}\n", scores[i], texts_[i]);
  }

  ModelOptions options_;
  std::vector<std::string> texts_;
  std::string query_;
  exec::LoadOptions loading_;
};

}  // namespace

std::unique_ptr<Command> make_embed_command() { return std::make_unique<EmbedCommand>(); }

}  // namespace sluice::tool

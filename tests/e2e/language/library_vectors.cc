// Vectors and scores by the library in C++: prints what library_vectors.py compares, a line each.
//
//   library_vectors EMBEDDER SCORER QUERY TEXT...
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/generate.hpp"

namespace {

template <typename T>
T must(sluice::Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

void print(const std::vector<float>& numbers) {
  for (const float number : numbers) std::printf("%.6f ", static_cast<double>(number));
  std::puts("");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::vector<std::string> texts(argv + 4, argv + argc);
  std::optional<sluice::Model> model = must(sluice::Model::open(argv[1], 1));
  auto embedder = must(sluice::Embedder::create(*model));
  model.reset();  // the embedder keeps what it needs
  const auto scores = sluice::Model::open(argv[2], 1);
  auto scorer = must(sluice::Embedder::create(*scores));
  std::printf("%zu %lld %zu\n", embedder.width(), static_cast<long long>(embedder.context()),
              scorer.width());
  print(must(embedder.embed(texts)));
  print(must(embedder.embed({})));
  print(must(scorer.score(argv[3], texts)));
  std::puts(scorer.embed(texts).error().message.c_str());
  std::puts(embedder.score(argv[3], texts).error().message.c_str());
  return 0;
}

#include "recipes/embedding_facts.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::recipes {

std::string embedding_facts(const EncoderShape& shape, const Pooling& pooling) {
  const nlohmann::json facts = {
      {"context", std::min(shape.context(), pooling.max_tokens.value_or(shape.context()))},
      {"padding", shape.padding},
      {"normalized", pooling.is_normalized}};
  return facts.dump();
}

}  // namespace sluice::recipes

#include "text/models/read_vocabulary.h"

namespace sluice::text {

Result<Vocabulary> read_vocabulary(const Field& field) {
  simdjson::dom::object pairs;
  if (field.element().get(pairs)) return field.error("expected an object");
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (const auto pair : pairs) {
    bytes += pair.key.size();
    ++count;
  }
  Vocabulary vocabulary;
  vocabulary.reserve(count, bytes);
  for (const auto pair : pairs) {
    std::int64_t id = 0;
    if (pair.value.get(id)) {
      return field.error(fmt::format("the id of \"{}\" is no whole number", pair.key));
    }
    SLUICE_TRY(vocabulary.add(pair.key, id).with_context(field.path()));
  }
  return vocabulary;
}

std::vector<TokenId> find_byte_tokens(const Vocabulary& vocabulary) {
  std::vector<TokenId> tokens(256);
  for (std::size_t byte = 0; byte < tokens.size(); ++byte) {
    tokens[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
  }
  return tokens;
}

}  // namespace sluice::text

#include "text/json/pattern.h"

#include "text/unicode/oniguruma.h"

namespace sluice::text {

Result<Regex> read_pattern(const Field& field) {
  if (const auto regex = field.find("Regex")) {
    return Regex::compile(SLUICE_TRY(regex->text())).with_context(regex->path());
  }
  const auto text = SLUICE_TRY(field.text_of("String"));
  return Regex::compile(escape_expression(text)).with_context(field.path());
}

}  // namespace sluice::text

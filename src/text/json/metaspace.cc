#include "text/json/metaspace.h"

#include "base/utf8.h"

namespace sluice::text {

Result<MetaspaceFields> read_metaspace_fields(const Field& field) {
  MetaspaceFields read;
  read.replacement = SLUICE_TRY(field.text_of("replacement"));
  if (read.replacement.empty() ||
      utf8_character_bytes(read.replacement) != read.replacement.size()) {
    return field.error("the replacement is not one character");
  }
  read.splits = SLUICE_TRY(field.truth_or("split", true));
  const auto scheme = SLUICE_TRY(field.text_or_none("prepend_scheme"));
  if (scheme == "never") {
    read.prepend = PrependScheme::kNever;
  } else if (scheme == "first") {
    read.prepend = PrependScheme::kFirst;
  } else if (!scheme.empty() && scheme != "always") {
    return field.error(fmt::format("the prepend_scheme \"{}\" is not known", scheme));
  }
  // Files of old versions say it with a flag.
  if (!SLUICE_TRY(field.truth_or("add_prefix_space", true))) read.prepend = PrependScheme::kNever;
  return read;
}

}  // namespace sluice::text

// Replaces each match of an expression by a text: as a normalizer, and for decoders.
#pragma once

#include <string>

#include "text/normalizers/normalizer.h"

namespace sluice::text {

class Replace : public Normalizer {
 public:
  /// {"pattern": {"Regex": ...}, "content": "..."}
  static Result<Replace> read(const Field& field);

  Status normalize(std::string& text, RegexBudget& budget) const override;

 private:
  Replace(Regex regex, std::string content)
      : regex_(std::move(regex)), content_(std::move(content)) {}

  Regex regex_;
  std::string content_;
};

}  // namespace sluice::text

// Where special tokens stand around the tokens of one text, or of two.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "text/encoding.h"
#include "text/json/field.h"

namespace sluice::text {

/// All kinds of files come down to this: a text, a second one, and special tokens, in some order.
class PostProcessor {
 public:
  /// The texts alone.
  PostProcessor();
  /// The field "post_processor" of a file. Fails: kUnimplemented, kInvalidArgument.
  static Result<PostProcessor> read(const Field& field);

  /// `second`: null for a single text.
  Encoding join(const std::vector<TokenId>& first, const std::vector<TokenId>* second,
                bool adds_special_tokens) const;

 private:
  enum class Source : std::uint8_t { kFirst, kSecond, kSpecial };
  struct Part {
    Source source;
    std::int32_t type_id = 0;
    std::vector<TokenId> ids;  ///< of kSpecial
  };

  static Result<std::vector<Part>> read_template(const Field& field, const Field& special_tokens);
  static Result<PostProcessor> read_templates(const Field& field);
  static Result<PostProcessor> read_frame(const Field& field, bool is_roberta);
  static Result<PostProcessor> read_sequence(const Field& field);

  std::vector<Part> single_;
  std::vector<Part> pair_;
  bool is_plain_ = true;
};

}  // namespace sluice::text

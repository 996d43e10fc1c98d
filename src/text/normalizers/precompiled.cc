// The reference replaces a user's character (grapheme cluster) of less than six bytes at once, by
// the shortest key that it begins with; else each character by itself. Results must equal it.
#include "text/normalizers/precompiled.h"

#include <utf8proc.h>

#include <cstring>
#include <optional>
#include <vector>

#include "base/text/base64.h"
#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

constexpr std::size_t kMaxClusterBytes = 5;

/// A unit of Darts-clone's double array.
struct Unit {
  std::uint32_t bits;

  bool has_leaf() const { return (bits >> 8U & 1U) == 1; }
  std::uint32_t value() const { return bits & 0x7FFFFFFFU; }
  std::uint32_t label() const { return bits & 0x800000FFU; }
  std::uint32_t offset() const { return (bits >> 10U) << ((bits & 0x200U) >> 6U); }
};

class Precompiled : public Normalizer {
 public:
  static Result<std::unique_ptr<const Normalizer>> read(const Field& field);

  Status normalize(std::string& text, RegexBudget& budget) const override;

 private:
  /// What stands for a text that begins with a key; nullopt if it begins with none.
  std::optional<std::string_view> find(std::string_view text) const;
  void append_cluster(std::string_view cluster, std::string& to) const;

  std::vector<Unit> units_;
  std::string texts_;
};

Result<std::unique_ptr<const Normalizer>> Precompiled::read(const Field& field) {
  const auto encoded = SLUICE_TRY(field.text_of("precompiled_charsmap"));
  const auto bytes = decode_base64(encoded);
  std::uint32_t size = 0;
  if (!bytes || bytes->size() < sizeof(size)) return field.error("no precompiled_charsmap");
  std::memcpy(&size, bytes->data(), sizeof(size));
  if (size % sizeof(Unit) != 0 || size > bytes->size() - sizeof(size)) {
    return field.error("the precompiled_charsmap is cut off");
  }
  auto normalizer = std::make_unique<Precompiled>();
  normalizer->units_.resize(size / sizeof(Unit));
  if (size > 0) std::memcpy(normalizer->units_.data(), bytes->data() + sizeof(size), size);
  normalizer->texts_ = bytes->substr(sizeof(size) + size);
  SLUICE_TRY(check_utf8(normalizer->texts_).with_context(field.path()));
  return std::unique_ptr<const Normalizer>(std::move(normalizer));
}

std::optional<std::string_view> Precompiled::find(std::string_view text) const {
  if (units_.empty()) return std::nullopt;
  std::size_t node = units_[0].offset();
  for (const char byte : text) {
    const auto label = static_cast<unsigned char>(byte);
    if (label == 0) return std::nullopt;
    node ^= label;
    if (node >= units_.size() || units_[node].label() != label) return std::nullopt;
    const Unit unit = units_[node];
    node ^= unit.offset();
    if (!unit.has_leaf()) continue;
    if (node >= units_.size()) return std::nullopt;
    const std::size_t begin = units_[node].value();
    if (begin > texts_.size()) return std::nullopt;
    const std::string_view rest = std::string_view(texts_).substr(begin);
    return rest.substr(0, rest.find('\0'));
  }
  return std::nullopt;
}

void Precompiled::append_cluster(std::string_view cluster, std::string& to) const {
  if (cluster.size() <= kMaxClusterBytes) {
    if (const auto replacement = find(cluster)) {
      to += *replacement;
      return;
    }
  }
  for (std::size_t at = 0; at < cluster.size();) {
    const std::size_t begin = at;
    next_character(cluster, at);
    const std::string_view character = cluster.substr(begin, at - begin);
    to += find(character).value_or(character);
  }
}

Status Precompiled::normalize(std::string& text, RegexBudget& /*budget*/) const {
  std::string to;
  to.reserve(text.size());
  utf8proc_int32_t state = 0;
  std::size_t begin = 0;
  char32_t previous = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t here = at;
    const char32_t c = next_character(text, at);
    const bool breaks =
        here > 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                                     static_cast<utf8proc_int32_t>(c), &state);
    if (breaks) {
      append_cluster(std::string_view(text).substr(begin, here - begin), to);
      begin = here;
    }
    previous = c;
  }
  append_cluster(std::string_view(text).substr(begin), to);
  text = std::move(to);
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<const Normalizer>> read_precompiled(const Field& field) {
  return Precompiled::read(field);
}

}  // namespace sluice::text

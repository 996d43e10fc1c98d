// What holds of every grammar, for fuzzers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammars.h"
#include "grammar/token_grammar.h"

namespace sluice::grammar::testing {

/// A zero byte ends the grammar and begins a text. The text goes as far as the masks say, and ends
/// the program where a mask and what is accepted differ. True: it is a whole text.
inline bool walk(Source::Form form, std::string_view input) {
  static const auto trie = [] {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
    for (const char* more : {"\"", "\"}", "\": ", "ab", "12", "],[", "{\"a", "\xC3\xA9", "\\n"}) {
      bytes.emplace_back(more);
    }
    return std::make_shared<const TokenTrie>(bytes);
  }();
  const std::size_t end = input.find('\0');
  auto automaton = read_source({form, std::string(input.substr(0, end))});
  if (!automaton.is_ok()) return false;
  constexpr std::size_t kSmall = 4096;  // so that states are made anew
  Matcher matcher(std::make_shared<TokenGrammar>(*std::move(automaton), trie, kSmall));
  const auto text = end == std::string_view::npos ? std::string_view() : input.substr(end + 1);
  for (const char c : text.substr(0, 256)) {
    const auto byte = static_cast<std::uint8_t>(c);
    const auto mask = matcher.mask();
    if (!mask.is_ok()) return false;
    const bool may_come = ((*mask)->bits[byte / 64U] >> (byte % 64U) & 1U) != 0;
    const auto accepted = matcher.accept(byte);
    if (accepted.is_ok() != may_come) std::abort();
    if (!may_come) return false;
  }
  const auto mask = matcher.mask();
  if (mask.is_ok() && (*mask)->is_empty && !(*mask)->may_end) std::abort();  // a dead end
  return mask.is_ok() && (*mask)->may_end && text.size() <= 256;
}

}  // namespace sluice::grammar::testing

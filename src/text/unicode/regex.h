// Regular expressions over UTF-8, by PCRE2, with bounded work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace sluice::text {

struct Match {
  std::size_t begin;
  std::size_t end;
};

/// How much backtracking a whole call may still take, over all its expressions and texts.
class RegexBudget {
 public:
  explicit RegexBudget(std::size_t text_bytes);
  /// False if less than `steps` is left.
  bool take(std::uint64_t steps);

 private:
  std::uint64_t left_;
};

/// A compiled expression. Immutable; safe across threads.
class Regex {
 public:
  /// `expression`: as Oniguruma reads it (text/unicode/oniguruma.h).
  /// Fails: kInvalidArgument for what is no expression, or too large a one; kUnimplemented.
  static Result<Regex> compile(std::string_view expression);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Calls `take(Match)` for each match from left to right. Matches do not overlap. An empty match
  /// at the end of the match before is left out. Requires: valid UTF-8.
  /// Fails: kResourceExhausted when the budget is used up; `take` has seen the matches until then.
  template <typename Take>
  Status for_each_match(std::string_view text, RegexBudget& budget, const Take& take) const {
    Search search(*this, text, budget);
    while (true) {
      const std::optional<Match> match = SLUICE_TRY(search.next());
      if (!match) return ok_status();
      take(*match);
    }
  }

 private:
  struct Compiled;
  class Search {
   public:
    Search(const Regex& regex, std::string_view text, RegexBudget& budget);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    ~Search();
    Result<std::optional<Match>> next();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  explicit Regex(std::unique_ptr<const Compiled> compiled);

  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace sluice::text

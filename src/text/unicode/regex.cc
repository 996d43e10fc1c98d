// Backtracking is bounded in two ways. PCRE2 counts the steps from one start of a match; most
// starts need few, so a search begins with a low limit. A start that passes it is tried again with
// sixteen times the limit, and so on; every such try is paid for by the budget of the call. So an
// expression that never ends costs what the budget allows, for all texts together.
#include "text/unicode/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string>

#include "text/unicode/oniguruma.h"

namespace sluice::text {

struct FreePcre2 {
  void operator()(pcre2_code* object) const { pcre2_code_free(object); }
  void operator()(pcre2_compile_context* object) const { pcre2_compile_context_free(object); }
  void operator()(pcre2_match_data* object) const { pcre2_match_data_free(object); }
  void operator()(pcre2_match_context* object) const { pcre2_match_context_free(object); }
  void operator()(pcre2_jit_stack* object) const { pcre2_jit_stack_free(object); }
};

template <typename T>
using Owned = std::unique_ptr<T, FreePcre2>;

namespace {

constexpr std::uint32_t kFirstLimit = 1024;
constexpr std::uint32_t kLastLimit = 1U << 26U;
constexpr std::uint64_t kBaseBudget = std::uint64_t{1} << 27U;
constexpr std::uint64_t kBudgetPerByte = 256;
constexpr std::size_t kMaxExpressionBytes = 1U << 16U;
constexpr std::uint32_t kHeapLimitKib = 64 * 1024;
constexpr std::size_t kStackBytes = 1U << 20U;

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  const int size = pcre2_get_error_message(code, buffer, sizeof(buffer));
  return size < 0 ? "unknown error" : std::string(buffer, buffer + size);
}

}  // namespace

RegexBudget::RegexBudget(std::size_t text_bytes)
    : left_(kBaseBudget + kBudgetPerByte * text_bytes) {}

bool RegexBudget::take(std::uint64_t steps) {
  if (left_ < steps) return false;
  left_ -= steps;
  return true;
}

struct Regex::Compiled {
  Owned<pcre2_code> code;
};

struct Regex::Search::State {
  const pcre2_code* code;
  std::string_view text;
  RegexBudget& budget;
  Owned<pcre2_match_data> data;
  Owned<pcre2_match_context> context;
  Owned<pcre2_jit_stack> stack;
  std::size_t at = 0;  ///< where the next match may begin
  std::size_t last_end = ~std::size_t{0};

  int match(std::size_t from, std::uint32_t options) const {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       options | PCRE2_NO_UTF_CHECK, data.get(), context.get());
  }
  /// Matches at `from`, with as many steps as the budget has.
  int match_at(std::size_t from);
  /// Finds the first match at `at` or behind it. May move `at`.
  int match_from_here();
  Match found() const {
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    return {ends[0], ends[1]};
  }
  void step() {
    do ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  }
};

Regex::Regex(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes) {
    return invalid_argument("an expression of {} bytes; at most {} are compiled", expression.size(),
                            kMaxExpressionBytes);
  }
  const std::string pattern = SLUICE_TRY(to_pcre2(expression));
  const Owned<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                    &offset, context.get()));
  if (compiled->code == nullptr) {
    return invalid_argument("the expression \"{}\": {}", expression, message_of(error));
  }
  // Without executable memory PCRE2 interprets, with the same results.
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);
  return Regex(std::move(compiled));
}

Regex::Search::Search(const Regex& regex, std::string_view text, RegexBudget& budget)
    : state_(new State{regex.compiled_->code.get(), text, budget, {}, {}, {}}) {
  state_->data.reset(pcre2_match_data_create(1, nullptr));
  state_->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(state_->context.get(), kFirstLimit);
  pcre2_set_heap_limit(state_->context.get(), kHeapLimitKib);
}

Regex::Search::~Search() = default;

int Regex::Search::State::match_at(std::size_t from) {
  int result = match(from, PCRE2_ANCHORED);
  for (std::uint32_t limit = kFirstLimit * 16;
       result == PCRE2_ERROR_MATCHLIMIT && limit <= kLastLimit && budget.take(limit); limit *= 16) {
    pcre2_set_match_limit(context.get(), limit);
    result = match(from, PCRE2_ANCHORED);
    pcre2_set_match_limit(context.get(), kFirstLimit);
  }
  return result;
}

int Regex::Search::State::match_from_here() {
  int result = match(at, 0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT && stack == nullptr) {
    stack.reset(pcre2_jit_stack_create(32 * 1024, kStackBytes, nullptr));
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    result = match(at, 0);
  }
  if (result != PCRE2_ERROR_MATCHLIMIT) return result;
  // PCRE2 does not report the start that took too many steps, so this loop tries each start alone.
  for (result = PCRE2_ERROR_NOMATCH; result == PCRE2_ERROR_NOMATCH && at <= text.size(); step()) {
    result = match_at(at);
  }
  return result;
}

Result<std::optional<Match>> Regex::Search::next() {
  State& s = *state_;
  while (s.at <= s.text.size()) {
    const int result = s.match_from_here();
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      return make_error(Code::kResourceExhausted,
                        "a regular expression takes too many steps on this text ({})",
                        message_of(result));
    }
    const Match match = s.found();
    s.at = match.end;
    if (match.begin == match.end) {
      s.step();
      if (match.begin == s.last_end) continue;
    }
    s.last_end = match.end;
    return std::optional<Match>(match);
  }
  s.at = s.text.size() + 1;
  return std::optional<Match>();
}

}  // namespace sluice::text

// Texts beside grammars, byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "grammar/grammars.h"
#include "grammar/states.h"

namespace sluice::grammar::testing {

struct Fit {
  bool may_go_on;
  bool may_end;
};

inline Result<Fit> state_after(const Source& source, std::string_view text) {
  const Automaton automaton = SLUICE_TRY(read_source(source));
  States states(automaton);
  StateId state = SLUICE_TRY(states.at(automaton.root(), States::kBottom));
  for (const char byte : text) state = states.next(state, static_cast<std::uint8_t>(byte));
  SLUICE_TRY(states.check());
  return Fit{state != States::kDead, states.may_end(state)};
}

/// Whether it is a whole text of the grammar.
inline bool fits(const Source& source, std::string_view text) {
  const auto fit = state_after(source, text);
  EXPECT_TRUE(fit.is_ok()) << fit.status().message();
  return fit.is_ok() && fit->may_end;
}

}  // namespace sluice::grammar::testing

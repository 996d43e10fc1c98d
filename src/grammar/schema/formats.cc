#include "grammar/schema/formats.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::grammar {
namespace {

// RFC 3339. Days that some months lack are left out, and so are leap seconds.
#define SLUICE_DATE R"([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]))"
#define SLUICE_TIME \
  R"(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))"
#define SLUICE_BYTE R"((0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5]))"

#define SLUICE_LABEL "[a-z0-9]{1,16}(-[a-z0-9]{1,16}){0,2}"
#define SLUICE_GROUP "[0-9a-f]{1,4}"
#define SLUICE_PATH "[A-Za-z0-9._~!$&'()*+,;=:@-]*"

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kFormats = {{
    {"date", "^" SLUICE_DATE "$"},
    {"date-time", "^" SLUICE_DATE "T" SLUICE_TIME "$"},
    // RFC 3339, appendix A: a part of what it allows.
    {"duration",
     "^P([0-9]{1,4}[DWMY]|[0-9]{1,4}DT[0-9]{1,2}H|T[0-9]{1,4}[HMS]|"
     "T[0-9]{1,3}H[0-9]{1,2}M([0-9]{1,2}S)?)$"},
    {"email", R"(^[A-Za-z0-9_+-]{1,32}(\.[A-Za-z0-9_+-]{1,16}){0,2}@)"
              R"(([a-z0-9]{1,20}\.){1,3}[a-z]{2,10}$)"},
    {"hostname", "^" SLUICE_LABEL R"((\.)" SLUICE_LABEL "){0,4}$"},
    {"ipv4", "^(" SLUICE_BYTE R"(\.){3})" SLUICE_BYTE "$"},
    {"ipv6", "^(" SLUICE_GROUP ":){7}" SLUICE_GROUP "$|^(" SLUICE_GROUP ":){1,6}:" SLUICE_GROUP
             "$|^::" SLUICE_GROUP "$"},
    {"time", "^" SLUICE_TIME "$"},
    // RFC 3986, without escapes.
    {"uri", R"(^[a-z][a-z0-9+.-]{1,15}:(//[A-Za-z0-9.-]{1,64}(:[0-9]{1,4})?)?)"
            "(/" SLUICE_PATH R"()*(\?)" SLUICE_PATH ")?(#" SLUICE_PATH ")?$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
}};

#undef SLUICE_DATE
#undef SLUICE_TIME
#undef SLUICE_BYTE
#undef SLUICE_LABEL
#undef SLUICE_GROUP
#undef SLUICE_PATH

}  // namespace

std::optional<std::string_view> pattern_of_format(std::string_view format) {
  const auto* found =
      std::ranges::find(kFormats, format, &std::pair<std::string_view, std::string_view>::first);
  if (found == kFormats.end()) return std::nullopt;
  return found->second;
}

}  // namespace sluice::grammar

// Reads any bytes as a body in gzip or deflate, as the first byte says, within a limit, and
// compresses the result again. Reads the same bytes as an Accept-Encoding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "http/coding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  constexpr std::int64_t kLimit = 1 << 18;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  http::choose_coding(text);
  if (size < 2) return 0;
  const auto coding = data[0] % 2 == 0 ? http::Coding::kGzip : http::Coding::kDeflate;
  const auto budget = std::make_shared<ByteBudget>(4 * kLimit);
  http::Body body(budget, -1, kLimit);
  if (!http::decode(text.substr(1), coding, body).is_ok()) return 0;
  if (body.size() > static_cast<std::size_t>(kLimit)) std::abort();
  const std::vector<std::string_view> parts = {body.bytes()};
  http::Body again(budget, -1, kLimit);
  const auto coded = http::encode(parts, coding);
  if (!coded.is_ok()) return 0;
  if (!http::decode(*coded, coding, again).is_ok() || again.bytes() != body.bytes()) std::abort();
  return 0;
}

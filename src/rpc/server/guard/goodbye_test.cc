#include "rpc/server/guard/goodbye.h"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http2/frames.h"

namespace sluice::rpc::server {
namespace {

using http2::kContinuation;
using http2::kData;
using http2::kEndHeaders;
using http2::kHeaders;
using http2::kSettings;

const std::string kGoodbye("\0\0\x8\x7\0\0\0\0\0\x7F\xFF\xFF\xFF\0\0\0\0", 17);

std::string frame(std::uint8_t type, std::uint8_t flags, std::size_t num_bytes) {
  std::string bytes(9 + num_bytes, 'x');
  bytes[0] = 0;
  bytes[1] = static_cast<char>(num_bytes >> 8);
  bytes[2] = static_cast<char>(num_bytes);
  bytes[3] = static_cast<char>(type);
  bytes[4] = static_cast<char>(flags);
  return bytes;
}

/// What the client gets of `pieces`, if the goodbye is asked for before piece `when`.
std::string sent(const std::vector<std::string>& pieces, std::size_t when) {
  Goodbye goodbye;
  std::string all;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (i == when) goodbye.ask();
    const auto bytes = std::as_bytes(std::span(pieces[i].data(), pieces[i].size()));
    const std::vector<std::byte> with = goodbye.take(bytes);
    all += with.empty() ? pieces[i]
                        : std::string(reinterpret_cast<const char*>(with.data()), with.size());
  }
  return all;
}

TEST(Goodbye, GoesBehindTheLastWholeFrameOfAPiece) {
  const std::string first = frame(kSettings, 0, 6);
  const std::string data = frame(kData, 0, 20);
  const std::string half = data.substr(0, 14);
  EXPECT_EQ(sent({first, data + half, data.substr(14)}, 1),
            first + data + kGoodbye + half + data.substr(14));
}

TEST(Goodbye, GoesToASilentClientAtOnceAndOnlyOnce) {
  const std::string first = frame(kSettings, 0, 0);
  const std::string data = frame(kData, 0, 3);
  EXPECT_EQ(sent({first, "", data, ""}, 1), first + kGoodbye + data);
}

TEST(Goodbye, FollowsTheServersFirstFrame) {
  const std::string first = frame(kSettings, 0, 6);
  EXPECT_EQ(sent({"", first.substr(0, 3), first.substr(3)}, 0), first + kGoodbye);
}

TEST(Goodbye, DoesNotInterruptAHeaderBlock) {
  const std::string first = frame(kSettings, 0, 0);
  const std::string block = frame(kHeaders, 0, 5);
  const std::string rest = frame(kContinuation, kEndHeaders, 700);
  EXPECT_EQ(sent({first + block, rest.substr(0, 9), rest.substr(9)}, 1),
            first + block + rest + kGoodbye);
}

TEST(Goodbye, LeavesBytesAsTheyAreUnlessAsked) {
  const std::string all = frame(kSettings, 0, 6) + frame(kHeaders, kEndHeaders, 300);
  EXPECT_EQ(sent({all, ""}, 5), all);
}

/// Wherever the pieces are cut, the frame stands between two others.
TEST(Goodbye, StandsBetweenFramesHoweverTheyAreCut) {
  const std::string before = frame(kSettings, 0, 6);
  const std::string after = frame(kHeaders, kEndHeaders, 4) + frame(kData, 0, 2);
  const std::string all = before + after;
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    const std::string got = sent({all.substr(0, cut), all.substr(cut)}, 0);
    const std::size_t place = got.find(kGoodbye);
    const std::set<std::size_t> places = {before.size(), before.size() + 13, all.size()};
    EXPECT_TRUE(places.contains(place)) << cut;
    EXPECT_EQ(got.size(), all.size() + kGoodbye.size()) << cut;
  }
}

}  // namespace
}  // namespace sluice::rpc::server

#include "exec/constants/verification.h"

#include <gtest/gtest.h>

#include "package/header.h"

namespace sluice::exec {
namespace {

/// Data and, as a file would have it, what its checksum should be: that of `expected`.
class Files {
 public:
  Bytes add(std::size_t size, bool is_damaged) {
    std::vector<std::byte> data(size, static_cast<std::byte>(executable.checksums.size()));
    const std::uint64_t checksum = package::checksum_of(data);
    if (is_damaged) data[size / 2] ^= std::byte{1};
    Bytes kept = Bytes::own(std::move(data));
    executable.checksums.emplace(kept.data(), checksum);
    return kept;
  }
  package::Executable executable;
};

Status run(Verification& verification) {
  SLUICE_TRY(verification.start());
  return verification.finish();
}

constexpr std::size_t kLarge = std::size_t{3} << 20;

TEST(Verification, DamagedConstantIsNamedForEveryThreadCount) {
  for (const int threads : {0, 1, 3}) {
    Files files;
    Verification verification(files.executable, threads, {});
    for (int i = 0; i < 9; ++i) {
      verification.add(files.add(kLarge, i == 4 || i == 7), fmt::format("part {}", i));
    }
    EXPECT_EQ(run(verification).to_string(),
              "data loss: part 4 is damaged: its checksum does not match");
  }
}

TEST(Verification, ReadAheadDamageCountsOnlyForAddedData) {
  for (const int threads : {0, 1, 3}) {
    Files files;
    const Bytes unused = files.add(kLarge, true);
    const Bytes whole = files.add(kLarge, false);
    const Bytes damaged = files.add(kLarge, true);
    Verification good(files.executable, threads, {});
    good.read_ahead({unused, whole, damaged});
    good.add(whole, "weights");
    good.add(files.add(kLarge, false), "other weights");
    EXPECT_TRUE(run(good).is_ok());
    Verification bad(files.executable, threads, {});
    bad.read_ahead({unused, whole, damaged});
    bad.add(whole, "weights");
    bad.add(damaged, "later weights");
    EXPECT_EQ(run(bad).message(), "later weights is damaged: its checksum does not match");
  }
}

TEST(Verification, DataThatIsAddedTwiceIsReadOnce) {
  Files files;
  const Bytes damaged = files.add(kLarge, true);
  Verification verification(files.executable, 3, {});
  verification.add(damaged, "first");
  verification.add(damaged, "second");
  EXPECT_EQ(run(verification).message(), "first is damaged: its checksum does not match");
}

TEST(Verification, DestructorStopsUnfinishedReads) {
  Files files;
  Verification verification(files.executable, 3, {});
  verification.read_ahead({files.add(kLarge, false), files.add(kLarge, false)});
}

TEST(Verification, EmptyAndIntactDataPass) {
  Files files;
  Verification nothing(files.executable, 0, {});
  EXPECT_TRUE(run(nothing).is_ok());
  Verification whole(files.executable, 0, {});
  whole.add(files.add(100, false), "small");
  whole.add(files.add(1 << 20, false), "large");
  EXPECT_TRUE(run(whole).is_ok());
}

TEST(Verification, SmallConstantsAreVerifiedAtStart) {
  Files files;
  Verification verification(files.executable, 2, {});
  verification.add(files.add(std::size_t{9} << 20, true), "weights");
  verification.add(files.add(100, true), "shape");
  EXPECT_EQ(verification.start().message(), "shape is damaged: its checksum does not match");
}

TEST(Verification, StoppedLoadIsCancelled) {
  Files files;
  std::stop_source source;
  Verification verification(files.executable, 0, source.get_token());
  verification.add(files.add(100, false), "small");
  source.request_stop();
  EXPECT_EQ(run(verification).code(), Code::kCancelled);
}

}  // namespace
}  // namespace sluice::exec

#include "exec/verification.h"

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

Status run(Verification& verification, const Files& files, int threads,
           const std::stop_token& stop = {}) {
  SLUICE_TRY(verification.start(files.executable, threads, stop));
  return verification.finish();
}

TEST(Verification, OneDamagedAmongManyIsNamedWhateverTheThreads) {
  for (const int threads : {0, 1, 3}) {
    Files files;
    Verification verification;
    for (int i = 0; i < 9; ++i) {
      verification.add(files.add(std::size_t{3} << 20, i == 4 || i == 7),
                       fmt::format("part {}", i));
    }
    const Status status = run(verification, files, threads);
    EXPECT_EQ(status.to_string(), "data loss: part 4 is damaged: its checksum does not match");
  }
}

TEST(Verification, NothingAndWholeDataAreFine) {
  Files files;
  Verification nothing;
  EXPECT_TRUE(run(nothing, files, 0).is_ok());
  Verification whole;
  whole.add(files.add(100, false), "small");
  whole.add(files.add(1 << 20, false), "large");
  EXPECT_TRUE(run(whole, files, 0).is_ok());
}

TEST(Verification, WhatShapesMayComeFromIsComparedBeforeAnythingElseHappens) {
  Files files;
  Verification verification;
  verification.add(files.add(std::size_t{9} << 20, true), "weights");
  verification.add(files.add(100, true), "shape");
  EXPECT_EQ(verification.start(files.executable, 2, {}).message(),
            "shape is damaged: its checksum does not match");
}

TEST(Verification, AStoppedLoadIsCancelled) {
  Files files;
  Verification verification;
  verification.add(files.add(100, false), "small");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(run(verification, files, 0, source.get_token()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace sluice::exec

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

TEST(Verification, OneDamagedAmongManyIsNamedWhateverTheThreads) {
  for (const int threads : {0, 1, 3}) {
    Files files;
    Verification verification;
    for (int i = 0; i < 9; ++i) {
      verification.add(files.add(std::size_t{3} << 20, i == 4 || i == 7),
                       fmt::format("part {}", i));
    }
    const Status status = verification.run(files.executable, threads, {});
    EXPECT_EQ(status.to_string(), "data loss: part 4 is damaged: its checksum does not match");
  }
}

TEST(Verification, NothingAndWholeDataAreFine) {
  Files files;
  Verification verification;
  EXPECT_TRUE(verification.run(files.executable, 0, {}).is_ok());
  verification.add(files.add(100, false), "small");
  EXPECT_TRUE(verification.run(files.executable, 0, {}).is_ok());
}

TEST(Verification, AStoppedLoadIsCancelled) {
  Files files;
  Verification verification;
  verification.add(files.add(100, false), "small");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(verification.run(files.executable, 0, source.get_token()).code(), Code::kCancelled);
}

}  // namespace
}  // namespace sluice::exec

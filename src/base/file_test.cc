#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

namespace sluice {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

class FileTest : public ::testing::Test {
 protected:
  std::filesystem::path path(std::string_view name) const {
    return std::filesystem::path(::testing::TempDir()) /
           (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
            std::string(name));
  }
};

TEST_F(FileTest, MappingOutlivesTheFile) {
  const auto file = path("a");
  ASSERT_TRUE(write_file_atomically(file, bytes_of("sluice")).is_ok());
  const auto mapped = map_file(file);
  ASSERT_TRUE(mapped.is_ok()) << mapped.status().to_string();
  std::filesystem::remove(file);
  EXPECT_EQ(std::memcmp(mapped->data(), "sluice", 6), 0);
}

TEST_F(FileTest, FifoIsRefusedWithoutWaitingForAWriter) {
  const auto fifo = path("fifo");
  std::filesystem::remove(fifo);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(map_file(fifo).status().code(), Code::kInvalidArgument);
}

TEST_F(FileTest, ReleasesMappedPagesOnly) {
  const std::vector<std::byte> contents(std::size_t{16} << 12U, std::byte{7});
  ASSERT_TRUE(write_file_atomically(path("f"), contents).is_ok());
  const auto mapped = map_file(path("f"));
  ASSERT_TRUE(mapped.is_ok());
  release_pages(mapped->slice(100, contents.size() - 100).view());
  release_pages(contents);  // not mapped from a file
  release_pages({});
  EXPECT_TRUE(std::ranges::equal(mapped->view(), contents)) << "read again from the file";
  EXPECT_EQ(contents.back(), std::byte{7});
}

TEST_F(FileTest, WritingReplacesTheOldContents) {
  const auto file = path("b");
  ASSERT_TRUE(write_file_atomically(file, bytes_of("old and long")).is_ok());
  ASSERT_TRUE(write_file_atomically(file, bytes_of("new")).is_ok());
  EXPECT_EQ(read_text_file(file).value(), "new");
  std::filesystem::remove(file);
}

TEST_F(FileTest, WritingDoesNotReplaceWhatIsNoFile) {
  const auto fifo = path("fifo");
  std::filesystem::remove(fifo);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Status status = write_file_atomically(fifo, bytes_of("new"));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(fifo.string()), std::string::npos) << status.message();
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
}

TEST_F(FileTest, PiecesOfAnySizeAreWrittenInOrder) {
  const auto target = path("c");
  auto file = AtomicFile::create(target);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  std::vector<std::byte> expected;
  for (const std::size_t size : {3, 2 << 20, (2 << 20) - 3, 5 << 20, 0, 70'001, 4 << 20}) {
    std::vector<std::byte> piece(size);
    for (std::size_t i = 0; i < size; ++i) piece[i] = static_cast<std::byte>(i * 31 / 7 + size);
    ASSERT_TRUE(file->append(piece).is_ok());
    expected.insert(expected.end(), piece.begin(), piece.end());
  }
  ASSERT_TRUE(file->pad_to(4096).is_ok());
  expected.resize((expected.size() + 4095) / 4096 * 4096);
  EXPECT_EQ(file->size(), static_cast<std::int64_t>(expected.size()));
  ASSERT_TRUE(file->overwrite_start(bytes_of("head")).is_ok());
  std::ranges::copy(bytes_of("head"), expected.begin());
  ASSERT_TRUE(file->append(bytes_of("tail")).is_ok());
  std::ranges::copy(bytes_of("tail"), std::back_inserter(expected));
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_TRUE(std::ranges::equal(map_file(target)->view(), expected));
  std::filesystem::remove(target);
}

TEST_F(FileTest, HasNoNameBeforeItIsCommitted) {
  const auto folder = path("folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const int probe = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (probe < 0) GTEST_SKIP() << "the file system has no files without a name";
  ::close(probe);
  auto first = AtomicFile::create(folder / "f");
  auto second = AtomicFile::create(folder / "f");
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  ASSERT_TRUE(first->append(bytes_of("first")).is_ok());
  ASSERT_TRUE(second->append(bytes_of("second")).is_ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ASSERT_TRUE(first->commit().is_ok());
  ASSERT_TRUE(second->commit().is_ok());
  EXPECT_EQ(read_text_file(folder / "f").value(), "second");
  const std::filesystem::directory_iterator files(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(FileTest, MapsWhatIsWrittenSoFar) {
  auto file = AtomicFile::create(path("d"));
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  const std::vector<std::byte> first(3 << 20, std::byte{1});
  const std::vector<std::byte> second(2 << 20, std::byte{2});
  ASSERT_TRUE(file->append(first).is_ok());
  const auto mapped = file->map();
  ASSERT_TRUE(mapped.is_ok()) << mapped.status().message();
  EXPECT_TRUE(std::ranges::equal(mapped->view(), first));
  ASSERT_TRUE(file->append(second).is_ok());
  release_pages(mapped->view());
  EXPECT_TRUE(std::ranges::equal(mapped->view(), first));
  const auto both = file->map();
  ASSERT_TRUE(both.is_ok());
  EXPECT_TRUE(std::ranges::equal(both->view().subspan(first.size()), second));
  EXPECT_FALSE(std::filesystem::exists(path("d"))) << "before it is committed";
}

TEST_F(FileTest, MissingFileIsNamed) {
  const Status status = map_file("/no/such/file").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("/no/such/file"), std::string::npos);
}

TEST_F(FileTest, FolderIsRefused) {
  EXPECT_EQ(map_file(::testing::TempDir()).status().code(), Code::kInvalidArgument);
}

TEST_F(FileTest, ReadTakesFilesThatDoNotSayTheirSize) {
  const auto status = read_text_file("/proc/self/status");
  ASSERT_TRUE(status.is_ok()) << status.status().to_string();
  EXPECT_NE(status->find("Name:"), std::string::npos);
  EXPECT_EQ(read_text_file("/proc/self/status", 4).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(read_text_file("/dev/zero").status().code(), Code::kInvalidArgument);
}

TEST_F(FileTest, ReadRefusesAFileOverTheLimit) {
  const auto file = path("c");
  ASSERT_TRUE(write_file_atomically(file, bytes_of("12345")).is_ok());
  EXPECT_EQ(read_text_file(file, 4).status().code(), Code::kInvalidArgument);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace sluice

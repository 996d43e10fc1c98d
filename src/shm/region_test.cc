#include "shm/region.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "shm/fd_socket.h"
#include "shm/shared_memory.h"

namespace sluice::shm {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMaxInt64 = ~std::uint64_t{0};

Fd memfd(off_t size, unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING) {
  Fd fd(memfd_create("test", flags));
  EXPECT_EQ(ftruncate(fd.get(), size), 0);
  return fd;
}

/// Named shared memory; the destructor removes the name.
struct Named {
  explicit Named(off_t size)
      : name("/sluice-region-test-" + std::to_string(getpid())),
        fd(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)) {
    EXPECT_EQ(ftruncate(fd.get(), size), 0);
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;
  ~Named() { shm_unlink(name.c_str()); }

  const std::string name;
  const Fd fd;
};

TEST(Region, BothSidesSeeEachOthersWrites) {
  auto shared = SharedMemory::create(8192).value();
  const auto region = Region::adopt(shared.fd(), 8192);
  ASSERT_TRUE(region.is_ok()) << region.status().to_string();
  shared.memory()[100] = std::byte{5};
  EXPECT_EQ((*region)->mapped()[100], std::byte{5});
  const std::array<std::byte, 2> bytes = {std::byte{1}, std::byte{2}};
  ASSERT_TRUE((*region)->write(128, bytes).is_ok());
  EXPECT_EQ(shared.memory()[129], std::byte{2});
  EXPECT_NE(ftruncate(shared.fd(), 0), 0) << "it is sealed";
}

TEST(Region, RefusesUnsealedMemoryWithTheRemedy) {
  const auto says = [](int fd, std::uint64_t size) {
    const auto region = Region::adopt(fd, size);
    return region.is_ok() ? std::string("taken") : region.status().message();
  };
  const Fd unsealed = memfd(4096);
  EXPECT_THAT(says(unsealed.get(), 4096), HasSubstr("F_SEAL_SHRINK"));
  const Fd unsealable = memfd(4096, MFD_CLOEXEC);
  EXPECT_THAT(says(unsealable.get(), 4096), HasSubstr("F_SEAL_SHRINK"));
  const Fd sealed = memfd(4096);
  ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_THAT(says(sealed.get(), 4097), HasSubstr("4096 bytes, 4097 were announced"));
  EXPECT_THAT(says(sealed.get(), 0), HasSubstr("cannot be"));
  EXPECT_THAT(says(sealed.get(), kMaxInt64), HasSubstr("cannot be"));
  EXPECT_EQ(says(sealed.get(), 4096), "taken");
  ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_THAT(says(sealed.get(), 4096), HasSubstr("cannot be written"));
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_THAT(says(null.get(), 4096), HasSubstr("memfd"));
  EXPECT_THAT(says(-1, 4096), HasSubstr("memfd"));
  const Named named(4096);
  EXPECT_THAT(says(named.fd.get(), 4096), HasSubstr("F_SEAL_SHRINK"));
}

TEST(Region, PlacesLieInsideAndAreAligned) {
  const auto shared = SharedMemory::create(4096).value();
  const auto region = Region::adopt(shared.fd(), 4096).value();
  EXPECT_TRUE(region->check(0, 4096).is_ok());
  EXPECT_TRUE(region->check(4032, 64).is_ok());
  EXPECT_TRUE(region->check(4096, 0).is_ok());
  EXPECT_FALSE(region->check(4032, 65).is_ok());
  EXPECT_FALSE(region->check(64, kMaxInt64 - 63).is_ok()) << "the sum wraps around";
  EXPECT_FALSE(region->check(kMaxInt64 - 63, 128).is_ok());
  EXPECT_FALSE(region->check(4160, 0).is_ok());
  EXPECT_FALSE(region->check(1, 4).is_ok()) << "not aligned";
}

TEST(Region, ShrunkNamedRegionGivesAnErrorNotASignal) {
  const Named named(8192);
  const auto region = Region::open(named.name, static_cast<std::int64_t>(getuid()));
  ASSERT_TRUE(region.is_ok()) << region.status().to_string();
  EXPECT_EQ((*region)->size_bytes(), 8192U);
  EXPECT_TRUE((*region)->mapped().empty());
  std::array<std::byte, 64> bytes = {};
  bytes[0] = std::byte{9};
  ASSERT_TRUE((*region)->write(8128, bytes).is_ok());
  std::array<std::byte, 64> back = {};
  ASSERT_TRUE((*region)->read(8128, back).is_ok());
  EXPECT_EQ(back, bytes);
  ASSERT_EQ(ftruncate(named.fd.get(), 8150), 0);
  EXPECT_THAT((*region)->read(8128, back).message(), HasSubstr("do not shrink it"));
  EXPECT_FALSE((*region)->write(8128, bytes).is_ok());
  EXPECT_EQ(lseek(named.fd.get(), 0, SEEK_END), 8150) << "a write does not make it larger again";
  EXPECT_TRUE((*region)->read(0, back).is_ok());
  ASSERT_EQ(ftruncate(named.fd.get(), 0), 0);
  EXPECT_FALSE((*region)->read(0, back).is_ok());
}

TEST(Region, RefusesMalformedNamesAndMemoryOfOtherUsers) {
  for (const std::string& name :
       {std::string(), std::string("/"), std::string("frames"), std::string("/../../etc/passwd"),
        std::string("/a/b"), std::string("/a\0b", 4), "/" + std::string(300, 'n')}) {
    EXPECT_EQ(Region::open(name, 0).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(Region::open("/sluice-there-is-none", 0).status().code(), Code::kNotFound);
  const Named named(4096);
  const auto own = static_cast<std::int64_t>(getuid());
  EXPECT_EQ(Region::open(named.name, own + 1).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(Region::open(named.name, -1).status().code(), Code::kPermissionDenied);
  EXPECT_TRUE(Region::open(named.name, own).is_ok());
  ASSERT_EQ(ftruncate(named.fd.get(), 0), 0);
  EXPECT_EQ(Region::open(named.name, own).status().code(), Code::kInvalidArgument) << "empty";
}

}  // namespace
}  // namespace sluice::shm

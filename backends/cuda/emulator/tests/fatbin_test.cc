#include "emulator/fatbin/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sluice::cuda::emulator {
namespace {

using ::testing::HasSubstr;

template <typename T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

struct Entry {
  std::uint16_t kind = 1;
  std::uint32_t architecture = 75;
  std::string data;
  std::uint64_t flags = 0;
  std::uint32_t compressed_bytes = 0;
  std::uint64_t bytes = 0;
};

std::string make_fatbin(const std::vector<Entry>& entries) {
  std::string body;
  for (const Entry& entry : entries) {
    std::string data = entry.data;
    data.resize((data.size() + 8) / 8 * 8);
    append<std::uint16_t>(body, entry.kind);
    append<std::uint16_t>(body, 0x0101);
    append<std::uint32_t>(body, 64);
    append<std::uint64_t>(body, data.size());
    append(body, entry.compressed_bytes);
    append<std::uint32_t>(body, 0);
    append<std::uint32_t>(body, 0);
    append(body, entry.architecture);
    append<std::uint64_t>(body, 0);
    append(body, entry.flags);
    append<std::uint64_t>(body, 0);
    append(body, entry.bytes);
    body += data;
  }
  std::string fatbin;
  append(fatbin, kFatbinMagic);
  append<std::uint16_t>(fatbin, 1);
  append<std::uint16_t>(fatbin, kFatbinHeaderBytes);
  append<std::uint64_t>(fatbin, body.size());
  return fatbin + body;
}

Status find(const std::string& fatbin, int capability, std::string* ptx) {
  return find_ptx(std::as_bytes(std::span(fatbin)), capability, ptx);
}

TEST(Fatbin, ChoosesTheHighestArchitectureThatTheDeviceHas) {
  const std::string fatbin = make_fatbin({{.architecture = 90, .data = "of 90"},
                                          {.architecture = 75, .data = "of 75"},
                                          {.kind = 2, .architecture = 80, .data = "machine code"},
                                          {.architecture = 80, .data = "of 80"}});
  std::string ptx;
  for (const auto& [capability, text] :
       {std::pair(75, "of 75"), {86, "of 80"}, {120, "of 90"}, {70, "of 75"}}) {
    ASSERT_EQ(find(fatbin, capability, &ptx).text, "");
    EXPECT_EQ(ptx, text) << capability;
  }
}

TEST(Fatbin, MachineCodeAloneSaysHowToCompile) {
  std::string ptx;
  const Status status = find(make_fatbin({{.kind = 2, .data = "code"}}), 75, &ptx);
  EXPECT_EQ(status.code, SLUICE_NOT_FOUND);
  EXPECT_THAT(status.text, HasSubstr("compute_75"));
}

TEST(Fatbin, RefusesCompressionItDoesNotKnowAndTextsThatAreTooLong) {
  std::string ptx;
  EXPECT_EQ(find(make_fatbin({{.data = "x", .flags = 0x2000}}), 75, &ptx).code,
            SLUICE_UNIMPLEMENTED);
  const Entry endless = {
      .data = "x", .flags = 0x8000, .compressed_bytes = 1, .bytes = std::uint64_t{1} << 40};
  EXPECT_EQ(find(make_fatbin({endless}), 75, &ptx).code, SLUICE_INVALID_ARGUMENT);
  const Entry nonsense = {.data = "no frame", .flags = 0x8000, .compressed_bytes = 8, .bytes = 100};
  EXPECT_NE(find(make_fatbin({nonsense}), 75, &ptx).code, SLUICE_OK);
}

TEST(Fatbin, SurvivesEveryCutAndEveryWrongByte) {
  const std::string good = make_fatbin({{.data = "text"}, {.kind = 2, .data = "code"}});
  std::string ptx;
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<char> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(find_ptx(std::as_bytes(std::span(cut)), 75, &ptx).code, SLUICE_INVALID_ARGUMENT)
        << size;
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string wrong = good;
    wrong[i] = '\xff';
    (void)find(wrong, 75, &ptx);  // reads nothing outside; sanitizers tell
  }
}

}  // namespace
}  // namespace sluice::cuda::emulator

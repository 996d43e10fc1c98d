// Memory, copies, events and faults of the plug-in on an emulated device.

#include "plugin/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/emulated_driver.h"
#include "plugin/extensions.h"

namespace sluice::cuda {
namespace {

using ::testing::HasSubstr;

class BackendTest : public ::testing::Test {
 protected:
  void start(std::uint64_t seed = 1, std::int64_t memory_bytes = 1 << 20,
             std::size_t num_devices = 1, bool has_peer_access = true) {
    streams_.clear();
    backend_.reset();
    emulator::Description description;
    description.seed = seed;
    description.devices[0].memory_bytes = memory_bytes;
    description.devices.resize(num_devices, description.devices[0]);
    description.has_peer_access = has_peer_access;
    std::unique_ptr<emulator::EmulatedDriver> emulated;
    ASSERT_EQ(emulator::EmulatedDriver::start(description, nullptr, &emulated).text, "");
    Driver driver = {emulated->table(), true, Confine::kNothing, nullptr};
    driver.owner = std::move(emulated);
    ASSERT_EQ(Backend::create(std::move(driver), "", &backend_).text, "");
    group_ = {backend_.get(), 0, {}, nullptr};
    other_group_ = {backend_.get(), 1, {}, nullptr};
  }
  ~BackendTest() override { streams_.clear(); }

  struct StreamEnd {
    void operator()(Stream* stream) const {
      stream->group->backend->destroy_stream(*stream);
      delete stream;
    }
  };
  Stream& make_stream() { return make_stream(group_); }
  Stream& make_stream(Group& group) {
    std::unique_ptr<Stream> made;
    EXPECT_EQ(backend_->make_stream(group, &made).text, "");
    streams_.emplace_back(made.release());
    return *streams_.back();
  }
  void* allocate(std::int64_t bytes, int device = 0) {
    void* address = nullptr;
    EXPECT_EQ(backend_->allocate(device, bytes, &address).text, "");
    return address;
  }
  /// Copies in a list of its own.
  Status copy(Stream& stream, void* from, void* to, std::int64_t bytes) {
    CommandList list;
    const sluice_argument source = {-1, 0, from, 0, nullptr};
    const sluice_argument target = {-1, 0, to, 0, nullptr};
    EXPECT_TRUE(plugin::detail::record_copy(list, source, target, bytes).is_ok());
    EXPECT_TRUE(plugin::detail::finish_list(list).is_ok());
    return backend_->submit(stream, list, {});
  }
  /// What the driver says to a second wish of device 1 for access to memory of device 0.
  CuResult ask_for_access() {
    const DriverTable& cu = backend_->driver().table;
    CuContext context = nullptr;
    EXPECT_EQ(cu.device_primary_ctx_retain(&context, 0), CuResult::kSuccess);
    EXPECT_TRUE(backend_->enter(1).is_ok());
    const CuResult result = cu.ctx_enable_peer_access(context, 0);
    EXPECT_EQ(cu.device_primary_ctx_release(0), CuResult::kSuccess);
    return result;
  }
  static sluice_stream* handle(Stream& stream) { return reinterpret_cast<sluice_stream*>(&stream); }

  /// Writes on one stream, reads on another, in between or not an event. What was read.
  int write_and_read(std::uint64_t seed, bool waits) {
    start(seed);
    Stream& writer = make_stream();
    Stream& reader = make_stream();
    sluice_event* event = nullptr;
    EXPECT_EQ(
        kEvents.event_create(reinterpret_cast<sluice_backend*>(backend_.get()), &event, nullptr),
        SLUICE_OK);
    void* const memory = allocate(4);
    int value = 7;
    int seen = 0;
    EXPECT_TRUE(copy(writer, &value, memory, 4).is_ok());
    EXPECT_EQ(kEvents.event_record(event, handle(writer), nullptr), SLUICE_OK);
    if (waits) {
      EXPECT_EQ(kEvents.stream_wait_event(handle(reader), event, nullptr), SLUICE_OK);
    }
    EXPECT_TRUE(copy(reader, memory, &seen, 4).is_ok());
    EXPECT_TRUE(backend_->wait(reader, -1).is_ok());
    kEvents.event_destroy(event);
    return seen;
  }

  std::unique_ptr<Backend> backend_;
  Group group_;        // of device 0
  Group other_group_;  // of device 1
  std::vector<std::unique_ptr<Stream, StreamEnd>> streams_;
};

TEST_F(BackendTest, EventOrdersStreamsInEveryOrderOfWork) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) EXPECT_EQ(write_and_read(seed, true), 7);
}

TEST_F(BackendTest, MissingEventIsFoundInSomeOrderOfWork) {
  int num_stale = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed)
    num_stale += write_and_read(seed, false) == 7 ? 0 : 1;
  EXPECT_GT(num_stale, 0);
}

TEST_F(BackendTest, BytesGoThereAndBack) {
  start();
  Stream& stream = make_stream();
  void* const one = allocate(400);
  void* const two = allocate(400);
  std::vector<int> sent(100);
  std::vector<int> received(100);
  std::iota(sent.begin(), sent.end(), 0);
  EXPECT_TRUE(copy(stream, sent.data(), one, 400).is_ok());
  EXPECT_TRUE(copy(stream, one, two, 400).is_ok());
  EXPECT_TRUE(copy(stream, two, received.data(), 400).is_ok());
  EXPECT_EQ(backend_->wait(stream, 1'000'000'000).text, "");
  EXPECT_EQ(sent, received);
}

TEST_F(BackendTest, MemoryOfOthersOnTheDeviceIsCopiedThere) {
  start();
  Stream& stream = make_stream();
  const DriverTable& cu = backend_->driver().table;
  CuDevicePointer others = 0;
  ASSERT_EQ(cu.mem_alloc(&others, 8), CuResult::kSuccess);
  void* const own = allocate(8);
  const std::uint64_t sent = 123;
  std::uint64_t received = 0;
  EXPECT_TRUE(copy(stream, const_cast<std::uint64_t*>(&sent), own, 8).is_ok());
  EXPECT_TRUE(copy(stream, own, reinterpret_cast<void*>(others), 8).is_ok());
  EXPECT_TRUE(copy(stream, reinterpret_cast<void*>(others), own, 8).is_ok());
  EXPECT_TRUE(copy(stream, own, &received, 8).is_ok());
  EXPECT_EQ(backend_->wait(stream, -1).text, "");
  EXPECT_EQ(sent, received);
}

TEST_F(BackendTest, BytesGoFromDeviceToDeviceWithAndWithoutALink) {
  for (const bool has_link : {true, false}) {
    start(1, 1 << 20, 2, has_link);
    Stream& stream = make_stream(other_group_);
    const std::uint64_t sent = 123;
    std::uint64_t received[2] = {};
    void* const there = allocate(8, 0);
    void* const here = allocate(8, 1);
    void* const back = allocate(8, 0);
    EXPECT_TRUE(copy(stream, const_cast<std::uint64_t*>(&sent), there, 8).is_ok());
    EXPECT_TRUE(copy(stream, there, here, 8).is_ok());
    EXPECT_TRUE(copy(stream, here, back, 8).is_ok());
    EXPECT_TRUE(copy(stream, here, &received[0], 8).is_ok());
    EXPECT_TRUE(copy(stream, back, &received[1], 8).is_ok());
    EXPECT_EQ(backend_->wait(stream, -1).text, "");
    EXPECT_THAT(received, ::testing::Each(sent));
    EXPECT_EQ(ask_for_access(),
              has_link ? CuResult::kPeerAccessAlreadyEnabled : CuResult::kPeerAccessUnsupported);
  }
}

TEST_F(BackendTest, DevicesGetAccessWithTheirFirstCopyOnly) {
  start(1, 1 << 20, 2);
  Stream& stream = make_stream(other_group_);
  int value = 7;
  EXPECT_TRUE(copy(stream, &value, allocate(4, 1), 4).is_ok());
  EXPECT_EQ(backend_->wait(stream, -1).text, "");
  EXPECT_EQ(ask_for_access(), CuResult::kSuccess);
}

TEST_F(BackendTest, CopyFromALostDeviceNamesBothAndTheOtherGoesOn) {
  start(1, 1 << 20, 2);
  Stream& first = make_stream();
  Stream& second = make_stream(other_group_);
  void* const there = allocate(8, 0);
  void* const here = allocate(8, 1);
  const std::uint64_t sent = 123;
  std::uint64_t received = 0;
  const DriverTable& cu = backend_->driver().table;
  EXPECT_TRUE(backend_->enter(0).is_ok());
  void* const gone = allocate(64, 0);
  EXPECT_EQ(cu.memset_d8_async(reinterpret_cast<CuDevicePointer>(gone), 0, 64, first.handle),
            CuResult::kSuccess);
  backend_->release(0, gone);  // before the fill has run
  EXPECT_EQ(backend_->wait(first, -1).code, SLUICE_UNAVAILABLE);
  EXPECT_TRUE(copy(second, there, here, 8).is_ok());
  const Status status = backend_->wait(second, -1);
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("copying 8 bytes from device 0 to device 1"));
  EXPECT_THAT(status.text, HasSubstr("start it anew"));
  EXPECT_TRUE(copy(second, const_cast<std::uint64_t*>(&sent), here, 8).is_ok());
  EXPECT_TRUE(copy(second, here, &received, 8).is_ok());
  EXPECT_EQ(backend_->wait(second, -1).text, "");
  EXPECT_EQ(received, sent);
}

TEST_F(BackendTest, MemoryIsTheDevicesFromItsFirstToItsLastByte) {
  start(1, 1 << 20, 2);
  const DriverTable& cu = backend_->driver().table;
  CuDevicePointer others = 0;
  ASSERT_TRUE(backend_->enter(1).is_ok());
  ASSERT_EQ(cu.mem_alloc(&others, 64), CuResult::kSuccess);
  const auto check = [&](int device, CuDevicePointer address, std::int64_t bytes) {
    return backend_->check_memory(device, reinterpret_cast<void*>(address), bytes).text;
  };
  EXPECT_EQ(check(1, others, 64), "");
  EXPECT_EQ(check(1, others + 60, 4), "");
  EXPECT_THAT(check(1, others + 60, 5), HasSubstr("pass the end of an allocation of 64"));
  EXPECT_THAT(check(1, others, -1), HasSubstr("pass the end"));
  EXPECT_THAT(check(0, others, 64), HasSubstr("are memory of device 1, not of device 0"));
  EXPECT_THAT(check(2, others, 64), HasSubstr("no device 2"));
  EXPECT_THAT(check(1, reinterpret_cast<CuDevicePointer>(&others), 8),
              HasSubstr("are memory of no device, or were freed"));
  ASSERT_EQ(cu.mem_free(others), CuResult::kSuccess);
  EXPECT_THAT(check(1, others, 64), HasSubstr("are memory of no device, or were freed"));
}

TEST_F(BackendTest, OutOfMemoryNamesTheDeviceAndWhatIsLeft) {
  start(1, 1 << 20);
  void* address = nullptr;
  const Status status = backend_->allocate(0, 2 << 20, &address);
  EXPECT_EQ(status.code, SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.text, HasSubstr("allocating 2097152 bytes on device 0"));
  EXPECT_THAT(status.text, HasSubstr("device 0 has no 2097152 bytes left of 1048576"));
}

TEST_F(BackendTest, CopyPastTheEndIsToldByTheNextWaitOnce) {
  start();
  Stream& stream = make_stream();
  void* const memory = allocate(8);
  std::vector<char> bytes(64);
  EXPECT_TRUE(copy(stream, bytes.data(), memory, 64).is_ok());
  EXPECT_THAT(backend_->wait(stream, -1).text, HasSubstr("the end of the allocation of 8 bytes"));
  EXPECT_EQ(backend_->wait(stream, -1).text, "");
}

TEST_F(BackendTest, CopyBetweenHostBuffersIsRefused) {
  start();
  Stream& stream = make_stream();
  int a = 0;
  int b = 0;
  EXPECT_TRUE(copy(stream, &a, &b, 4).is_ok());
  EXPECT_THAT(backend_->wait(stream, -1).text, HasSubstr("from host to host"));
}

TEST_F(BackendTest, UnknownDeviceIsNamed) {
  start();
  EXPECT_EQ(backend_->enter(1).text, "no device 1; there are 1");
}

}  // namespace
}  // namespace sluice::cuda

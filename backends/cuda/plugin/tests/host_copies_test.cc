// Copies of the host by way of pinned memory, in graphs and beside them.

#include "plugin/host_copies.h"

#include "plugin/extensions.h"
#include "plugin/testing/device_lists.h"

namespace sluice::cuda {
namespace {

using ::testing::Each;

class HostCopiesTest : public DeviceListsTest {};

TEST_F(HostCopiesTest, LargeCopiesRunBetweenGraphs) {
  const std::int64_t many = static_cast<std::int64_t>(kMaxStagedBytes) + 4;
  Stream& stream = make_stream();
  const Kernel& kernel = make_add();
  void* const x = allocate(many);
  void* const twice = allocate();
  CommandList& list = make_list();  // binding 1 = 4 * the first of 0, and 2 = 8 * the first of 3
  copy(list, bound(0), fixed(x), many);
  add(list, kernel, fixed(x), fixed(x), fixed(twice));
  add(list, kernel, fixed(twice), fixed(twice), fixed(x));
  copy(list, fixed(x), bound(1));
  copy(list, bound(3), fixed(x), many);
  add(list, kernel, fixed(x), fixed(x), fixed(twice));
  add(list, kernel, fixed(twice), fixed(twice), fixed(twice));
  add(list, kernel, fixed(twice), fixed(twice), fixed(twice));
  copy(list, fixed(twice), bound(2));
  finish(list);
  for (int i = 1; i < 5; ++i) {
    std::vector<float> one(static_cast<std::size_t>(many) / 4, static_cast<float>(i));
    std::vector<float> two(static_cast<std::size_t>(many) / 4, static_cast<float>(10 * i));
    std::vector<float> y(kCount);
    std::vector<float> z(kCount);
    EXPECT_EQ(run(stream, list, {one.data(), y.data(), z.data(), two.data()}).text, "");
    EXPECT_THAT(y, Each(4 * one[0]));
    EXPECT_THAT(z, Each(8 * two[0]));
  }
  EXPECT_EQ(num_captured(), 1);
  EXPECT_EQ(backend_->graph_counts().num_refused, 0);
}

TEST_F(HostCopiesTest, BytesThatTheListItselfBringsToTheHostAreSeenByItsLaterCopies) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    start({.seed = seed});
    Stream& stream = make_stream();
    void* const one = allocate();
    void* const two = allocate();
    CommandList& list = make_list();  // 0 -> 1 -> 2, over the device
    copy(list, bound(0), fixed(one));
    copy(list, fixed(one), bound(1));
    copy(list, bound(1), fixed(two));
    copy(list, fixed(two), bound(2));
    finish(list);
    for (int i = 0; i < 4; ++i) {
      std::vector<float> x(kCount, static_cast<float>(i + 1));
      std::vector<float> y(kCount);
      std::vector<float> z(kCount);
      EXPECT_EQ(run(stream, list, {x.data(), y.data(), z.data()}).text, "");
      EXPECT_EQ(y, x);
      EXPECT_EQ(z, x);
    }
  }
}

TEST_F(HostCopiesTest, EventHappensWhenBytesForTheHostAreThere) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    start({.seed = seed});
    Stream& writer = make_stream();
    Stream& reader = make_stream();
    CommandList& first = make_quadruple();
    CommandList& second = make_quadruple();
    sluice_event* event = nullptr;
    auto* const handle = reinterpret_cast<sluice_backend*>(backend_.get());
    EXPECT_EQ(kEvents.event_create(handle, &event, nullptr), SLUICE_OK);
    for (int i = 0; i < 4; ++i) {
      std::vector<float> x(kCount, static_cast<float>(i + 1));
      std::vector<float> y(kCount);
      std::vector<float> z(kCount);
      void* one[] = {x.data(), y.data()};
      void* two[] = {y.data(), z.data()};
      EXPECT_EQ(backend_->submit(writer, first, one).text, "");
      EXPECT_EQ(kEvents.event_record(event, reinterpret_cast<sluice_stream*>(&writer), nullptr),
                SLUICE_OK);
      EXPECT_EQ(
          kEvents.stream_wait_event(reinterpret_cast<sluice_stream*>(&reader), event, nullptr),
          SLUICE_OK);
      EXPECT_EQ(backend_->submit(reader, second, two).text, "");
      EXPECT_EQ(backend_->wait(reader, -1).text, "");
      EXPECT_EQ(backend_->wait(writer, -1).text, "");
      EXPECT_THAT(z, Each(16 * x[0]));
    }
    kEvents.event_destroy(event);
  }
}

TEST_F(HostCopiesTest, ListsOfOneStreamNeedNoWaitBetween) {
  Stream& stream = make_stream();
  CommandList& first = make_quadruple();
  CommandList& second = make_quadruple();
  for (int i = 0; i < 4; ++i) {
    std::vector<float> x(kCount, static_cast<float>(i + 1));
    std::vector<float> y(kCount);
    void* one[] = {x.data(), y.data()};
    void* two[] = {y.data(), x.data()};
    EXPECT_EQ(backend_->submit(stream, first, one).text, "");
    EXPECT_EQ(backend_->submit(stream, second, two).text, "");
    EXPECT_EQ(backend_->wait(stream, -1).text, "");
    EXPECT_THAT(x, Each(static_cast<float>(16 * (i + 1))));
  }
}

}  // namespace
}  // namespace sluice::cuda

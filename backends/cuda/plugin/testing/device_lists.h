// Command lists of small kernels on an emulated device, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "plugin/backend.h"

namespace sluice::cuda {

inline constexpr int kFloat = 1;  // of ONNX's element types
inline constexpr int kInt64 = 7;
inline constexpr std::int64_t kCount = 64;
inline constexpr std::int64_t kBytes = kCount * 4;

/// An operation, and the memory that it refers to.
struct SmallOp {
  SmallOp(const char* kind, int version, const char* name, std::vector<int> input_types)
      : dims(kCount) {
    for (const int type : input_types) {
      sluice_operand operand = {};
      operand.tensor = {nullptr, kCount * (type == kInt64 ? 8 : 4), type, 0, 1, 0, &dims};
      inputs.push_back(operand);
    }
    output.tensor = {nullptr, kBytes, kFloat, 0, 1, 0, &dims};
    op.struct_size = sizeof(op);
    op.version = version;
    op.domain = "";
    op.kind = kind;
    op.name = name;
    op.num_inputs = static_cast<int>(inputs.size());
    op.num_outputs = 1;
    op.inputs = inputs.data();
    op.outputs = &output;
  }
  SmallOp(const SmallOp&) = delete;
  SmallOp& operator=(const SmallOp&) = delete;

  std::int64_t dims;
  std::vector<sluice_operand> inputs;
  sluice_operand output = {};
  sluice_op op = {};
};

inline sluice_argument fixed(void* address) { return {-1, 0, address, 0, nullptr}; }
inline sluice_argument bound(int binding) { return {binding, 0, nullptr, 0, nullptr}; }

class DeviceListsTest : public ::testing::Test {
 protected:
  struct Options {
    std::uint64_t seed = 1;
    GraphUse graphs = GraphUse::kRepeated;
    Confine confine = Confine::kNothing;
    std::size_t num_devices = 1;
    void (*change)(DriverTable&) = nullptr;
  };

  ~DeviceListsTest() override { clear(); }
  void SetUp() override {
    start();
    if (!backend_->store().check_compiler().is_ok()) {
      GTEST_SKIP() << backend_->store().check_compiler().text;
    }
  }

  void clear() {
    lists_.clear();
    streams_.clear();
    groups_.clear();
    kernels_.clear();
    ops_.clear();
    backend_.reset();
  }
  void start() { start(Options()); }
  void start(const Options& options) {
    clear();
    emulator::Description description;
    description.seed = options.seed;
    description.devices[0].multiprocessors = 20;
    description.devices[0].major = 8;
    description.devices.resize(options.num_devices, description.devices[0]);
    std::unique_ptr<emulator::EmulatedDriver> emulated;
    ASSERT_EQ(emulator::EmulatedDriver::start(description, emulator::load_ptx, &emulated).text, "");
    Driver driver = {emulated->table(), true, options.confine, nullptr};
    driver.graphs = options.graphs;
    driver.owner = std::move(emulated);
    if (options.change != nullptr) options.change(driver.table);
    ASSERT_EQ(Backend::create(std::move(driver), "", &backend_).text, "");
  }

  Group& make_group(const std::vector<std::int32_t>& cores = {}, int device = 0) {
    std::unique_ptr<Group> made;
    EXPECT_EQ(backend_->make_group(device, cores, &made).text, "");
    groups_.push_back(std::move(made));
    return *groups_.back();
  }
  struct StreamEnd {
    void operator()(Stream* stream) const {
      stream->group->backend->destroy_stream(*stream);
      delete stream;
    }
  };
  Stream& make_stream(Group& group) {
    std::unique_ptr<Stream> made;
    EXPECT_EQ(backend_->make_stream(group, &made).text, "");
    streams_.emplace_back(made.release());
    return *streams_.back();
  }
  Stream& make_stream() { return make_stream(make_group()); }

  const Kernel& make_kernel(const char* kind, int version, const char* name,
                            const std::vector<int>& types, int device = 0) {
    ops_.push_back(std::make_unique<SmallOp>(kind, version, name, types));
    std::unique_ptr<Kernel> made;
    EXPECT_EQ(backend_->make_kernel(device, ops_.back()->op, nullptr, &made).text, "");
    kernels_.push_back(std::move(made));
    return *kernels_.back();
  }
  const Kernel& make_add(int device = 0) {
    return make_kernel("Add", 14, "sum", {kFloat, kFloat}, device);
  }
  const Kernel& make_gather(const char* name) {
    return make_kernel("Gather", 13, name, {kFloat, kInt64});
  }
  void* allocate(std::int64_t bytes = kBytes, int device = 0) {
    void* address = nullptr;
    EXPECT_EQ(backend_->allocate(device, bytes, &address).text, "");
    return address;
  }

  CommandList& make_list() {
    lists_.push_back(std::make_unique<CommandList>());
    return *lists_.back();
  }
  static void add(CommandList& list, const Kernel& kernel, const sluice_argument& a,
                  const sluice_argument& b, const sluice_argument& to) {
    const sluice_argument inputs[] = {a, b};
    EXPECT_EQ(plugin::detail::record_kernel(list, kernel, inputs, {&to, 1}).text, "");
  }
  static void copy(CommandList& list, const sluice_argument& from, const sluice_argument& to,
                   std::int64_t bytes = kBytes) {
    EXPECT_EQ(plugin::detail::record_copy(list, from, to, bytes).text, "");
  }
  static void finish(CommandList& list) { EXPECT_EQ(plugin::detail::finish_list(list).text, ""); }

  /// y = 4 x, of host memory: bindings 0 and 1.
  CommandList& make_quadruple(int device = 0) {
    const Kernel& kernel = make_add(device);
    void* const x = allocate(kBytes, device);
    void* const twice = allocate(kBytes, device);
    CommandList& list = make_list();
    copy(list, bound(0), fixed(x));
    add(list, kernel, fixed(x), fixed(x), fixed(twice));
    add(list, kernel, fixed(twice), fixed(twice), fixed(x));
    copy(list, fixed(x), bound(1));
    finish(list);
    return list;
  }
  Status run(Stream& stream, CommandList& list, std::vector<void*> bindings) {
    EXPECT_EQ(backend_->submit(stream, list, bindings).text, "");
    return backend_->wait(stream, -1);
  }
  /// Runs a list of `make_quadruple` on new memory of the host.
  void quadruple(Stream& stream, CommandList& list, float value) {
    std::vector<float> x(kCount, value);
    std::vector<float> y(kCount);
    EXPECT_EQ(run(stream, list, {x.data(), y.data()}).text, "");
    EXPECT_THAT(y, ::testing::Each(4 * value));
  }
  std::int64_t num_captured() const { return backend_->graph_counts().num_captured; }

  std::unique_ptr<Backend> backend_;
  std::vector<std::unique_ptr<SmallOp>> ops_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<std::unique_ptr<Stream, StreamEnd>> streams_;
  std::vector<std::unique_ptr<CommandList>> lists_;
};

}  // namespace sluice::cuda

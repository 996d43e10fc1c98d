#include "probe/probe.h"

namespace sluice::cuda {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 20;  // drivers reserve multiples of 32 MiB

class Pool {
 public:
  Pool(Prober& prober, const DriverTable& cu) : prober_(prober), cu_(cu) {
    CuMemoryPoolProperties properties = {};
    properties.allocation_type = CuAllocationType::kPinned;
    properties.location = {CuLocationType::kDevice, 0};
    prober.say("pool", cu.mem_pool_create(&pool_, &properties));
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { cu_.mem_pool_destroy(pool_); }

  CuDevicePointer allocate(CuStream stream) {
    CuDevicePointer address = 0;
    cu_.mem_alloc_from_pool_async(&address, kBlock, pool_, stream);
    return address;
  }
  void keep(std::uint64_t bytes) {
    cu_.mem_pool_set_attribute(pool_, CuMemoryPoolAttribute::kReleaseThreshold, &bytes);
  }
  CuResult trim() { return cu_.mem_pool_trim_to(pool_, 0); }
  /// Says how many blocks are in use, and how many the pool holds of the device's memory.
  void say(const std::string& subject) {
    prober_.say("pool " + subject, blocks(CuMemoryPoolAttribute::kUsedCurrent) + " used, " +
                                       blocks(CuMemoryPoolAttribute::kReservedCurrent) +
                                       " reserved");
  }

 private:
  std::string blocks(CuMemoryPoolAttribute attribute) {
    std::uint64_t bytes = 0;
    cu_.mem_pool_get_attribute(pool_, attribute, &bytes);
    return std::to_string(bytes / kBlock);
  }

  Prober& prober_;
  const DriverTable& cu_;
  CuMemoryPool pool_ = nullptr;
};

}  // namespace

void probe_pools(Prober& prober) {
  const auto backend = prober.start(Confine::kNothing);
  if (backend == nullptr) return;
  const DriverTable& cu = backend->driver().table;
  Pool pool(prober, cu);
  CuStream one = nullptr;
  CuStream two = nullptr;
  cu.stream_create_with_priority(&one, kStreamNonBlocking, 0);
  cu.stream_create_with_priority(&two, kStreamNonBlocking, 0);
  pool.keep(std::uint64_t{1} << 40);
  CuDevicePointer address = pool.allocate(one);
  pool.say("with a block");
  cu.mem_free_async(address, one);
  address = pool.allocate(one);
  pool.say("with a block again, in its stream");
  cu.mem_free_async(address, one);
  cu.ctx_synchronize();
  pool.say("after a free and a wait, below the threshold");
  prober.say("pool trim", pool.trim());
  pool.say("after a trim");
  address = pool.allocate(one);
  cu.ctx_synchronize();
  cu.mem_free_async(address, one);
  cu.ctx_synchronize();
  address = pool.allocate(two);
  pool.say("with a block of another stream after a wait");
  pool.keep(0);
  cu.mem_free_async(address, two);
  cu.stream_synchronize(two);
  pool.say("after a free and a wait, above the threshold");
  address = pool.allocate(two);
  prober.say("pool free", cu.mem_free_async(address, two));
  prober.say("pool second free", cu.mem_free_async(address, two));
  cu.ctx_synchronize();
  cu.stream_destroy(one);
  cu.stream_destroy(two);
}

}  // namespace sluice::cuda

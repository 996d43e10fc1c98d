#include "service/clients/names.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::service {
namespace {

TEST(Names, ArePrintableAndShort) {
  for (const std::string& good : {std::string(), std::string("resnet 50"), std::string("größe"),
                                  std::string(kMaxNameBytes, 'a')}) {
    EXPECT_TRUE(check_name(good, "model").is_ok()) << good;
  }
  for (const std::string& bad :
       {std::string(kMaxNameBytes + 1, 'a'), std::string("a\nb"), std::string("a\x1B[31m"),
        std::string("a\0b", 3), std::string("\x7F"), std::string("\xFF"), std::string("\xC3")}) {
    EXPECT_EQ(check_name(bad, "model").code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace sluice::service

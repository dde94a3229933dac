#include "det/master/webhooks/outside_address.h"

#include <gtest/gtest.h>

namespace det::master {
namespace {

namespace ip = boost::asio::ip;

TEST(OutsideAddress, OnlyAddressesOfTheInternetAreCalled) {
  for (const auto* refused : {"127.0.0.1",
                              "127.255.255.254",
                              "0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.1",
                              "100.127.255.255",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "192.0.0.8",
                              "198.18.0.1",
                              "224.0.0.1",
                              "239.255.255.255",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "fe80::1",
                              "fd00:ec2::254",
                              "fc00::1",
                              "ff02::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.1.2.3",
                              "::127.0.0.1",
                              "64:ff9b::7f00:1",
                              "64:ff9b::a9fe:a9fe",
                              "2002:7f00:1::",
                              "2001:0:1::1",
                              "2001:db8::1",
                              "64:ff9b:1::1",
                              "100::1",
                              "4000::1"})
    EXPECT_TRUE(refusal(ip::make_address(refused), {})) << refused;
  for (const auto* called :
       {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
        "223.255.255.255", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"})
    EXPECT_EQ(refusal(ip::make_address(called), {}), std::nullopt) << called;
}

TEST(OutsideAddress, TheOperatorCanAllowMore) {
  const std::vector<Network> allowed = {*parse_network("10.1.0.0/16"), *parse_network("::1")};
  for (const auto* called : {"10.1.2.3", "::ffff:10.1.2.3", "::1"})
    EXPECT_EQ(refusal(ip::make_address(called), allowed), std::nullopt) << called;
  for (const auto* refused : {"10.2.0.1", "127.0.0.1", "::ffff:10.2.0.1", "fd00::1"})
    EXPECT_TRUE(refusal(ip::make_address(refused), allowed)) << refused;
}

TEST(OutsideAddress, ARangeThatIsNoneIsNamed) {
  for (const auto* wrong :
       {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "fd00::/129", "example.com", "10/8", "1.1.1.1/0x8"}) {
    const auto parsed = parse_network(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_NE(parsed.error().message().find(fmt::format("'{}'", wrong)), std::string::npos);
  }
  EXPECT_TRUE(parse_network("0.0.0.0/0")->contains(ip::make_address("9.9.9.9")));
  EXPECT_FALSE(parse_network("0.0.0.0/0")->contains(ip::make_address("2606::1")));
}

TEST(OutsideAddress, AUrlIsAbsoluteHttpWithAHostAndNobodysName) {
  for (const auto* wrong : {"", "example.com/hook", "/hook", "ftp://example.com", "file:///etc/passwd",
                            "gopher://x", "http://", "https:///x", "http://user:secret@example.com/",
                            "http://a b/", "javascript:alert(1)", "http://127.0.0.1/", "http://[::1]:80/",
                            "http://169.254.169.254/latest/meta-data", "http://10.0.0.1"})
    EXPECT_FALSE(check_outside_url(wrong, {})) << wrong;
  for (const auto* fine : {"https://example.com/hook?x=1", "HTTP://example.com:8080", "http://1.1.1.1/"})
    EXPECT_TRUE(check_outside_url(fine, {})) << fine;
  EXPECT_TRUE(check_outside_url("http://127.0.0.1:5/x", {*parse_network("127.0.0.0/8")}));
}

}  // namespace
}  // namespace det::master

#include "det/pytorch/ranks/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "det/pytorch/ranks/network.h"
#include "det/trial/fake_master.h"

namespace det::pytorch {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MeetingTest : public ::testing::Test {
 protected:
  trial::ClientOptions client_options() {
    trial::ClientOptions options;
    options.master = master.url();
    options.token = "token";
    options.experiment = ExperimentId{1};
    options.trial = TrialId{1};
    options.allocation_id = "1.x.1";
    return options;
  }
  MeetingOptions options(std::int64_t rank, milliseconds patience = std::chrono::seconds(20)) {
    return {.rank = rank,
            .size = 2,
            .local_size = 2,
            .cross_rank = 0,
            .name = "1.x.1",
            .master_host = "127.0.0.1",
            .patience = patience};
  }
  /// What rank 0 has published becomes what the others are told.
  Address published() {
    while (true) {
      {
        const auto lock = master.lock();
        for (std::size_t i = 0; i < master.log.size(); ++i)
          if (master.log[i].find("/rendezvous") != std::string::npos) {
            master.rendezvous = json::serialize(master.bodies[i]);
            return *parse_address(std::string(master.bodies[i].at("addresses").at(0).as_string()));
          }
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  template <typename Failure>
  std::string message_of(std::future<Meeting>& meeting) {
    try {
      meeting.get();
    } catch (const Failure& error) {
      return error.what();
    } catch (const std::exception& error) {
      return std::string("another exception: ") + error.what();
    }
    return "nothing was thrown";
  }

  trial::FakeMaster master;
  std::vector<std::unique_ptr<trial::Client>> clients;
  std::future<Meeting> start(MeetingOptions given) {
    auto& client = *clients.emplace_back(std::make_unique<trial::Client>(client_options()));
    return std::async(std::launch::async, [given, &client] { return meet(given, client); });
  }
};

TEST_F(MeetingTest, RanksFindEachOtherThroughTheMaster) {
  auto chief = start(options(0));
  published();
  auto other = start(options(1));
  const auto a = chief.get();
  const auto b = other.get();
  EXPECT_THAT(a.machines, ElementsAre(0, 0));
  EXPECT_THAT(b.machines, ElementsAre(0, 0));
  a.store->set("key", "value");
  EXPECT_EQ(b.store->get("key"), "value");
  EXPECT_EQ(b.another_connection()->claim("end", "mine"), "mine");
  EXPECT_EQ(a.store->claim("end", "too late"), "mine");
}

TEST_F(MeetingTest, ARankOfPythonIsRefusedAndBothAreToldWhy) {
  auto chief = start(options(0));
  const auto address = published();
  const auto store = Store::connect(address.host, address.port, std::chrono::seconds(5));
  store->set("come/1", R"({"host":"127.0.0.1","machine":0})");
  const auto go = store->get("go");
  store->add("left", 1);
  EXPECT_THAT(go, HasSubstr("all ranks of a trial must use the same language"));
  EXPECT_EQ(message_of<RanksMissing>(chief),
            "rank 1 runs Python and rank 0 runs C++; all ranks of a trial must use the same language");
}

TEST_F(MeetingTest, RanksThatDoNotComeAreNamed) {
  auto chief = start(options(0, milliseconds(200)));
  EXPECT_THAT(message_of<RanksMissing>(chief), HasSubstr("rank 1 of 2 did not connect within 0.2 s"));
  auto other = start(options(1, milliseconds(200)));
  EXPECT_THAT(message_of<RanksMissing>(other), HasSubstr("rank 0 of 2 did not connect within 0.2 s"));
}

TEST_F(MeetingTest, AnotherTrialsStoreIsNotTaken) {
  auto stranger = options(0);
  stranger.name = "another";
  auto chief = start(stranger);
  published();
  auto other = start(options(1, milliseconds(500)));
  EXPECT_THAT(message_of<RanksMissing>(other), HasSubstr("rank 0 of another trial answers there"));
  const auto lock = master.lock();
  master.preempt = true;
}

TEST(Network, AddressesAreReadAndALoopbackAddressMeansSomethingHereOnly) {
  EXPECT_EQ(address_text("10.0.0.5", 4021), "10.0.0.5:4021");
  EXPECT_EQ(address_text("fe80::1", 4021), "[fe80::1]:4021");
  EXPECT_TRUE(parse_address(address_text("127.0.0.1", 4021))->here);
  EXPECT_FALSE(parse_address("127.0.0.1:4021@elsewhere")->here);
  EXPECT_EQ(parse_address("[fe80::1]:4021")->host, "fe80::1");
  EXPECT_EQ(parse_address("nowhere").error().message(),
            "the address of rank 0 is \"nowhere\"; it must be host:port");
  EXPECT_EQ(interface_towards("127.0.0.1"), "lo");
}

TEST(Network, SecondsOfTheEnvironmentAreChecked) {
  EXPECT_EQ(*seconds_from(nullptr, "X", milliseconds(7)), milliseconds(7));
  EXPECT_EQ(*seconds_from("1.5", "X", milliseconds(7)), milliseconds(1500));
  EXPECT_EQ(seconds_from("soon", "X", milliseconds(7)).error().message(),
            "X is \"soon\"; it must be a number of seconds greater than 0");
  EXPECT_FALSE(seconds_from("0", "X", milliseconds(7)));
}

}  // namespace
}  // namespace det::pytorch

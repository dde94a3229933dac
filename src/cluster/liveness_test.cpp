#include "det/cluster/liveness.h"

#include <gtest/gtest.h>

namespace det::cluster {
namespace {

struct Known {
  bool connected = true, silent = false;
};
using Names = std::vector<std::string>;

constexpr Time at(std::int64_t seconds) {
  return {seconds * kSecond};
}

TEST(Liveness, AnAgentIsSilentWithoutACallForFiveSecondsAndLostAfterForty) {
  const std::map<std::string, Known> agents{{"a", {}}};
  Liveness liveness(at(100));
  liveness.called("a", at(110));
  EXPECT_EQ(liveness.silent(agents, at(149)), Names{}) << "its call is open";
  EXPECT_EQ(liveness.lost(agents, at(150)), Names{});
  EXPECT_EQ(liveness.lost(agents, at(151)), Names{"a"}) << "its lease counts from where it called";
  liveness.answered("a", at(120));
  EXPECT_EQ(liveness.silent(agents, at(125)), Names{});
  EXPECT_EQ(liveness.silent(agents, at(126)), Names{"a"});
  liveness.called("a", at(126));
  EXPECT_EQ(liveness.silent(agents, at(160)), Names{});
  EXPECT_EQ(liveness.lost(agents, at(160)), Names{});
}

TEST(Liveness, WhatIsKnownAlreadyIsNotSaidAgain) {
  const std::map<std::string, Known> agents{{"gone", {.connected = false}}, {"silent", {.silent = true}}};
  const Liveness liveness(at(0));
  EXPECT_EQ(liveness.silent(agents, at(1000)), Names{});
  EXPECT_EQ(liveness.lost(agents, at(1000)), Names{"silent"});
}

TEST(Liveness, OfTwoCallsThatOverlapTheOneThatIsOpenCounts) {
  const std::map<std::string, Known> agents{{"a", {}}};
  Liveness liveness(at(0));
  liveness.called("a", at(1));
  liveness.called("a", at(2));
  liveness.answered("a", at(3));
  EXPECT_EQ(liveness.silent(agents, at(20)), Names{});
}

TEST(Liveness, AMasterThatCouldNotHearGivesEveryoneTheFullTimeAgain) {
  const std::map<std::string, Known> agents{{"a", {}}, {"never heard", {}}};
  Liveness liveness(at(0));
  liveness.called("a", at(1));
  liveness.answered("a", at(2));
  liveness.was_deaf_until(at(100));
  EXPECT_EQ(liveness.silent(agents, at(105)), Names{});
  EXPECT_EQ(liveness.lost(agents, at(140)), Names{});
  EXPECT_EQ(liveness.silent(agents, at(106)), (Names{"a", "never heard"}));
  EXPECT_EQ(liveness.lost(agents, at(141)), (Names{"a", "never heard"}));
}

TEST(Liveness, AnAgentThatCallsIsNotForgottenForBeingAStranger) {
  Liveness liveness(at(0));
  liveness.called("new", at(50));
  liveness.called("old", at(50));
  liveness.answered("old", at(50));
  liveness.forget_strangers(std::map<std::string, Known>{});
  const std::map<std::string, Known> agents{{"new", {}}, {"old", {}}};
  EXPECT_EQ(liveness.silent(agents, at(52)), Names{"old"});
}

}  // namespace
}  // namespace det::cluster

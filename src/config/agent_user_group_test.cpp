#include "det/config/agent_user_group.h"

#include <gtest/gtest.h>

namespace det::config {
namespace {

using Group = AgentUserGroup;
using Maybe = std::optional<AgentUserGroup>;

const Group kAnn{.agent_uid = 1000, .agent_gid = 1000, .agent_user = "ann", .agent_group = "staff"};
const Group kLabUser{.agent_uid = 70, .agent_gid = {}, .agent_user = "lab", .agent_group = {}};
const Group kLabGroup{.agent_uid = {}, .agent_gid = 80, .agent_user = {}, .agent_group = "labs"};

TEST(AgentUserGroup, OfAWorkspaceGoesBeforeThatOfTheOwnerHalfByHalf) {
  const Group lab_user{.agent_uid = 70, .agent_gid = 1000, .agent_user = "lab", .agent_group = "staff"};
  const Group lab_group{.agent_uid = 1000, .agent_gid = 80, .agent_user = "ann", .agent_group = "labs"};
  struct Case {
    Maybe workspace, owner, expected;
  };
  for (const auto& [workspace, owner, expected] : {
           Case{{}, {}, {}},
           Case{{}, kAnn, kAnn},
           Case{kLabUser, kAnn, lab_user},
           Case{kLabGroup, kAnn, lab_group},
           Case{kLabGroup, {}, kLabGroup},
           Case{Group{}, kAnn, kAnn},
           Case{Group{}, {}, {}},
       })
    EXPECT_EQ(effective(workspace, owner), expected);
}

TEST(AgentUserGroup, ProblemsNameWhatIsMissingOrOutOfRange) {
  EXPECT_FALSE(problem(kAnn, true));
  EXPECT_FALSE(problem(kLabUser, false));
  EXPECT_FALSE(problem({}, false));
  EXPECT_EQ(problem(kLabUser, true)->message(), "agent_gid and agent_group are required");
  EXPECT_EQ(problem({.agent_uid = -1, .agent_user = ""}, false)->message(),
            "agent_uid is -1; it must be at least 0; agent_user must not be empty");
  EXPECT_EQ(problem({.agent_uid = 5}, false)->message(), "agent_uid and agent_user must be given together");
}

}  // namespace
}  // namespace det::config

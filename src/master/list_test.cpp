// Finding experiments, over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class ListTest : public testing::MasterTest {
 protected:
  std::vector<std::int64_t> found(const std::string& query) {
    const auto answer = call(user_, "GET", "/api/v1/experiments?" + query);
    EXPECT_EQ(answer.status, 200) << answer.text;
    std::vector<std::int64_t> ids;
    for (const auto& item : answer.body.at("experiments").get_array())
      ids.push_back(*json::to_int64(item.at("id")));
    return ids;
  }
};

using Ids = std::vector<std::int64_t>;

TEST_F(ListTest, AnExperimentIsFoundByItsNumberNameDescriptionLabelAndUser) {
  const auto a = submit("description: first steps\nlabels: [vision]\n");
  const auto b = submit("description: second\nlabels: [language]\n");
  EXPECT_EQ(found(fmt::format("search={}", a)), Ids{a});
  EXPECT_EQ(found(fmt::format("search=%23{}", b)), Ids{b});
  EXPECT_EQ(found("search=TESTED&sortBy=SORT_BY_ID"), (Ids{a, b}));
  EXPECT_EQ(found("search=steps"), Ids{a});
  EXPECT_EQ(found("search=langu"), Ids{b});
  EXPECT_EQ(found("search=tested+second"), Ids{b});
  EXPECT_EQ(found("search=determined&sortBy=SORT_BY_ID"), (Ids{a, b}));
  EXPECT_EQ(found("search=admin"), Ids{});
}

}  // namespace
}  // namespace det::master

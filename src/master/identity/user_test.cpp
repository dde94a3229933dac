// Users over HTTP.

#include "det/master/testing.h"

namespace det::master {
namespace {

class UserTest : public testing::MasterTest {
 protected:
  testing::Answer create(const std::string& name, bool admin = false) {
    return call(admin_, "POST", "/api/v1/users",
                json::object{{"user", {{"username", name}, {"admin", admin}, {"active", true}}}});
  }
  testing::Answer patch(std::int64_t id, const json::value& body) {
    return call(admin_, "PATCH", fmt::format("/api/v1/users/{}", id), body);
  }
  std::string names(const std::string& query) {
    std::string all;
    const auto answer = call(admin_, "GET", "/api/v1/users?" + query);
    if (answer.status != 200) return std::to_string(answer.status);
    for (const auto& user : answer.body.at("users").as_array())
      all += (all.empty() ? "" : " ") + std::string(user.at("username").get_string());
    return all;
  }
};

TEST_F(UserTest, TheLastActiveAdministratorStaysOne) {
  const auto admin = call(admin_, "GET", "/api/v1/me").body.at("user").at("id").to_number<std::int64_t>();
  for (const auto* change : {"active", "admin"}) {
    const auto refused = patch(admin, json::object{{change, false}});
    EXPECT_EQ(refused.status, 400) << change;
    EXPECT_NE(refused.text.find("user 'admin' is the last active administrator"), std::string::npos)
        << refused.text;
  }
  EXPECT_EQ(patch(admin, json::object{{"displayName", "the only one"}}).status, 200);
  EXPECT_EQ(create("second", true).status, 200);
  EXPECT_EQ(patch(admin, json::object{{"admin", false}}).status, 200);
}

TEST_F(UserTest, ANewPasswordEndsTheOtherLogIns) {
  ASSERT_EQ(create("ann").status, 200);
  const auto mine = log_in("ann"), elsewhere = log_in("ann");
  const auto id = call(mine, "GET", "/api/v1/me").body.at("user").at("id").to_number<std::int64_t>();
  const auto token = call(mine, "POST", "/api/v1/tokens", json::object{{"userId", id}});
  ASSERT_EQ(token.status, 200) << token.text;
  const auto of_a_program = std::string(token.body.at("token").get_string());
  const auto path = fmt::format("/api/v1/users/{}", id);
  EXPECT_EQ(call(mine, "PATCH", path, json::object{{"password", "new"}}).status, 200);
  EXPECT_EQ(call(mine, "GET", "/api/v1/me").status, 200);
  EXPECT_EQ(call(elsewhere, "GET", "/api/v1/me").status, 401);
  EXPECT_EQ(call(of_a_program, "GET", "/api/v1/me").status, 200);
  EXPECT_EQ(call(admin_, "PATCH", path, json::object{{"password", ""}}).status, 200);
  EXPECT_EQ(call(mine, "GET", "/api/v1/me").status, 401);
  const auto later = log_in("ann");
  for (const bool active : {false, true})
    EXPECT_EQ(call(admin_, "PATCH", path, json::object{{"active", active}}).status, 200);
  EXPECT_EQ(call(later, "GET", "/api/v1/me").status, 401) << "she is active again, and logs in again";
  restart();
  EXPECT_EQ(call(mine, "GET", "/api/v1/me").status, 401);
}

TEST_F(UserTest, ARemoteUserHasNoPassword) {
  const auto make = [&](const char* name, const char* password) {
    return call(admin_, "POST", "/api/v1/users",
                json::object{{"user", {{"username", name}, {"active", true}, {"remote", true}}},
                             {"password", password}});
  };
  EXPECT_EQ(make("both", "secret").status, 400);
  const auto made = make("ann", "");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body.at("user").at("remote"), true);
  const auto id = made.body.at("user").at("id").to_number<std::int64_t>();
  const auto try_login = [&] {
    return call("", "POST", "/api/v1/auth/login", json::object{{"username", "ann"}, {"password", ""}});
  };
  const auto refused = try_login();
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.text.find("user 'ann' is remote and cannot log in with a password"), std::string::npos)
      << refused.text;
  EXPECT_EQ(patch(id, json::object{{"password", "secret"}}).status, 400);
  restart();
  const auto path = fmt::format("/api/v1/users/{}", id);
  EXPECT_EQ(call(admin_, "GET", path).body.at("user").at("remote"), true);
  EXPECT_EQ(patch(id, json::object{{"remote", false}}).body.at("user").at("remote"), false);
  EXPECT_EQ(try_login().status, 200);
}

TEST_F(UserTest, NamesAreOfOneUserEachAndCanBeWritten) {
  ASSERT_EQ(create("Ann").status, 200);
  for (const auto* name : {"ann", "Ann", " bob", "bob ", "", "  ", "a\nb"}) {
    EXPECT_EQ(create(name).status, 400) << name;
    EXPECT_EQ(patch(2, json::object{{"username", name}}).status, 400) << name;
  }
  EXPECT_EQ(create(std::string(257, 'x')).status, 400);
  const auto ann = call(admin_, "GET", "/api/v1/users/Ann/by-username").body.at("user").at("id");
  EXPECT_EQ(patch(ann.to_number<std::int64_t>(), json::object{{"username", "ANN"}}).status, 200) << "her own";
  EXPECT_EQ(call(admin_, "GET", "/api/v1/users/anN/by-username").body.at("user").at("id"), ann);
  log_in("ann");
}

TEST_F(UserTest, OlderClientsSetAPasswordByACallOfItsOwn) {
  const auto ann = make_user("ann");
  const auto path = fmt::format("/api/v1/users/{}/password",
                                call(ann, "GET", "/api/v1/me").body.at("user").at("id").as_int64());
  EXPECT_EQ(call(user_, "POST", path, "Secret-12").status, 403) << "another user's";
  EXPECT_EQ(call(ann, "POST", path, "Secret-12").status, 200);
  const auto with = [&](const char* password) {
    return call("", "POST", "/api/v1/auth/login", json::object{{"username", "ann"}, {"password", password}})
        .status;
  };
  EXPECT_EQ(with("Secret-12"), 200);
  EXPECT_NE(with(""), 200);
}

TEST_F(UserTest, AMessageOfTheAdministratorsIsShownWhileItsTimeLasts) {
  const auto say = [&](const char* duration) {
    return call(admin_, "PUT", "/api/v1/master/cluster_message",
                json::object{{"message", "maintenance"}, {"duration", duration}});
  };
  for (const char* duration : {"90s", "24h", "1h30m"}) EXPECT_EQ(say(duration).status, 200) << duration;
  for (const char* duration : {"soon", "90", "0s", "1d", "-1h", "h"})
    EXPECT_EQ(say(duration).status, 400) << duration;
  EXPECT_EQ(call("", "GET", "/api/v1/master").body.at("clusterMessage").at("message"), "maintenance");
  call(admin_, "DELETE", "/api/v1/master/cluster_message");
  EXPECT_TRUE(call("", "GET", "/api/v1/master").body.at("clusterMessage").is_null());
}

TEST_F(UserTest, AreListedInTheOrderThatIsAskedFor) {
  create("zoe");
  create("bob", true);
  EXPECT_EQ(names(""), "admin determined zoe bob");
  EXPECT_EQ(names("sortBy=SORT_BY_USER_NAME"), "admin bob determined zoe");
  EXPECT_EQ(names("sortBy=SORT_BY_USER_NAME&orderBy=ORDER_BY_DESC"), "zoe determined bob admin");
  EXPECT_EQ(names("sortBy=SORT_BY_ADMIN"), "determined zoe admin bob");
  EXPECT_EQ(names("sortBy=name"), "400");
}

TEST_F(UserTest, ANewUserHasTheNameToShow) {
  const json::object user{{"username", "ann"}, {"displayName", "Ann O."}, {"active", true}};
  ASSERT_EQ(call(admin_, "POST", "/api/v1/users", json::object{{"user", user}}).status, 200);
  restart();
  EXPECT_EQ(call(admin_, "GET", "/api/v1/users/ann/by-username").body.at("user").at("displayName"), "Ann O.");
}

TEST_F(UserTest, ManyAreActivatedAndDeactivatedAtOnceEachWithItsResult) {
  for (const auto* name : {"ann", "anna", "bob"}) ASSERT_EQ(create(name).status, 200);
  const auto many = [this](const json::object& body) { return call(admin_, "PATCH", "/api/v1/users", body); };
  const auto off = many({{"activate", false}, {"filters", {{"name", "NN"}}}});
  ASSERT_EQ(off.status, 200) << off.text;
  EXPECT_EQ(off.body.at("results").as_array().size(), 2u);
  EXPECT_EQ(names("active=true"), "admin determined bob");
  const auto all = many({{"activate", false}, {"filters", json::object()}});
  EXPECT_EQ(names("active=true"), "admin") << "who deactivates all others goes on";
  const auto some = many({{"activate", true}, {"userIds", {2, 5, 99}}});
  EXPECT_EQ(names("active=true"), "admin determined bob");
  EXPECT_EQ(json::serialize(some.body.at("results")),
            R"([{"error":"","id":2},{"error":"","id":5},{"error":"user 99 not found","id":99}])");
  EXPECT_EQ(many({{"userIds", {2}}}).status, 400);
  EXPECT_EQ(call(user_, "PATCH", "/api/v1/users", json::object{{"activate", true}}).status, 401)
      << "was deactivated, and logs in again";
  EXPECT_EQ(call(log_in("bob"), "PATCH", "/api/v1/users", json::object{{"activate", true}}).status, 403);
}

}  // namespace
}  // namespace det::master

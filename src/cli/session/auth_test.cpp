#include "det/cli/session/auth.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "det/cli/test_master.h"

namespace det::cli {
namespace {

using test::det;
using test::run_words;
using test::TemporaryDirectory;
using test::TestMaster;

constexpr const char* kMaster = "http://master:8080";

int mode_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 0777) : -1;
}

TEST(PasswordHash, IsSaltedSha512AndTheEmptyPasswordStays) {
  EXPECT_EQ(password_hash(""), "");
  EXPECT_EQ(password_hash("x").size(), 128u);
  // printf 'GubPEmmotfiK9TMD6Zdwwonderland' | sha512sum
  EXPECT_EQ(password_hash("wonderland").substr(0, 16), "050b3303cefb8cfa");
}

TEST(AuthCache, WhoSpeaksForOneCommandDoesNotBecomeActive) {
  const TemporaryDirectory home;
  AuthCache cache(home.path(), kMaster);
  ASSERT_TRUE(cache.store("alice", "t1"));
  ASSERT_TRUE(cache.remember("admin", "t2"));
  EXPECT_EQ(cache.active_user().value(), "alice");
  EXPECT_EQ(cache.token("admin").value(), "t2");
}

TEST(AuthCache, RemembersUsersOfEachMaster) {
  const TemporaryDirectory home;
  AuthCache cache(home.path() + "/determined", kMaster);
  EXPECT_EQ(cache.active_user().value(), std::nullopt);
  ASSERT_TRUE(cache.store("alice", "t1"));
  ASSERT_TRUE(cache.store("bob", "t2"));
  EXPECT_EQ(cache.active_user().value(), "bob");
  EXPECT_EQ(cache.token("alice").value(), "t1");
  AuthCache other(home.path() + "/determined", "http://other:8080");
  EXPECT_EQ(other.token("alice").value(), std::nullopt);
  ASSERT_TRUE(cache.drop("bob"));
  EXPECT_EQ(cache.active_user().value(), std::nullopt);
  EXPECT_EQ(cache.token("bob").value(), std::nullopt);
  EXPECT_EQ(cache.users().value(), std::vector<std::string>{"alice"});
}

TEST(AuthCache, IsReadableByItsOwnerOnly) {
  const TemporaryDirectory home;
  AuthCache cache(home.path() + "/determined", kMaster);
  ASSERT_TRUE(cache.store("alice", "t1"));
  EXPECT_EQ(mode_of(home.path() + "/determined"), 0700);
  EXPECT_EQ(mode_of(home.path() + "/determined/auth.json"), 0600);
}

TEST(AuthCache, ReadsTheFormOfEarlyReleases) {
  const TemporaryDirectory home;
  home.write("auth.json", R"({"active_user": "alice", "tokens": {"alice": "t1"}})");
  AuthCache cache(home.path(), kMaster);
  EXPECT_EQ(cache.active_user().value(), "alice");
  EXPECT_EQ(cache.token("alice").value(), "t1");
  ASSERT_TRUE(cache.store("bob", "t2"));
  EXPECT_EQ(cache.token("alice").value(), "t1");
}

TEST(AuthCache, ThatIsBrokenIsDeletedAndSaysSo) {
  for (const auto* text :
       {"{", "[]", R"({"tokens": 3})", R"({"version": 2, "masters": {"m": 1}})", R"({"version": 2})"}) {
    const TemporaryDirectory home;
    const auto path = home.write("auth.json", text);
    const auto user = AuthCache(home.path(), kMaster).active_user();
    ASSERT_FALSE(user) << text;
    EXPECT_EQ(user.error().message(),
              "Failed to login: Attempted to read a corrupted token cache. The store has been deleted; "
              "please try again.");
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(AuthCache, ThatIsBrokenFailsTheLoginAndNotTheCommand) {
  const TemporaryDirectory home;
  home.write("determined/auth.json", "{");
  const auto outcome = run_words({"-m", "127.0.0.1:1", "agent", "list"}, {{"XDG_CONFIG_HOME", home.path()}});
  EXPECT_TRUE(outcome.err.starts_with("Master not found") || outcome.err.starts_with("Failed to login: "))
      << outcome.err;
  TestMaster master;
  home.write("determined/auth.json", "{");
  const auto asked = run_words({"-m", master.url(), "agent", "list"}, {{"XDG_CONFIG_HOME", home.path()}});
  EXPECT_EQ(asked.code, 1);
  EXPECT_TRUE(asked.err.starts_with("Failed to login: Attempted to read")) << asked.err;
}

TEST(AuthCache, LosesNoUserWhenCommandsRunAtTheSameTime) {
  const TemporaryDirectory home;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(
        [&, i] { EXPECT_TRUE(AuthCache(home.path(), kMaster).store("user" + std::to_string(i), "t")); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(AuthCache(home.path(), kMaster).users().value().size(), 8u);
}

TEST(Login, AsDeterminedIsSilentAndRemembered) {
  const TemporaryDirectory home;
  TestMaster master;
  const Variables variables = {{"DET_MASTER", master.url()}, {"XDG_CONFIG_HOME", home.path()}};
  const auto first = run_words({"user", "whoami"}, variables);
  EXPECT_EQ(first.out, "You are logged in as user 'determined'\n");
  EXPECT_EQ(first.err, "");
  EXPECT_EQ(master.logins(),
            std::vector<std::string>{R"({"username":"determined","password":"","isHashed":true})"});
  run_words({"user", "whoami"}, variables);
  EXPECT_EQ(master.logins().size(), 1u);
}

TEST(Login, IsRepeatedOnceWhenTheMasterForgotTheToken) {
  const TemporaryDirectory home;
  TestMaster master;
  const Variables variables = {{"DET_MASTER", master.url()}, {"XDG_CONFIG_HOME", home.path()}};
  EXPECT_EQ(run_words({"user", "whoami"}, variables).code, 0);
  master.forget_tokens();
  const auto again = run_words({"user", "whoami"}, variables);
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(master.logins().size(), 2u);
}

TEST(Login, OfOthersAsksForThePassword) {
  const TemporaryDirectory home;
  TestMaster master;
  const Variables variables = {{"DET_MASTER", master.url()}, {"XDG_CONFIG_HOME", home.path()}};
  const auto wrong = run_words({"user", "login", "alice"}, variables, {.typed = {"guess"}});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err,
            "Password for user 'alice': \nFailed to log in user: user 'alice': invalid credentials\n");
  EXPECT_EQ(run_words({"user", "login", "alice"}, variables, {.typed = {"wonderland"}}).code, 0);
  EXPECT_EQ(AuthCache(home.path() + "/determined", master.url()).active_user().value(), "alice");
  EXPECT_EQ(run_words({"-u", "alice", "user", "whoami"}, variables).code, 0);
}

TEST(Login, ThatNobodyAnswersNamesTheCommandToUse) {
  const TemporaryDirectory home;
  TestMaster master;
  const auto outcome = run_words({"-u", "alice", "user", "whoami"},
                                 {{"DET_MASTER", master.url()}, {"XDG_CONFIG_HOME", home.path()}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(
      outcome.err,
      "Password for user 'alice': \nUnauthenticated: Please use 'det user login <username>' to log in\n");
}

TEST(Login, FromTheEnvironmentLeavesNoTrace) {
  const TemporaryDirectory home;
  TestMaster master;
  const Variables variables = {{"DET_MASTER", master.url()},
                               {"XDG_CONFIG_HOME", home.path()},
                               {"DET_USER", "alice"},
                               {"DET_PASS", "wonderland"}};
  EXPECT_EQ(run_words({"user", "whoami"}, variables).code, 0);
  EXPECT_FALSE(std::filesystem::exists(home.path() + "/determined/auth.json"));
}

TEST(Logout, TellsTheMasterAndForgetsTheToken) {
  const TemporaryDirectory home;
  TestMaster master;
  master.answer("POST /api/v1/auth/logout", "{}");
  const Variables variables = {{"DET_MASTER", master.url()}, {"XDG_CONFIG_HOME", home.path()}};
  run_words({"user", "login", "alice"}, variables, {.typed = {"wonderland"}});
  EXPECT_EQ(run_words({"user", "logout"}, variables).code, 0);
  EXPECT_EQ(master.asked(), std::vector<std::string>{"POST /api/v1/auth/logout"});
  EXPECT_EQ(AuthCache(home.path() + "/determined", master.url()).users().value().size(), 0u);
}

}  // namespace
}  // namespace det::cli

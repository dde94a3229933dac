// What of the master's configuration can be changed while it runs.

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include "det/master/services.h"
#include "det/master/testing.h"

namespace det::master {
namespace {

using ::testing::HasSubstr;

class MasterConfigTest : public testing::MasterTest {
 protected:
  ~MasterConfigTest() override { spdlog::default_logger()->set_level(before_); }
  testing::Answer set_level(const std::string& token, const std::string& level) {
    return call(token, "PATCH", kConfig, {{"config", {{"log", {{"level", level}}}}}});
  }
  static constexpr const char* kConfig = "/api/v1/master/config";

 private:
  const spdlog::level::level_enum before_ = spdlog::default_logger()->level();
};

TEST_F(MasterConfigTest, TheLevelOfTheLogIsChangedAtOnceAndShown) {
  EXPECT_EQ(set_level(admin_, "LOG_LEVEL_ERROR").status, 200);
  EXPECT_EQ(spdlog::default_logger()->level(), spdlog::level::err);
  EXPECT_EQ(call(admin_, "GET", kConfig).body.at("config").at("log").at("level"), "error");
  EXPECT_EQ(set_level(admin_, "warning").status, 200);
  EXPECT_EQ(spdlog::default_logger()->level(), spdlog::level::warn);
  const json::object colors{{"config", {{"log", {{"color", false}}}}},
                            {"fieldMask", {{"paths", json::array{"log.color"}}}}};
  EXPECT_EQ(call(admin_, "PATCH", kConfig, colors).status, 200);
  EXPECT_EQ(spdlog::default_logger()->level(), spdlog::level::warn) << "only what the mask names";
}

TEST_F(MasterConfigTest, WhatTheMasterWasStartedWithIsShownWithoutSecrets) {
  const auto config = call(admin_, "GET", kConfig).body.at("config");
  EXPECT_EQ(config.at("cluster_name"), "determined");
  EXPECT_EQ(config.at("security").at("authz").at("type"), "basic");
  EXPECT_EQ(config.at("checkpoint_storage").at("type"), "shared_fs");
  EXPECT_EQ(config.at("resource_manager").at("type"), "agent");
  EXPECT_EQ(config.at("feature_switches"), json::array());

  http::Router router("shown", "1");
  const json::object said{
      {"webhooks", {{"signing_key", "secret-1"}, {"base_url", "http://here"}}},
      {"resource_pools", json::array{{{"pool_name", "gpu"}}}},
      {"checkpoint_storage", {{"type", "s3"}, {"bucket", "b"}, {"secret_key", "secret-2"}}}};
  add_master_config_routes(router, said);
  boost::asio::io_context context;
  std::string shown;
  boost::asio::co_spawn(
      context, router.handle({.method = "GET", .path = kConfig}),
      [&](std::exception_ptr, http::Response response) { shown = std::move(response.body); });
  context.run();
  EXPECT_THAT(shown, HasSubstr("gpu"));
  EXPECT_THAT(shown, HasSubstr("http://here"));
  EXPECT_THAT(shown, ::testing::Not(HasSubstr("secret-")));
}

TEST_F(MasterConfigTest, NothingElseIsChangedAndByNobodyElse) {
  const auto before = spdlog::default_logger()->level();
  EXPECT_EQ(set_level(user_, "debug").status, 403);
  EXPECT_THAT(set_level(admin_, "loud").text, HasSubstr("log.level is 'loud'; it must be trace"));
  const json::object level{{"log", {{"level", "debug"}}}};
  EXPECT_THAT(
      call(admin_, "PATCH", kConfig, {{"config", level}, {"fieldMask", {{"paths", json::array{"port"}}}}})
          .text,
      HasSubstr("'port' cannot be changed while the master is running"));
  EXPECT_THAT(call(admin_, "PATCH", kConfig, {{"config", json::object{}}}).text,
              HasSubstr("the request changes nothing"));
  EXPECT_EQ(spdlog::default_logger()->level(), before);
}

}  // namespace
}  // namespace det::master

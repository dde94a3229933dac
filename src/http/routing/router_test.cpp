#include "det/http/routing/router.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "det/http/server/static_files.h"
#include "det/http/test_support.h"

namespace det::http {
namespace router_test {

using namespace test;

enum class Order { ORDER_BY_ASC, ORDER_BY_DESC };
BOOST_DESCRIBE_ENUM(Order, ORDER_BY_ASC, ORDER_BY_DESC)

struct GetMetrics {
  TrialId trial_id;
  std::optional<std::int32_t> max_points;
  std::vector<std::string> metric_names;
  Order order_by = Order::ORDER_BY_ASC;
};
BOOST_DESCRIBE_STRUCT(GetMetrics, (), (trial_id, max_points, metric_names, order_by))

struct Point {
  std::int64_t total_batches = 0;
  double value = 0;
};
BOOST_DESCRIBE_STRUCT(Point, (), (total_batches, value))

struct Metrics {
  TrialId trial_id;
  std::vector<Point> points;
  std::string note;
};
BOOST_DESCRIBE_STRUCT(Metrics, (), (trial_id, points, note))

struct Rename {
  ExperimentId experiment_id;
  std::string new_name;
  json::object labels;
  static bool required(std::string_view name) { return name == "new_name"; }
};
BOOST_DESCRIBE_STRUCT(Rename, (), (experiment_id, new_name, labels))

struct PutConfig {
  std::string name;
  json::value config;
};
BOOST_DESCRIBE_STRUCT(PutConfig, (), (name, config))

struct Count {
  std::int32_t up_to = 0;
};
BOOST_DESCRIBE_STRUCT(Count, (), (up_to))

struct User {
  std::string name;
};

asio::awaitable<Result<Metrics>> get_metrics(Context context, GetMetrics in) {
  if (in.trial_id.value() == 404) co_return not_found("trial {} not found", in.trial_id);
  if (in.trial_id.value() == 500) throw std::runtime_error("the disk is gone");
  Metrics out;
  out.trial_id = in.trial_id;
  out.note = fmt::format("{} {} {} {}", context.as<User>().name, in.max_points.value_or(-1),
                         in.metric_names.size(), in.order_by == Order::ORDER_BY_DESC ? "desc" : "asc");
  co_return out;
}

asio::awaitable<Result<Rename>> rename(Context context, Rename in) {
  context.reply_headers->add("Set-Cookie", "auth=x");
  co_return in;
}

asio::awaitable<Result<PutConfig>> put_config(Context, PutConfig in) {
  co_return in;
}

asio::awaitable<Result<void>> count(Context, Count in, ItemWriter<Count>& items) {
  if (in.up_to < 0) co_return invalid_argument("up_to is {}; must not be negative", in.up_to);
  for (int i = 0; i < in.up_to; ++i) {
    Count item;
    item.up_to = i;
    const bool taken = co_await items.write(item);
    if (!taken) co_return Result<void>();
  }
  if (in.up_to == 3) co_return fail(ErrorCode::Unavailable, "three is too much");
  co_return Result<void>();
}

asio::awaitable<Result<std::any>> authenticate(const Request& request) {
  const auto token = bearer_token(request);
  if (!token) co_return fail(ErrorCode::Unauthenticated, "token missing");
  co_return std::any(User{*token});
}

Router make_router() {
  Router router("test", "1", [](std::string_view path, std::string_view name) {
    return name == "trialId" ? fmt::format("The trial of {}.", path) : std::string();
  });
  router.authenticate(authenticate);
  router.add<GetMetrics, Metrics>(Verb::Get, "/api/v1/trials/{trialId}/metrics", get_metrics,
                                  Doc{"list the metrics of a trial", "Trials", {ErrorCode::NotFound}});
  router.add<Rename, Rename>(Verb::Patch, "/api/v1/experiments/{experimentId}", rename,
                             Doc{"Rename an experiment", "Experiments"});
  router.add<PutConfig, PutConfig>(Verb::Put, "/api/v1/templates/{name}", put_config,
                                   Doc{"Replace a template", "Templates", {}, false, "config"});
  router.add_stream<Count, Count>(Verb::Get, "/api/v1/count", count, Doc{"Count up", "Test", {}, true});
  return router;
}

class RouterServer : public ::testing::Test {
 protected:
  Reply ask(const std::string& method, const std::string& path, const std::string& body = "",
            bool login = true) {
    Call call;
    call.method = method;
    call.path = path;
    call.body = body;
    if (login) call.headers.add("Authorization", "Bearer ada");
    auto reply = client.request(std::move(call));
    EXPECT_TRUE(reply) << reply.error().message();
    return reply ? *std::move(reply) : Reply{};
  }

  Router router = make_router();
  RunningServer server{[this](Request request) { return router.handle(std::move(request)); }};
  Client client{server.url()};
};

TEST_F(RouterServer, ReadsPathAndQueryInEitherSpelling) {
  EXPECT_EQ(
      ask("GET", "/api/v1/trials/7/metrics?max_points=5&metricNames=a&metric_names=b&orderBy=ORDER_BY_DESC")
          .body,
      R"({"trialId":7,"points":[],"note":"ada 5 2 desc"})");
  EXPECT_EQ(ask("GET", "/api/v1/trials/7/metrics/").body,
            R"({"trialId":7,"points":[],"note":"ada -1 0 asc"})");
}

TEST_F(RouterServer, IndentsWhenAsked) {
  EXPECT_EQ(ask("GET", "/api/v1/trials/7/metrics?pretty").body,
            "{\n    \"trialId\": 7,\n    \"points\": [],\n    \"note\": \"ada -1 0 asc\"\n}");
}

struct RouteErrorCase {
  const char* method;
  const char* path;
  const char* body;
  int status;
  const char* text;
};

TEST_F(RouterServer, ErrorsHaveAStatusAndNameTheirCause) {
  // clang-format off
  const RouteErrorCase cases[] = {
      {"GET",   "/api/v1/trials/x/metrics",                "",   400, R"(trialId: expected an id, not "x")"},
      {"GET",   "/api/v1/trials/7/metrics?maxPoints=1e9",  "",   400, R"(maxPoints: expected an integer in range, not "1e9")"},
      {"GET",   "/api/v1/trials/7/metrics?orderBy=UP",     "",   400, R"(orderBy: is not one of the allowed names, not "UP")"},
      {"GET",   "/api/v1/trials/404/metrics",              "",   404, "trial 404 not found"},
      {"GET",   "/api/v1/trials/500/metrics",              "",   500, "the disk is gone"},
      {"PATCH", "/api/v1/experiments/1",                   "{",  400, "the text is not JSON"},
      {"PATCH", "/api/v1/experiments/1",                   "[]", 400, "body: expected an object, not []"},
      {"PATCH", "/api/v1/experiments/1",                   "{}", 400, "newName: is required"},
      {"PATCH", "/api/v1/experiments/1",                   "",   400, "newName: is required"},
      {"GET",   "/api/v1/unknown",                         "",   501, "path /api/v1/unknown not found in this API"},
      {"POST",  "/api/v1/trials/7/metrics",                "{}", 501, "does not support the method POST"},
      {"GET",   "/elsewhere",                              "",   404, "path /elsewhere not found"},
  };
  // clang-format on
  for (const auto& c : cases) {
    const auto reply = ask(c.method, c.path, c.body);
    EXPECT_EQ(reply.status, c.status) << c.path;
    EXPECT_NE(error_text(reply.status, reply.body).find(c.text), std::string::npos) << reply.body;
  }
}

TEST_F(RouterServer, NeedsALoginUnlessTheRouteIsOpen) {
  const auto refused = ask("GET", "/api/v1/trials/7/metrics", "", false);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body, R"({"error":{"code":16,"reason":"Unauthenticated","error":"token missing"}})");
  EXPECT_EQ(ask("GET", "/api/v1/count", "", false).status, 200);
}

TEST_F(RouterServer, ReadsTheBodyAndLeavesFreeFormTextAlone) {
  const auto reply = ask("PATCH", "/api/v1/experiments/9", R"({"new_name":"n","labels":{"snake_case":1}})");
  EXPECT_EQ(reply.body, R"({"experimentId":9,"newName":"n","labels":{"snake_case":1}})");
  EXPECT_EQ(*reply.headers.find("set-cookie"), "auth=x");
  EXPECT_EQ(ask("PUT", "/api/v1/templates/a%2Fb%20c", R"({"some_key":[1]})").body,
            R"({"name":"a/b c","config":{"some_key":[1]}})");
}

TEST_F(RouterServer, StreamsALineForEachItem) {
  EXPECT_EQ(ask("GET", "/api/v1/count?up_to=2").body,
            "{\"result\":{\"upTo\":0}}\n{\"result\":{\"upTo\":1}}\n");
  EXPECT_EQ(ask("GET", "/api/v1/count").body, "");
}

TEST_F(RouterServer, AStreamFailsWithAStatusFirstAndWithALineLater) {
  const auto early = ask("GET", "/api/v1/count?upTo=-1");
  EXPECT_EQ(early.status, 400);
  EXPECT_NE(early.body.find(R"("grpcCode":3,"httpCode":400,"message":"up_to is -1; must not be negative")"),
            std::string::npos);
  const auto late = ask("GET", "/api/v1/count?upTo=3");
  EXPECT_EQ(late.status, 200);
  EXPECT_NE(late.body.find(R"({"result":{"upTo":2}})"
                           "\n"
                           R"({"error":{"grpcCode":14,)"),
            std::string::npos);
}

TEST(RouteTable, PrefersLiteralsAndTakesTheRest) {
  RouteTable table;
  table.insert(Verb::Get, "/a/{id}", 1);
  table.insert(Verb::Get, "/a/special", 2);
  table.insert(Verb::Get, "/a/{id}/b", 3);
  table.insert(Verb::Get, "/files/{path...}", 4);
  table.insert(Verb::Post, "/a/special/c", 5);
  const auto route = [&](const char* method, const char* path) {
    const auto found = table.find(method, path);
    return found.match ? static_cast<int>(found.match->route) : -static_cast<int>(found.allowed.size());
  };
  EXPECT_EQ(route("GET", "/a/1"), 1);
  EXPECT_EQ(route("GET", "/a/special"), 2);
  EXPECT_EQ(route("GET", "/a/special/b"), 3) << "goes back from the literal to the parameter";
  EXPECT_EQ(route("HEAD", "/a/1"), 1);
  EXPECT_EQ(route("GET", "/files"), 4);
  EXPECT_EQ(route("GET", "/files/x/y.js"), 4);
  EXPECT_EQ(table.find("GET", "/files/x/y.js").match->parameters.at("path"), "x/y.js");
  EXPECT_EQ(route("POST", "/a/1"), -1) << "known for GET only";
  EXPECT_EQ(route("GET", "/nothing"), 0);
  EXPECT_EQ(route("GET", "/a//b"), 0) << "a parameter is never empty";
}

TEST(Router, DescribesItselfAsTheGoldenFileSays) {
  // Written by this test when DET_GOLDEN=write; read the change before committing it.
  const auto document = json::pretty(make_router().openapi(), 2) + "\n";
  const std::string path = std::string(DET_SOURCE_DIR) + "/routing/openapi.golden.json";
  if (const char* mode = std::getenv("DET_GOLDEN"); mode != nullptr && std::string_view(mode) == "write")
    std::ofstream(path) << document;
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(document, golden.str());
}

TEST_F(RouterServer, ServesItsDescriptionWithoutLogin) {
  EXPECT_EQ(ask("GET", "/api/v1/openapi.json", "", false).body, json::serialize(router.openapi()));
  EXPECT_EQ(ask("GET", "/api/v1/api.swagger.json", "", false).status, 200);
}

constexpr char kPage[] = "<p>page</p>";
constexpr char kScript[] = "script";
constexpr char kPacked[] = "packed";
const EmbeddedFile kFiles[] = {{"/index.html", kPage, kPage + 11, "aa"},
                               {"/assets/main-1.js", kScript, kScript + 6, "bb"},
                               {"/assets/main-1.js.gz", kPacked, kPacked + 6, "cc"}};

Response file(const char* path, const char* header = nullptr, const char* value = "") {
  Request request;
  if (header != nullptr) request.headers.add(header, value);
  return static_file(kFiles, request, path);
}

TEST(StaticFile, PagesAreCheckedAndHashedNamesAreKept) {
  const auto page = file("");
  EXPECT_EQ(page.body, "<p>page</p>");
  EXPECT_EQ(*page.headers.find("Cache-Control"), "no-cache");
  EXPECT_EQ(*page.headers.find("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(*page.headers.find("X-Content-Type-Options"), "nosniff");
  EXPECT_NE(page.headers.find("Content-Security-Policy")->find("script-src 'self'"), std::string::npos);
  EXPECT_EQ(file("experiments/1").body, "<p>page</p>") << "views are drawn by the page";
  EXPECT_NE(file("assets/main-1.js").headers.find("Cache-Control")->find("immutable"), std::string::npos);
  EXPECT_EQ(file("assets/other.js").status, 404);
  EXPECT_EQ(file("../etc/passwd.txt").status, 404);
}

TEST(StaticFile, IsNotSentAgainToABrowserThatHasIt) {
  const auto etag = *file("").headers.find("ETag");
  const auto again = file("", "If-None-Match", etag.c_str());
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(file("", "If-None-Match", "\"zz\"").status, 200);
}

TEST(StaticFile, IsPackedForBrowsersThatTakeIt) {
  const auto packed = file("assets/main-1.js", "Accept-Encoding", "br, gzip");
  EXPECT_EQ(packed.body, "packed");
  EXPECT_EQ(*packed.headers.find("Content-Encoding"), "gzip");
  EXPECT_EQ(*packed.headers.find("Content-Type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(file("assets/main-1.js", "Accept-Encoding", "gzip;q=0").body, "script");
  EXPECT_EQ(file("assets/main-1.js").body, "script");
}

}  // namespace router_test
}  // namespace det::http

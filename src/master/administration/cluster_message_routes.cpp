// A message of the administrators to all users, for a time: maintenance tonight.

#include "det/master/administration/cluster_message.h"
#include "det/master/administration/kept_setting.h"
#include "det/master/agents/cluster_objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

constexpr const char* kSetting = "cluster_message";

struct MessageReply {
  std::optional<Message> cluster_message;
};
BOOST_DESCRIBE_STRUCT(MessageReply, (), (cluster_message))

asio::awaitable<std::optional<Message>> read_message(Services& s) {
  auto read = [&s] { return kept_setting<Message>(s.store, kSetting); };
  co_return co_await offload(s, std::move(read));
}

asio::awaitable<void> keep(Services& s, std::string text) {
  std::vector<store::Change> changes;
  changes.push_back(store::PutSetting{kSetting, std::move(text)});
  co_await s.ledger.write(std::move(changes));
}

asio::awaitable<Result<Empty>> put(Services& s, Context context, ClusterMessagePutRequest request) {
  if (const auto admin = require_admin(context.principal); !admin) co_return tl::unexpected(admin.error());
  DET_CO_TRY(const auto message, new_cluster_message(std::move(request), s.ledger.now()));
  auto text = json::serialize(json::to_json(message));
  co_await keep(s, std::move(text));
  co_return Empty{};
}

asio::awaitable<Result<Empty>> remove(Services& s, Context context) {
  if (const auto admin = require_admin(context.principal); !admin) co_return tl::unexpected(admin.error());
  co_await keep(s, "");
  co_return Empty{};
}

}  // namespace

asio::awaitable<std::optional<Message>> cluster_message_now(Services& s) {
  auto message = co_await read_message(s);
  if (message && !is_shown(*message, s.ledger.now())) message.reset();
  co_return message;
}

void add_cluster_message_routes(http::Router& router, Services& s) {
  const std::string path = "/api/v1/master/cluster_message";
  const std::string tag = "Cluster";
  const std::vector<ErrorCode> denied = {ErrorCode::PermissionDenied};
  router.add<Empty, MessageReply>(
      Verb::Get, path,
      [&s](Context, Empty) -> asio::awaitable<Result<MessageReply>> {
        auto message = co_await read_message(s);
        co_return MessageReply{std::move(message)};
      },
      Doc{.summary = "Get the cluster message, even if it is not shown yet", .tag = tag});
  router.add<ClusterMessagePutRequest, Empty>(
      Verb::Put, path,
      [&s](Context c, ClusterMessagePutRequest r) { return put(s, std::move(c), std::move(r)); },
      Doc{.summary = "Set the cluster message, which all users see", .tag = tag, .errors = denied});
  router.add<Empty, Empty>(
      Verb::Delete, path, [&s](Context c, Empty) { return remove(s, std::move(c)); },
      Doc{.summary = "Delete the cluster message", .tag = tag, .errors = denied});
}

}  // namespace det::master

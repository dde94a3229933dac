// Templates: partial configurations that lie under a user's own.

#include <algorithm>

#include "det/config/schema/layer.h"
#include "det/config/yaml/yaml.h"
#include "det/master/objects.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Empty;
using http::Verb;

struct Template {
  std::string name;
  json::value config;
  std::string yaml;  ///< as it was written, with its comments; what came as an object in block style
  std::int32_t workspace_id = 1;
};
BOOST_DESCRIBE_STRUCT(Template, (), (name, config, yaml, workspace_id))
struct ListQuery {
  std::string name, order_by;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (), (name, order_by, offset, limit))
struct TemplateListReply {
  std::vector<Template> templates;
  api::Pagination pagination;
};
BOOST_DESCRIBE_STRUCT(TemplateListReply, (), (templates, pagination))
struct ByName {
  std::string template_name;
};
BOOST_DESCRIBE_STRUCT(ByName, (), (template_name))
struct TemplatePutRequest {
  std::string template_name;
  json::value config;
  static bool required(std::string_view name) { return name == "config"; }
};
BOOST_DESCRIBE_STRUCT(TemplatePutRequest, (), (template_name, config))

struct RenameRequest {
  std::string old_name, new_name;
  static bool required(std::string_view) { return true; }
};
BOOST_DESCRIBE_STRUCT(RenameRequest, (), (old_name, new_name))

/// The stored text as JSON and as YAML for clients; it was checked when it was stored.
Template to_api(const store::TemplateRecord& record) {
  const auto document = config::parse_yaml(record.yaml);
  const bool is_object = record.yaml.starts_with('{');
  return {.name = record.name,
          .config = document ? document->value : json::value(nullptr),
          .yaml = document && is_object ? config::emit_yaml(document->value) : record.yaml};
}

asio::awaitable<bool> exists(Services& s, const std::string& name) {
  auto read = [&s] { return s.store.templates(); };
  const auto all = co_await offload(s, std::move(read));
  co_return std::ranges::any_of(all, [&](const auto& record) { return record.name == name; });
}

enum class Wanted { New, There, Either };

asio::awaitable<Result<json::object>> put(Services& s, Context context, TemplatePutRequest request,
                                          Wanted wanted) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (request.template_name.find_first_not_of(" \t\r\n") == std::string::npos)
    co_return invalid_argument("name is '{}'; the name of a template cannot be empty", request.template_name);
  const auto text =
      request.config.is_string() ? std::string(request.config.get_string()) : json::serialize(request.config);
  const auto document = config::parse_yaml(text);
  if (!document)
    co_return invalid_argument("template '{}': {}", request.template_name, document.error().front().text);
  if (!document->value.is_object())
    co_return invalid_argument("template '{}' is not valid: it must be a map of configuration fields",
                               request.template_name);
  if (const auto problems = config::check_template(text, s.defaults); !problems.empty())
    co_return invalid_argument("template '{}' is not valid in any configuration:\n{}", request.template_name,
                               join_errors(problems).message());
  const auto turn = co_await s.templates.take();
  const bool there = co_await exists(s, request.template_name);
  if (there && wanted == Wanted::New)
    co_return fail(ErrorCode::AlreadyExists,
                   "template '{}' already exists; change it, or choose another name", request.template_name);
  if (!there && wanted == Wanted::There)
    co_return not_found("template '{}' not found", request.template_name);
  std::vector<store::Change> changes;
  const store::TemplateRecord record{request.template_name, text};
  changes.push_back(store::PutTemplate{record});
  co_await s.ledger.write(std::move(changes));
  co_return json::object{{"template", http::to_wire(to_api(record))}};
}

asio::awaitable<Result<json::object>> rename(Services& s, Context context, RenameRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (request.new_name.find_first_not_of(" \t\r\n") == std::string::npos)
    co_return invalid_argument("newName is '{}'; the name of a template cannot be empty", request.new_name);
  const auto turn = co_await s.templates.take();
  auto read = [&s] { return s.store.templates(); };
  const auto all = co_await offload(s, std::move(read));
  const auto named = [&](const std::string& name) {
    return std::ranges::find(all, name, &store::TemplateRecord::name);
  };
  const auto old = named(request.old_name);
  if (old == all.end()) co_return not_found("template '{}' not found", request.old_name);
  if (request.new_name != request.old_name && named(request.new_name) != all.end())
    co_return fail(ErrorCode::AlreadyExists, "template '{}' already exists; choose another name",
                   request.new_name);
  store::TemplateRecord record = *old;
  record.name = request.new_name;
  std::vector<store::Change> changes;
  changes.push_back(store::DeleteTemplate{request.old_name});
  changes.push_back(store::PutTemplate{record});
  co_await s.ledger.write(std::move(changes));
  co_return json::object{{"template", http::to_wire(to_api(record))}};
}

}  // namespace

void add_template_routes(http::Router& router, Services& s) {
  const std::string tag = "Templates";
  router.add<ListQuery, TemplateListReply>(
      Verb::Get, "/api/v1/templates",
      [&s](Context, ListQuery q) -> asio::awaitable<Result<TemplateListReply>> {
        auto read = [&s] { return s.store.templates(); };
        auto all = co_await offload(s, std::move(read));  // by name
        std::erase_if(all, [&](const auto& record) { return record.name.find(q.name) == std::string::npos; });
        if (q.order_by == "ORDER_BY_DESC") std::reverse(all.begin(), all.end());
        const auto span = page_of(all.size(), q.offset, q.limit);
        TemplateListReply reply{.templates = {}, .pagination = span.pagination};
        for (auto i = span.begin; i < span.end; ++i) reply.templates.push_back(to_api(all[i]));
        co_return reply;
      },
      Doc{.summary = "List templates", .tag = tag});
  router.add<ByName, json::object>(
      Verb::Get, "/api/v1/templates/{templateName}",
      [&s](Context, ByName q) -> asio::awaitable<Result<json::object>> {
        auto read = [&s] { return s.store.templates(); };
        const auto all = co_await offload(s, std::move(read));
        for (const auto& record : all)
          if (record.name == q.template_name)
            co_return json::object{{"template", http::to_wire(to_api(record))}};
        co_return not_found("template '{}' not found", q.template_name);
      },
      Doc{.summary = "Get a template", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<TemplatePutRequest, json::object>(
      Verb::Post, "/api/v1/templates/{templateName}",
      [&s](Context c, TemplatePutRequest r) { return put(s, std::move(c), std::move(r), Wanted::New); },
      Doc{.summary = "Create a template", .tag = tag, .errors = {ErrorCode::AlreadyExists}});
  router.add<TemplatePutRequest, json::object>(
      Verb::Put, "/api/v1/templates/{templateName}",
      [&s](Context c, TemplatePutRequest r) { return put(s, std::move(c), std::move(r), Wanted::Either); },
      Doc{.summary = "Create or replace a template", .tag = tag});
  router.add<TemplatePutRequest, json::object>(
      Verb::Patch, "/api/v1/templates/{templateName}",
      [&s](Context c, TemplatePutRequest r) { return put(s, std::move(c), std::move(r), Wanted::There); },
      Doc{.summary = "Replace the configuration of a template",
          .tag = tag,
          .errors = {ErrorCode::NotFound},
          .body_member = "config"});
  router.add<RenameRequest, json::object>(
      Verb::Patch, "/api/v1/template/rename",
      [&s](Context c, RenameRequest r) { return rename(s, std::move(c), std::move(r)); },
      Doc{.summary = "Rename a template",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::AlreadyExists}});
  router.add<ByName, Empty>(
      Verb::Delete, "/api/v1/templates/{templateName}",
      [&s](Context c, ByName q) -> asio::awaitable<Result<Empty>> {
        if (const auto user = require_user(c.principal); !user) co_return tl::unexpected(user.error());
        const auto turn = co_await s.templates.take();
        const bool there = co_await exists(s, q.template_name);
        if (!there) co_return not_found("template '{}' not found", q.template_name);
        std::vector<store::Change> changes;
        changes.push_back(store::DeleteTemplate{q.template_name});
        co_await s.ledger.write(std::move(changes));
        co_return Empty{};
      },
      Doc{.summary = "Delete a template", .tag = tag, .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master

// Templates: partial configurations that lie under a user's own. Each is in a workspace; its name is unique
// in the cluster.

#include <algorithm>

#include "det/config/schema/layer.h"
#include "det/config/yaml/yaml.h"
#include "det/master/lists/list_order.h"
#include "det/master/objects.h"
#include "det/master/rights/rights.h"
#include "det/master/workspaces/workspaces.h"

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
  WorkspaceId workspace_id = store::kUncategorizedWorkspace;
};
BOOST_DESCRIBE_STRUCT(Template, (), (name, config, yaml, workspace_id))
struct TemplateReply {
  Template template_;
};
BOOST_DESCRIBE_STRUCT(TemplateReply, (), (template_))
struct ListQuery {
  std::string name, sort_by, order_by;
  std::vector<WorkspaceId> workspace_ids;
  std::int32_t offset = 0, limit = 0;
};
BOOST_DESCRIBE_STRUCT(ListQuery, (), (name, sort_by, order_by, workspace_ids, offset, limit))
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
  WorkspaceId workspace_id;  ///< 0: "Uncategorized", or where it is
  static bool required(std::string_view name) { return name == "config"; }
};
BOOST_DESCRIBE_STRUCT(TemplatePutRequest, (), (template_name, config, workspace_id))
struct TemplatePatchRequest {
  std::string template_name;
  json::value config;
  static bool required(std::string_view name) { return name == "config"; }
};
BOOST_DESCRIBE_STRUCT(TemplatePatchRequest, (), (template_name, config))

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
          .yaml = document && is_object ? config::emit_yaml(document->value) : record.yaml,
          .workspace_id = record.workspace};
}

/// Whether the caller may put a template into the workspace, which is open.
Result<void> check_place(Services& s, const std::any& principal, WorkspaceId id) {
  const auto* workspace = s.workspaces.find(id);
  if (workspace == nullptr) return not_found("workspace {} not found", id);
  if (auto may = may_in(s, principal, access::Permission::CreateTemplates, id.value()); !may) return may;
  if (workspace->archived)
    return failed_precondition("workspace '{}' is archived and accepts nothing new; unarchive it first",
                               workspace->name);
  return {};
}

asio::awaitable<std::optional<store::TemplateRecord>> named(Services& s, std::string name) {
  auto read = [&s] { return s.store.templates(); };
  auto all = co_await offload(s, std::move(read));
  for (auto& record : all)
    if (record.name == name) co_return std::move(record);
  co_return std::nullopt;
}

/// The configuration as text, which is one that a template can have.
Result<std::string> checked(Services& s, const std::string& name, const json::value& config) {
  auto text = config.is_string() ? std::string(config.get_string()) : json::serialize(config);
  const auto document = config::parse_yaml(text);
  if (!document) return invalid_argument("template '{}': {}", name, document.error().front().text);
  if (!document->value.is_object())
    return invalid_argument("template '{}' is not valid: it must be a map of configuration fields", name);
  if (const auto problems = config::check_template(text, s.defaults); !problems.empty())
    return invalid_argument("template '{}' is not valid in any configuration:\n{}", name,
                            join_errors(problems).message());
  return text;
}

asio::awaitable<Result<TemplateReply>> write(Services& s, store::TemplateRecord record) {
  std::vector<store::Change> changes;
  changes.push_back(store::PutTemplate{record});
  co_await s.ledger.write(std::move(changes));
  co_return TemplateReply{to_api(record)};
}

/// A new template, or with `replaces` also another configuration for the one that is there.
asio::awaitable<Result<TemplateReply>> put(Services& s, Context context, TemplatePutRequest request,
                                           bool replaces) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto& name = request.template_name;
  if (name.find_first_not_of(" \t\r\n") == std::string::npos)
    co_return invalid_argument("name is '{}'; the name of a template cannot be empty", name);
  const auto turn = co_await s.templates.take();
  const auto there = co_await named(s, name);
  if (there && replaces) {
    const auto allowed = co_await may(s, context.principal, access::Permission::UpdateTemplates,
                                      Kind::Template, json::value(name));
    if (!allowed) co_return tl::unexpected(allowed.error());
  }
  auto place = request.workspace_id;
  if (place == WorkspaceId{}) place = there ? there->workspace : store::kUncategorizedWorkspace;
  if (!there || !replaces || place != there->workspace)
    if (const auto open = check_place(s, context.principal, place); !open)
      co_return tl::unexpected(open.error());
  if (there && !replaces)
    co_return fail(ErrorCode::AlreadyExists,
                   "template '{}' already exists; change it, or choose another name", name);
  auto text = checked(s, name, request.config);
  if (!text) co_return tl::unexpected(text.error());
  store::TemplateRecord record{name, *std::move(text), place};
  co_return co_await write(s, std::move(record));
}

asio::awaitable<Result<TemplateReply>> patch(Services& s, Context context, TemplatePatchRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  const auto turn = co_await s.templates.take();
  auto there = co_await named(s, request.template_name);
  if (!there) co_return not_found("template '{}' not found", request.template_name);
  auto text = checked(s, request.template_name, request.config);
  if (!text) co_return tl::unexpected(text.error());
  there->yaml = *std::move(text);
  co_return co_await write(s, *std::move(there));
}

asio::awaitable<Result<TemplateReply>> rename(Services& s, Context context, RenameRequest request) {
  if (const auto user = require_user(context.principal); !user) co_return tl::unexpected(user.error());
  if (request.new_name.find_first_not_of(" \t\r\n") == std::string::npos)
    co_return invalid_argument("newName is '{}'; the name of a template cannot be empty", request.new_name);
  const auto turn = co_await s.templates.take();
  auto record = co_await named(s, request.old_name);
  if (!record) co_return not_found("template '{}' not found", request.old_name);
  const auto taken = co_await named(s, request.new_name);
  if (request.new_name != request.old_name && taken)
    co_return fail(ErrorCode::AlreadyExists, "template '{}' already exists; choose another name",
                   request.new_name);
  record->name = request.new_name;
  std::vector<store::Change> changes;
  changes.push_back(store::DeleteTemplate{request.old_name});
  changes.push_back(store::PutTemplate{*record});
  co_await s.ledger.write(std::move(changes));
  co_return TemplateReply{to_api(*record)};
}

}  // namespace

void add_template_routes(http::Router& router, Services& s) {
  const std::string tag = "Templates";
  router.add<ListQuery, TemplateListReply>(
      Verb::Get, "/api/v1/templates",
      [&s](Context c, ListQuery q) -> asio::awaitable<Result<TemplateListReply>> {
        if (auto known = check_order(q.sort_by, q.order_by); !known)
          co_return tl::unexpected(std::move(known).error());
        auto read = [&s] { return s.store.templates(); };
        auto all = co_await offload(s, std::move(read));  // by name, the only order there is
        const Sight sight(s, c.principal, access::Permission::ViewTemplates);
        std::erase_if(all, [&](const auto& record) {
          return record.name.find(q.name) == std::string::npos ||
                 !sight.workspace(record.workspace.value()) ||
                 (!q.workspace_ids.empty() &&
                  std::ranges::find(q.workspace_ids, record.workspace) == q.workspace_ids.end());
        });
        if (is_descending(q.order_by)) std::ranges::reverse(all);
        const auto span = page_of(all.size(), q.offset, q.limit);
        TemplateListReply reply{.templates = {}, .pagination = span.pagination};
        for (auto i = span.begin; i < span.end; ++i) reply.templates.push_back(to_api(all[i]));
        co_return reply;
      },
      Doc{.summary = "List templates", .tag = tag});
  router.add<ByName, TemplateReply>(
      Verb::Get, "/api/v1/templates/{templateName}",
      [&s](Context, ByName q) -> asio::awaitable<Result<TemplateReply>> {
        const auto record = co_await named(s, q.template_name);
        if (!record) co_return not_found("template '{}' not found", q.template_name);
        co_return TemplateReply{to_api(*record)};
      },
      Doc{.summary = "Get a template", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<TemplatePutRequest, TemplateReply>(
      Verb::Post, "/api/v1/templates/{templateName}",
      [&s](Context c, TemplatePutRequest r) { return put(s, std::move(c), std::move(r), false); },
      Doc{.summary = "Create a template",
          .tag = tag,
          .errors = {ErrorCode::NotFound, ErrorCode::AlreadyExists}});
  router.add<TemplatePutRequest, TemplateReply>(
      Verb::Put, "/api/v1/templates/{templateName}",
      [&s](Context c, TemplatePutRequest r) { return put(s, std::move(c), std::move(r), true); },
      Doc{.summary = "Create or replace a template", .tag = tag, .errors = {ErrorCode::NotFound}});
  router.add<TemplatePatchRequest, TemplateReply>(
      Verb::Patch, "/api/v1/templates/{templateName}",
      [&s](Context c, TemplatePatchRequest r) { return patch(s, std::move(c), std::move(r)); },
      Doc{.summary = "Replace the configuration of a template",
          .tag = tag,
          .errors = {ErrorCode::NotFound},
          .body_member = "config"});
  router.add<RenameRequest, TemplateReply>(
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
        const auto there = co_await named(s, q.template_name);
        if (!there) co_return not_found("template '{}' not found", q.template_name);
        std::vector<store::Change> changes;
        changes.push_back(store::DeleteTemplate{q.template_name});
        co_await s.ledger.write(std::move(changes));
        co_return Empty{};
      },
      Doc{.summary = "Delete a template", .tag = tag, .errors = {ErrorCode::NotFound}});
}

}  // namespace det::master

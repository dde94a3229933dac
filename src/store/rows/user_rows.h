#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Users and their sessions, templates, settings.
namespace det::store {

void put_user(Connection& connection, const UserRecord& record);
void put_session(Connection& connection, const SessionRecord& record);
void delete_session(Connection& connection, const std::string& token_hash);
void delete_sessions(Connection& connection, const DeleteSessionsOf& which);
void put_access_token(Connection& connection, const AccessTokenRecord& record);
void put_template(Connection& connection, const TemplateRecord& record);
void delete_template(Connection& connection, const std::string& name);
void put_setting(Connection& connection, const std::string& key, const std::string& value);

std::vector<UserRecord> read_users(Connection& connection);
std::optional<SessionRecord> read_session(Connection& connection, const std::string& token_hash);
std::vector<AccessTokenRecord> read_access_tokens(Connection& connection);
std::vector<TemplateRecord> read_templates(Connection& connection);
std::optional<std::string> read_setting(Connection& connection, const std::string& key);

}  // namespace det::store

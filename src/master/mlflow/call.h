#pragma once

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "det/master/mlflow/book.h"
#include "det/master/rights/rights.h"
#include "det/master/services.h"

/// One call of an MLflow client: its parameters, its form of errors.
namespace det::master::mlflow {

struct Call {
  Services& s;
  Book& book;
  std::any principal;
  std::shared_ptr<const http::Request> request;
  json::object in;  ///< the body; empty for GET

  /// A parameter of the body, the query or the path; empty: missing.
  std::string text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  const json::array& items(std::string_view name) const;
  /// InvalidArgument if it is missing.
  Result<std::string> required(std::string_view name) const;
};

using Handler = std::function<asio::awaitable<Result<json::object>>(Call)>;

/// Adds a route below /api/2.0/mlflow/.
void add_call(http::Router& router, Services& s, const std::shared_ptr<Book>& book, http::Verb verb,
              const std::string& path, Handler handler);

/// The response to an error as MLflow's clients read it: {"error_code": …, "message": …}.
http::Response refusal(const Error& error);

/// The object that a call names, if the caller has the permission. NotFound otherwise.
asio::awaitable<Result<Experiment*>> experiment_of(const Call& call, access::Permission permission);
/// The same; the experiment "0", which clients use that name none, is made when it is needed.
asio::awaitable<Result<Experiment*>> experiment_or_default(const Call& call, access::Permission permission);
asio::awaitable<Result<Run*>> run_of(const Call& call, access::Permission permission);
asio::awaitable<Result<ModelDoc*>> model_of(const Call& call, access::Permission permission);

/// Milliseconds since 1970.
std::int64_t now_of(const Services& s);
/// 32 hexadecimal digits.
std::string new_id();

json::object to_object(const Experiment& experiment);
json::object to_object(const Run& run);
json::object info_of(const Run& run);
json::object to_object(const ModelDoc& model);
json::object to_object(const Metric& metric);
json::array pairs_of(const Words& words);

// The routes, a file each.
void add_experiment_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book);
void add_run_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book);
void add_log_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book);
void add_model_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book);
void add_artifact_calls(http::Router& router, Services& s, const std::shared_ptr<Book>& book);

}  // namespace det::master::mlflow

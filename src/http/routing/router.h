#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"
#include "det/http/message.h"
#include "det/http/routing/route_table.h"
#include "det/http/routing/status.h"
#include "det/http/wire/wire.h"

namespace det::http {

/// A request or response without content.
struct Empty {};
BOOST_DESCRIBE_STRUCT(Empty, (), ())

/// What the document says about a route beyond its types.
struct Doc {
  std::string summary;  ///< In the imperative, without a period: "List the trials of an experiment".
  std::string tag;
  std::vector<ErrorCode> errors;  ///< Besides those that any route can answer with.
  bool open = false;              ///< Needs no login.
  /// The member of In that is the whole request body; empty: all members that
  /// are not in the path.
  std::string body_member;
  /// DELETE only: the members that are not in the path come in a JSON body, not in the query.
  bool takes_body = false;
};

/// The request behind a typed call, for the few handlers that need it.
struct Context {
  Context(std::shared_ptr<const Request> r, std::any p)
      : request(std::move(r)), principal(std::move(p)), reply_headers(std::make_shared<Headers>()) {}

  std::shared_ptr<const Request> request;
  std::any principal;                      ///< What the router's authenticator returned.
  std::shared_ptr<Headers> reply_headers;  ///< Sent with the reply: cookies, Retry-After.

  /// Requires: the route is not open and the authenticator returns a P.
  template <class P>
  const P& as() const {
    const auto* found = std::any_cast<P>(&principal);
    DET_ASSERT(found != nullptr);
    return *found;
  }
};

/// Sends the items of a stream, one JSON object a line: {"result":{…}}.
template <class Item>
class ItemWriter {
 public:
  explicit ItemWriter(StreamWriter& writer) : writer_(&writer) {}
  /// False: the client is gone; stop.
  asio::awaitable<bool> write(const Item& item) {
    append(item);
    return flush();
  }
  /// The same for many at once: they go out some hundred together, several times as fast for short ones.
  template <class Range, class F>
  asio::awaitable<bool> write_all(const Range& range, F to_item) {
    for (const auto& one : range) {
      append(to_item(one));
      if (lines_.size() < kTogether) continue;
      const bool taken = co_await flush();
      if (!taken) co_return false;
    }
    const bool taken = lines_.empty() || co_await flush();
    co_return taken;
  }
  /// Whether the client is still there.
  asio::awaitable<bool> alive() { return writer_->write(std::string()); }

 private:
  static constexpr std::size_t kTogether = std::size_t{1} << 16;

  void append(const Item& item) {
    json::object line;
    line["result"] = to_wire(item);
    lines_ += json::serialize(line);
    lines_ += '\n';
  }
  asio::awaitable<bool> flush() { return writer_->write(std::exchange(lines_, std::string())); }

  StreamWriter* writer_;
  std::string lines_;
};

/// Finds the handler of a request, reads its typed input, writes its typed
/// output, and describes all of it in an OpenAPI 3.0 document that cannot
/// drift because it is made from the same types.
///
///   router.add<GetTrial, TrialReply>(Verb::Get, "/api/v1/trials/{trialId}", handler, doc);
///
/// Members of In named in the path are read from there; the others from the
/// query (GET, DELETE) or the JSON body (POST, PUT, PATCH, and DELETE where `doc` says so).
/// `handler` is an `asio::awaitable<Result<Out>>(Context, In)`. A body in which an object has two
/// members of one name is refused.
///
/// Below /api/v1 an unknown path or method is answered 501 as in the original;
/// elsewhere with 404 and 405. HEAD is served by the GET route. The document
/// itself is served at /api/v1/api.swagger.json and /api/v1/openapi.json.
///
/// Add all routes first. The router must outlive the calls of `handle`.
class Router {
 public:
  using RawHandler = std::function<asio::awaitable<Response>(Request)>;
  /// Gets whoever was found to call, and was found to be allowed to.
  using ClosedRawHandler = std::function<asio::awaitable<Response>(Request, std::any principal)>;
  /// Says who calls, or why the call is refused.
  using Authenticator = std::function<asio::awaitable<Result<std::any>>(const Request&)>;

  /// Whether the caller may do this, with what the call turned out to be about ("experiment 7"), or why not.
  /// `operation` is the method and the path as in the document: "GET /api/v1/trials/{trialId}".
  using Authorizer = std::function<asio::awaitable<Result<std::string>>(
      const std::string& operation, const Request& request, const std::any& principal)>;
  /// Told of each answer before it is sent; `principal` is empty where nobody had to log in or could.
  struct Call {
    const std::string& operation;
    const Request& request;
    const std::any& principal;
    const std::string& about;  ///< what the authorizer said
    int status;
  };
  using Observer = std::function<asio::awaitable<void>(const Call& call)>;

  /// The document's description of a path or query parameter of a route; empty for none.
  using ParameterText = std::string (*)(std::string_view path, std::string_view name);

  Router(std::string title, std::string version, ParameterText parameter_text = nullptr);

  /// Told of each answer: the verb, the route as it was added ("" for a request that none fits), the status,
  /// and how long it took until the answer, or the first of its stream, was there.
  using Meter = std::function<void(std::string_view verb, std::string_view route, int status,
                                   std::chrono::steady_clock::duration took)>;
  void measure(Meter meter) { meter_ = std::move(meter); }

  /// Asked before every route that is not open.
  void authenticate(Authenticator authenticator) { authenticator_ = std::move(authenticator); }

  /// Asked next, with who calls.
  void authorize(Authorizer authorizer) { authorizer_ = std::move(authorizer); }
  void observe(Observer observer) { observer_ = std::move(observer); }

  template <class In, class Out, class F>
  void add(Verb verb, const std::string& path, F handler, const Doc& doc);

  /// The handler is an `asio::awaitable<Result<void>>(Context, In, ItemWriter<Item>&)`.
  /// An error before the first item sets the status; a later one is a last line.
  template <class In, class Item, class F>
  void add_stream(Verb verb, const std::string& path, F handler, const Doc& doc);

  /// A handler that reads and writes HTTP itself; `operation` goes into the
  /// document as it is, and without one the route is not in it. A path that
  /// ends in "/{rest...}" takes everything below. Open: nobody is asked who calls.
  void add_raw(Verb verb, const std::string& path, RawHandler handler, json::object operation = {});
  /// The same for those who are logged in and, by the authorizer, may.
  void add_closed_raw(Verb verb, const std::string& path, ClosedRawHandler handler,
                      json::object operation = {});

  asio::awaitable<Response> handle(Request request) const;

  /// All routes that are not open, also those that are not in the document.
  std::vector<std::string> closed_operations() const;

  /// The document. Deterministic: paths and schemas in alphabetical order.
  json::object openapi() const;

 private:
  using Serve = std::function<asio::awaitable<Response>(Context)>;
  struct Entry {
    Serve serve;
    bool open = false;
    std::string path;
    std::string operation;
  };
  struct Parameter {
    std::string name;
    json::object schema;
    bool in_path = false;
    bool required = false;  ///< those of the path are
  };

  asio::awaitable<Response> serve(const Entry& entry, Request request) const;
  void insert(Verb verb, const std::string& path, Serve serve, bool open);
  void describe(Verb verb, const std::string& path, const Doc& doc, std::vector<Parameter> parameters,
                std::optional<json::object> body, json::object reply, bool streams);
  void describe_typed(const WireStruct& in, Verb verb, const std::string& path, const Doc& doc,
                      json::object reply, bool streams);

  std::string title_;
  std::string version_;
  ParameterText parameter_text_;
  asio::awaitable<Response> serve(const Entry& entry, std::shared_ptr<const Request> request,
                                  std::any& principal, std::string& about) const;

  Authenticator authenticator_;
  Authorizer authorizer_;
  Observer observer_;
  Meter meter_;
  RouteTable table_;
  std::vector<Entry> entries_;
  Schemas schemas_;
  std::map<std::string, json::object> paths_;
};

/// Reads a struct from path parameters, query and body.
std::optional<Error> read_input(const WireStruct& in, const Request& request, bool has_body,
                                const std::string& body_member, void* out);

inline bool has_body(Verb verb, const Doc& doc) {
  return verb == Verb::Post || verb == Verb::Put || verb == Verb::Patch || doc.takes_body;
}
inline bool wants_pretty(const Request& request) {
  const auto* text = request.query.find("pretty");
  return text != nullptr && *text != "false" && *text != "0";
}

asio::awaitable<Response> refuse(Error error);
/// A good reply with what `type` writes of `out`.
Response reply(const Request& request, const Headers& headers, const WireType& type, const void* out);
Response error_reply(const Error& error, const Headers& headers);

/// The reply of a handler that has been called, and begins now.
template <class Out>
asio::awaitable<Response> serve_typed(asio::awaitable<Result<Out>> call,
                                      std::shared_ptr<const Request> request,
                                      std::shared_ptr<const Headers> headers) {
  const auto out = co_await std::move(call);
  if (!out) co_return error_reply(out.error(), *headers);
  co_return reply(*request, *headers, kWireType<Out, Way::Writes>, &*out);
}

/// Runs a stream's handler so that an early failure still has a status.
asio::awaitable<Response> stream_response(std::function<asio::awaitable<Result<void>>(StreamWriter&)> body);

template <class In, class Item, class F>
asio::awaitable<Result<void>> run_stream(const F& handler, Context context, In in, StreamWriter& writer) {
  ItemWriter<Item> items(writer);
  co_return co_await handler(std::move(context), std::move(in), items);
}

asio::awaitable<Response> refuse_stream(Error error);

template <class In, class Out, class F>
void Router::add(Verb verb, const std::string& path, F handler, const Doc& doc) {
  describe_typed(wire_struct<In, Way::Reads>(), verb, path, doc, schema_of<Out, Way::Writes>(schemas_),
                 false);
  insert(
      verb, path,
      [handler = std::move(handler), body = has_body(verb, doc), member = doc.body_member](Context context) {
        In in{};
        if (auto error = read_input(wire_struct<In, Way::Reads>(), *context.request, body, member, &in))
          return refuse(*std::move(error));
        auto request = context.request;
        auto headers = context.reply_headers;
        return serve_typed<Out>(handler(std::move(context), std::move(in)), std::move(request),
                                std::move(headers));
      },
      doc.open);
}

template <class In, class Item, class F>
void Router::add_stream(Verb verb, const std::string& path, F handler, const Doc& doc) {
  json::object item{{"type", "object"}};
  item["properties"] = json::object{{"result", schema_of<Item, Way::Writes>(schemas_)}};
  describe_typed(wire_struct<In, Way::Reads>(), verb, path, doc, std::move(item), true);
  insert(
      verb, path,
      [handler = std::move(handler), body = has_body(verb, doc), member = doc.body_member](Context context) {
        In in{};
        if (auto error = read_input(wire_struct<In, Way::Reads>(), *context.request, body, member, &in))
          return refuse_stream(*std::move(error));
        return stream_response(
            [&handler, context = std::move(context), in = std::move(in)](StreamWriter& writer) {
              return run_stream<In, Item>(handler, context, in, writer);
            });
      },
      doc.open);
}

}  // namespace det::http

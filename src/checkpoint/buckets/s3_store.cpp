// Amazon S3 and what speaks its REST API (MinIO, Ceph, R2, …): objects, multipart uploads and lists,
// as in https://docs.aws.amazon.com/AmazonS3/latest/API/.

#include <algorithm>
#include <boost/property_tree/xml_parser.hpp>
#include <ctime>
#include <sstream>

#include "det/base/text.h"
#include "det/checkpoint/buckets/aws_credentials.h"
#include "det/checkpoint/buckets/aws_signature.h"
#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/sha256.h"

namespace det::checkpoint {

namespace {

namespace pt = boost::property_tree;

/// Objects above this size are sent in parts: what fails is sent again is then a part. At most 10,000 parts.
constexpr std::int64_t kPart = std::int64_t{128} << 20;
constexpr std::int64_t kParts = 10'000;

using Query = std::map<std::string, std::string>;

/// A key of the configuration; what config::masked puts in its place is none.
std::string key_of(const json::object& section, const char* name) {
  auto key = json::text_member(section, name);
  return key == "********" ? std::string() : key;
}

pt::ptree xml(const std::string& text, const std::string& from) {
  try {
    std::istringstream in(text);
    pt::ptree tree;
    pt::read_xml(in, tree, pt::xml_parser::trim_whitespace);
    return tree;
  } catch (const pt::xml_parser_error&) {
    throw Failure(Error(ErrorCode::Unavailable, from + ": the response is not XML"));
  }
}

class S3Store : public ObjectStore {
 public:
  explicit S3Store(const json::object& section)
      : bucket_(json::text_member(section, "bucket")),
        endpoint_(json::text_member(section, "endpoint_url")),
        region_(AwsChain::region()),
        chain_(web_, key_of(section, "access_key"), key_of(section, "secret_key")) {
    while (endpoint_.ends_with('/')) endpoint_.pop_back();
  }

  std::string shown(const std::string& key) const override { return "s3://" + bucket_ + "/" + key; }

  void put(const std::string& key, int file, std::int64_t bytes, const std::string& sha256) override {
    if (bytes > kPart) return put_parts(key, file, in_parts(bytes));
    const FilePart part{file, 0, bytes};
    Request request{.method = "PUT", .key = key, .part = &part, .sha256 = sha256};
    send(request, "write");
  }

  void put_changes(const std::string& key, int file, const std::vector<Segment>& segments,
                   const std::string& from, const std::string& sha256) override {
    const bool copies = std::ranges::any_of(segments, &Segment::same);
    if (!copies || segments.size() > static_cast<std::size_t>(kParts))
      return ObjectStore::put_changes(key, file, segments, from, sha256);
    return put_parts(key, file, segments, from);
  }

  void put(const std::string& key, std::string_view content) override {
    send({.method = "PUT", .key = key, .body = std::string(content)}, "write");
  }

  void get(const std::string& key, const std::function<void()>& restart,
           const std::function<void(std::string_view)>& sink) override {
    send({.key = key, .restart = restart, .sink = sink}, "read");
  }

  std::optional<ObjectInfo> find(const std::string& key) override {
    const auto reply = exchange({.method = "HEAD", .key = key});
    if (reply.status == 404) return std::nullopt;
    check_reply(reply, "look for " + shown(key));
    return ObjectInfo{key, std::atoll(reply.header("content-length").c_str()), 0};
  }

  std::vector<ObjectInfo> list(const std::string& prefix) override {
    std::vector<ObjectInfo> objects;
    Query query{{"list-type", "2"}, {"prefix", prefix}};
    while (true) {
      const auto reply = send({.query = query}, "list", prefix);
      const auto page = xml(reply.body, shown(prefix)).get_child("ListBucketResult", {});
      for (const auto& [name, node] : page)
        if (name == "Contents")
          objects.push_back({node.get<std::string>("Key", {}), node.get<std::int64_t>("Size", 0),
                             seconds_of(node.get<std::string>("LastModified", {}))});
      const auto next = page.get<std::string>("NextContinuationToken", {});
      if (page.get<std::string>("IsTruncated", {}) != "true" || next.empty()) break;
      query["continuation-token"] = next;
    }
    std::ranges::sort(objects, {}, &ObjectInfo::key);
    return objects;
  }

  void remove(const std::string& key) override {
    const auto reply = exchange({.method = "DELETE", .key = key});
    if (reply.status != 404) check_reply(reply, "delete " + shown(key));
  }

 private:
  struct Request {
    std::string method = "GET";
    std::string key = {};
    Query query = {};
    std::string body = {};
    const FilePart* part = nullptr;
    std::string sha256 = {};
    std::vector<std::string> headers = {};
    std::function<void()> restart = {};
    std::function<void(std::string_view)> sink = {};
  };

  /// A bucket's own host name where Amazon is meant and certificates fit it, else a path below the endpoint.
  std::string base(const std::string& region) const {
    if (!endpoint_.empty()) return endpoint_ + "/" + percent_encode(bucket_);
    const auto host =
        region == "us-east-1" ? std::string("s3.amazonaws.com") : "s3." + region + ".amazonaws.com";
    if (bucket_.find('.') == std::string::npos) return "https://" + bucket_ + "." + host;
    return "https://" + host + "/" + bucket_;
  }

  WebReply exchange(const Request& request) {
    auto reply = exchange_in(region_, request);
    // A bucket elsewhere says where it is.
    if (const auto elsewhere = reply.header("x-amz-bucket-region");
        (reply.status == 301 || reply.status == 400 || reply.status == 403 || reply.status == 307) &&
        !elsewhere.empty() && elsewhere != region_ && endpoint_.empty()) {
      const std::lock_guard lock(mutex_);
      region_ = elsewhere;
      reply = exchange_in(elsewhere, request);
    }
    return reply;
  }

  WebReply exchange_in(const std::string& region, const Request& request) {
    const auto credentials = chain_.get();
    // Signed as it is sent: names and values encoded, in the order of their names.
    std::string url = base(region) + "/" + percent_encode(request.key, "/");
    char separator = '?';
    for (const auto& [name, value] : request.query) {
      url += separator + percent_encode(name) + "=" + percent_encode(value);
      separator = '&';
    }
    AwsCall signed_call{
        .method = request.method, .url = url, .headers = request.headers, .payload_sha256 = {}};
    if (!credentials.session_token.empty())
      signed_call.headers.push_back("x-amz-security-token: " + credentials.session_token);
    signed_call.payload_sha256 = request.part == nullptr  ? sha256_of(request.body)
                                 : request.sha256.empty() ? "UNSIGNED-PAYLOAD"
                                                          : request.sha256;
    WebCall call{
        .method = request.method,
        .url = url,
        .headers = signed_headers(signed_call, {region, credentials.access_key, credentials.secret_key},
                                  std::time(nullptr)),
        .body = request.body,
        .part = request.part,
        .sink = request.sink,
        .restart = request.restart};
    if (request.part != nullptr || !request.body.empty())
      call.headers.emplace_back("Content-Type: application/octet-stream");
    return web_.send(call);
  }

  WebReply send(const Request& request, const char* doing, const std::string& key = {}) {
    auto reply = exchange(request);
    check_reply(reply, fmt::format("{} {}", doing, shown(key.empty() ? request.key : key)));
    return reply;
  }

  static std::vector<Segment> in_parts(std::int64_t bytes) {
    const auto size = std::max(kPart, (bytes + kParts - 1) / kParts);
    std::vector<Segment> parts;
    for (std::int64_t offset = 0; offset < bytes; offset += size)
      parts.push_back({offset, std::min(size, bytes - offset)});
    return parts;
  }

  /// The ETag of a part that the service copies from another object; nothing where it does not.
  std::optional<std::string> copy_part(const std::string& key, const Query& place, const Segment& segment,
                                       const std::string& from) {
    const auto reply =
        exchange({.method = "PUT",
                  .key = key,
                  .query = place,
                  .headers = {"x-amz-copy-source: /" + bucket_ + "/" + percent_encode(from, "/"),
                              fmt::format("x-amz-copy-source-range: bytes={}-{}", segment.offset,
                                          segment.offset + segment.bytes - 1)}});
    if (reply.status != 200) return std::nullopt;  // Where the part cannot be sent either, that says why.
    auto tag = xml(reply.body, shown(key)).get<std::string>("CopyPartResult.ETag", {});
    return tag.empty() ? std::nullopt : std::optional(std::move(tag));
  }

  void put_parts(const std::string& key, int file, const std::vector<Segment>& segments,
                 const std::string& from = {}) {
    const auto begun = send({.method = "POST", .key = key, .query = {{"uploads", ""}}}, "write");
    const auto upload =
        xml(begun.body, shown(key)).get<std::string>("InitiateMultipartUploadResult.UploadId", {});
    bool copies = !from.empty();
    try {
      std::string list = "<CompleteMultipartUpload>";
      int number = 0;
      for (const auto& segment : segments) {
        const Query place{{"partNumber", std::to_string(++number)}, {"uploadId", upload}};
        std::optional<std::string> tag;
        if (copies && segment.same) tag = copy_part(key, place, segment, from);
        if (!tag) {
          copies = copies && !segment.same;
          const FilePart part{file, segment.offset, segment.bytes};
          tag = send({.method = "PUT", .key = key, .query = place, .part = &part}, "write").header("etag");
        }
        list += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", number, *tag);
      }
      list += "</CompleteMultipartUpload>";
      // Its status is 200 also where it fails in the end.
      auto done =
          send({.method = "POST", .key = key, .query = {{"uploadId", upload}}, .body = list}, "write");
      if (done.body.find("<Error>") != std::string::npos) done.status = 500;
      check_reply(done, "write " + shown(key));
    } catch (const Failure&) {
      try {
        exchange({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}});
      } catch (const Failure&) {  // the first failure matters more; the bucket's own rules clear uploads
      }
      throw;
    }
  }

  std::string bucket_;
  std::string endpoint_;
  WebClient web_;
  std::mutex mutex_;
  std::string region_;
  AwsChain chain_;
};

}  // namespace

std::unique_ptr<ObjectStore> s3_store(const json::object& section) {
  return std::make_unique<S3Store>(section);
}

}  // namespace det::checkpoint

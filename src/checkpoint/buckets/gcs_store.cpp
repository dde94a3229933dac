// Google Cloud Storage by its JSON API (https://cloud.google.com/storage/docs/json_api).

#include <algorithm>
#include <cstdlib>

#include "det/base/text.h"
#include "det/checkpoint/buckets/aws_credentials.h"
#include "det/checkpoint/buckets/google_credentials.h"
#include "det/checkpoint/buckets/object_store.h"
#include "det/checkpoint/environment.h"
#include "det/checkpoint/storage.h"

namespace det::checkpoint {

namespace {

class GcsStore : public ObjectStore {
 public:
  explicit GcsStore(const json::object& section)
      : bucket_(json::text_member(section, "bucket")), tokens_(web_) {
    // As Google's libraries do: an emulator is asked without credentials.
    if (const auto emulator = environment_variable("STORAGE_EMULATOR_HOST"); !emulator.empty()) {
      emulated_ = true;
      endpoint_ = emulator;
      if (endpoint_.find("://") == std::string::npos) endpoint_ = "http://" + endpoint_;
      while (endpoint_.ends_with('/')) endpoint_.pop_back();
    }
  }

  std::string shown(const std::string& key) const override { return "gs://" + bucket_ + "/" + key; }

  void put(const std::string& key, int file, std::int64_t bytes, const std::string&) override {
    if (bytes == 0) return put(key, std::string_view());
    const FilePart part{file, 0, bytes};
    auto call = upload("media&name=" + percent_encode(key));
    call.headers.emplace_back("Content-Type: application/octet-stream");
    call.part = &part;
    written(send(call, "write", key), key, bytes);
  }

  /// With what it is called in the body: the form that also takes an empty content.
  void put(const std::string& key, std::string_view content) override {
    const auto boundary = new_uuid();
    auto call = upload("multipart");
    call.headers.push_back("Content-Type: multipart/related; boundary=" + boundary);
    call.body = fmt::format(
        "--{0}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{1}\r\n"
        "--{0}\r\nContent-Type: application/octet-stream\r\n\r\n{2}\r\n--{0}--\r\n",
        boundary, json::serialize({{"name", key}}), content);
    written(send(call, "write", key), key, static_cast<std::int64_t>(content.size()));
  }

  void get(const std::string& key, const std::function<void()>& restart,
           const std::function<void(std::string_view)>& sink) override {
    auto call = of_object(key, "?alt=media");
    call.sink = sink;
    call.restart = restart;
    send(call, "read", key);
  }

  std::optional<ObjectInfo> find(const std::string& key) override {
    auto call = of_object(key);
    authorize(call);
    const auto reply = web_.send(call);
    if (reply.status == 404) return std::nullopt;
    check_reply(reply, "look for " + shown(key));
    return info(read(reply, key).get_object());
  }

  std::vector<ObjectInfo> list(const std::string& prefix) override {
    std::vector<ObjectInfo> objects;
    std::string page;
    do {
      auto query = "?prefix=" + percent_encode(prefix);
      if (!page.empty()) query += "&pageToken=" + percent_encode(page);
      WebCall call = plain("GET", bucket_url() + query);
      const auto document = read(send(call, "list", prefix), prefix);
      if (const auto* items = document.get_object().if_contains("items");
          items != nullptr && items->is_array())
        for (const auto& item : items->get_array())
          if (item.is_object()) objects.push_back(info(item.get_object()));
      page = json::text_member(document.get_object(), "nextPageToken");
    } while (!page.empty());
    std::ranges::sort(objects, {}, &ObjectInfo::key);
    return objects;
  }

  void remove(const std::string& key) override {
    auto call = of_object(key);
    call.method = "DELETE";
    authorize(call);
    const auto reply = web_.send(call);
    if (reply.status != 404) check_reply(reply, "delete " + shown(key));
  }

 private:
  static WebCall plain(std::string method, std::string url) {
    return {.method = std::move(method), .url = std::move(url)};
  }

  std::string bucket_url() const { return endpoint_ + "/storage/v1/b/" + percent_encode(bucket_) + "/o"; }

  WebCall of_object(const std::string& key, const char* query = "") const {
    return plain("GET", bucket_url() + "/" + percent_encode(key) + query);
  }

  WebCall upload(const std::string& type) const {
    return plain("POST",
                 endpoint_ + "/upload/storage/v1/b/" + percent_encode(bucket_) + "/o?uploadType=" + type);
  }

  void authorize(WebCall& call) {
    if (!emulated_) call.headers.push_back("Authorization: Bearer " + tokens_.get());
  }

  WebReply send(WebCall& call, const char* doing, const std::string& key) {
    authorize(call);
    auto reply = web_.send(call);
    check_reply(reply, fmt::format("{} {}", doing, shown(key)));
    return reply;
  }

  void written(const WebReply& reply, const std::string& key, std::int64_t bytes) const {
    if (const auto there = info(read(reply, key).get_object()).bytes; there != bytes)
      throw Failure(Error(ErrorCode::Unavailable, fmt::format("{} has {} bytes after {} bytes were written",
                                                              shown(key), there, bytes)));
  }

  json::value read(const WebReply& reply, const std::string& key) const {
    auto document = json::parse(reply.body);
    if (!document || !document->is_object())
      throw Failure(Error(ErrorCode::Unavailable, shown(key) + ": the response is not JSON"));
    return *std::move(document);
  }

  static ObjectInfo info(const json::object& item) {
    return {json::text_member(item, "name"), std::atoll(json::text_member(item, "size").c_str()),
            seconds_of(json::text_member(item, "updated"))};
  }

  std::string bucket_;
  std::string endpoint_ = "https://storage.googleapis.com";
  bool emulated_ = false;
  WebClient web_;
  GoogleTokens tokens_;
};

}  // namespace

std::unique_ptr<ObjectStore> gcs_store(const json::object& section) {
  return std::make_unique<GcsStore>(section);
}

}  // namespace det::checkpoint

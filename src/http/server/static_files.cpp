#include "det/http/server/static_files.h"

#include <algorithm>
#include <array>

#include "det/base/text.h"

namespace det::http {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".wasm", "application/wasm"},
    {".txt", "text/plain; charset=utf-8"},
    {".webp", "image/webp"},
    {".webmanifest", "application/manifest+json"},
}};

std::string_view type_of(std::string_view path) {
  for (const auto& [extension, type] : kTypes)
    if (path.ends_with(extension)) return type;
  return "application/octet-stream";
}

const EmbeddedFile* find(EmbeddedFiles files, std::string_view path) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

bool takes_gzip(const Request& request) {
  const auto* accepted = request.headers.find("accept-encoding");
  if (accepted == nullptr) return false;
  for (const auto& item : split(*accepted, ',')) {
    const auto coding = split(item, ';');
    if (to_lower(trim(coding.front())) != "gzip") continue;
    return coding.size() < 2 || (trim(coding[1]) != "q=0" && trim(coding[1]) != "q=0.0");
  }
  return false;
}

bool has_tag(const Request& request, std::string_view etag) {
  const auto* known = request.headers.find("if-none-match");
  if (known == nullptr) return false;
  for (const auto& item : split(*known, ',')) {
    auto tag = trim(item);
    if (tag.starts_with("W/")) tag.remove_prefix(2);
    if (tag == etag || tag == "*") return true;
  }
  return false;
}

void add_safety_headers(Headers& headers) {
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("X-Frame-Options", "DENY");
  headers.add("Referrer-Policy", "same-origin");
  // uPlot and React set styles by script, which needs no 'unsafe-inline'.
  headers.add(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; "
      "font-src 'self'; "
      "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
}

}  // namespace

Response static_file(EmbeddedFiles files, const Request& request, std::string_view path) {
  std::string wanted(path);
  if (!wanted.starts_with('/')) wanted.insert(0, "/");
  const auto* file = find(files, wanted);
  const auto name = wanted.substr(wanted.rfind('/') + 1);
  if (file == nullptr && (name.find('.') == std::string::npos)) {
    wanted = "/index.html";
    file = find(files, wanted);
  }
  Response response;
  add_safety_headers(response.headers);
  if (file == nullptr) {
    response.status = 404;
    response.headers.add("Content-Type", "text/plain; charset=utf-8");
    response.body = fmt::format("file {} not found\n", wanted);
    return response;
  }
  const auto* packed = find(files, wanted + ".gz");
  const bool gzip = packed != nullptr && takes_gzip(request);
  const auto etag = fmt::format("\"{}{}\"", file->digest, gzip ? "-gz" : "");
  response.headers.add("ETag", etag);
  if (packed != nullptr) response.headers.add("Vary", "Accept-Encoding");
  response.headers.add("Cache-Control",
                       wanted.starts_with("/assets/") ? "public, max-age=31536000, immutable" : "no-cache");
  if (has_tag(request, etag)) {
    response.status = 304;
    return response;
  }
  response.headers.add("Content-Type", std::string(type_of(wanted)));
  if (gzip) response.headers.add("Content-Encoding", "gzip");
  response.body = std::string((gzip ? packed : file)->content());
  return response;
}

namespace {

asio::awaitable<Response> serve(EmbeddedFiles files, Request request) {
  const auto found = request.parameters.find("path");
  co_return static_file(files, request, found == request.parameters.end() ? "" : found->second);
}

asio::awaitable<Response> go_to(std::string location, Request) {
  Response response;
  response.status = 302;
  response.headers.add("Location", std::move(location));
  co_return response;
}

}  // namespace

void add_static_files(Router& router, const std::string& mount, EmbeddedFiles files) {
  router.add_raw(Verb::Get, mount + "/{path...}",
                 [files](Request request) { return serve(files, std::move(request)); });
  if (!mount.empty())
    router.add_raw(Verb::Get, "/",
                   [to = mount + "/"](Request request) { return go_to(to, std::move(request)); });
}

}  // namespace det::http

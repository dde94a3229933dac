#pragma once

#include <span>
#include <string_view>

namespace det::http {

/// A file inside the program (cmake/embed.cmake).
struct EmbeddedFile {
  std::string_view path;  ///< From the directory that was embedded: "/index.html"
  const char* begin = nullptr;
  const char* end = nullptr;
  std::string_view digest;  ///< Of the content: changes when a byte does.

  std::string_view content() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

using EmbeddedFiles = std::span<const EmbeddedFile>;

}  // namespace det::http

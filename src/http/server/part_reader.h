#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "det/http/message.h"

namespace det::http {

/// Reads a request or a reply piece by piece, in bounded memory. Trailers are dropped.
class PartReader {
 public:
  enum class Of { Request, Reply, ReplyToHead };
  explicit PartReader(Of what);
  ~PartReader();
  PartReader(PartReader&&) noexcept;
  PartReader& operator=(PartReader&&) noexcept;

  /// Takes bytes from the front, at most as many as belong to this message, and appends what they hold of the
  /// body; says how many. What it leaves comes again, with more behind it.
  std::size_t put(std::string_view bytes, std::string& body);
  void put_end();  ///< The other side has closed.

  bool head_done() const;
  bool done() const;
  /// Why the bytes are no HTTP; empty: nothing.
  const std::string& fault() const { return fault_; }

  // Once the head is done.
  std::optional<std::uint64_t> length() const;  ///< as Content-Length says
  bool chunked() const;
  Headers headers() const;
  int status() const;          ///< of a reply
  std::string reason() const;  ///< of a reply

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string fault_;
};

}  // namespace det::http

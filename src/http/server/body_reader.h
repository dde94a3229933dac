#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "det/base/error.h"
#include "det/http/message.h"

namespace det::http {

/// Reads the body of a request whose head was checked: as long as
/// Content-Length says, in chunks, or none.
class BodyReader {
 public:
  /// Requires: check_head(head) found no fault.
  explicit BodyReader(const std::string& head);
  ~BodyReader();

  /// Method, target and headers into `request`. Trailers of a chunked body
  /// are dropped: nothing that is not in the head counts.
  void describe(Request& request) const;

  bool keep_alive() const;
  bool is_http_1_0() const;
  std::optional<std::uint64_t> length() const;

  /// Takes bytes from the front; says how many. What it leaves comes again
  /// with more behind it.
  std::size_t put(std::string_view bytes);
  bool done() const;
  std::size_t body_bytes() const;
  /// What is wrong with the bytes so far; empty: nothing.
  const std::string& fault() const { return fault_; }
  std::string take();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string fault_;
};

/// Whether an Expect header asks for "100-continue".
bool is_continue(std::string_view expect);

/// Fills `path` and `query` from `target`, which may be in absolute form.
Result<void> split_target(Request& request);

}  // namespace det::http

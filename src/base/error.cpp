#include "det/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace det {

Error join_errors(const std::vector<Error>& errors) {
  std::string message;
  for (const auto& error : errors) {
    if (!message.empty()) message += '\n';
    message += error.message();
  }
  return Error(errors.front().code(), std::move(message));
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace det

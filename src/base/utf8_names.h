#pragma once

#include <locale.h>

namespace det {

/// While it lives, names of files are UTF-8 on this thread, whatever the process's locale: libarchive reads
/// and writes them by that, and has none for a name that the locale cannot say. Not across a `co_await`.
class Utf8Names {
 public:
  Utf8Names() : before_(::uselocale(utf8())) {}
  ~Utf8Names() { ::uselocale(before_); }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t one = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return one;
  }

  locale_t before_;
};

}  // namespace det

#include "det/cli/output/console.h"

#include <ostream>

#include "det/base/text.h"

namespace det::cli {

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are controls, too, and some terminals obey them.
    const bool c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                    static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c == '\t' || (c >= 0x20 && c != 0x7f && !c1)) {
      out += text[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c1) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      out += fmt::format("\\x{:02x}", c);
    }
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
  return width;
}

std::string clip(std::string_view text, std::size_t columns) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++width > columns) return std::string(text.substr(0, i));
  }
  return std::string(text);
}

std::string Console::paint(Colour colour, std::string_view text, bool tty) const {
  if (!tty || !streams_.colour) return std::string(text);
  const int code = colour == Colour::Green ? 32 : colour == Colour::Yellow ? 33 : 31;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Console::paint(Colour colour, std::string_view text) const {
  return paint(colour, text, streams_.out_tty);
}

namespace {
constexpr const char* kEraseLine = "\r\x1b[K";
}

void Console::write(std::string_view text) {
  if (status_.empty()) {
    streams_.out << text;
    return;
  }
  streams_.out << kEraseLine << text;
  if (text.ends_with('\n'))
    streams_.out << status_;
  else
    status_.clear();
}

void Console::write_line(std::string_view text) {
  write(std::string(text) + '\n');
}
void Console::good(std::string_view text) {
  write_line(paint(Colour::Green, text, streams_.out_tty));
}
void Console::note(std::string_view text) {
  write_line(paint(Colour::Yellow, text, streams_.out_tty));
}
void Console::warn(std::string_view text) {
  complain(Colour::Yellow, text);
}
void Console::fail(std::string_view text) {
  complain(Colour::Red, text);
}

void Console::complain(Colour colour, std::string_view text) {
  if (!status_.empty()) streams_.out << kEraseLine;
  streams_.out.flush();
  streams_.err << paint(colour, text, streams_.err_tty) << std::endl;
  streams_.out << status_;
  streams_.out.flush();
}

void Console::flush() {
  streams_.out.flush();
}

bool Console::written() const {
  return streams_.out.good();
}

void Console::status(std::string_view text) {
  if (!streams_.out_tty || text == status_) return;
  if (!status_.empty()) streams_.out << kEraseLine;
  // A line that wraps could not be rewritten.
  status_ = clip(text, static_cast<std::size_t>(streams_.columns > 1 ? streams_.columns - 1 : 1));
  streams_.out << status_;
  streams_.out.flush();
}

void Console::finish_status(std::string_view text) {
  clear_status();
  write_line(text);
  flush();
}

void Console::clear_status() {
  if (status_.empty()) return;
  streams_.out << kEraseLine;
  streams_.out.flush();
  status_.clear();
}

void Console::log_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (!streams_.out_tty) return write_line(text);
  // A message may have several lines; each is shown as one.
  while (true) {
    const auto end = text.find('\n');
    write_line(escape_controls(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

bool Console::confirm(std::string_view prompt) {
  clear_status();
  flush();
  streams_.err << prompt << " [y/n]: " << std::flush;
  while (true) {
    const auto answer = streams_.read_line(true);
    if (!answer) {
      streams_.err << std::endl;
      return false;
    }
    const auto word = to_lower(trim(*answer));
    if (word == "y" || word == "yes") return true;
    if (word == "n" || word == "no") return false;
    streams_.err << "Please respond with 'y'/'yes' or 'n'/'no': " << std::flush;
  }
}

std::optional<std::string> Console::ask_password(std::string_view prompt) {
  clear_status();
  flush();
  streams_.err << prompt << std::flush;
  auto password = streams_.read_line(false);
  streams_.err << std::endl;
  return password;
}

}  // namespace det::cli

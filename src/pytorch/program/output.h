#pragma once

#include <string>

namespace det::pytorch {

/// Every line of stdout goes on its way at once: a trial's log is read while it runs.
void line_buffer_output();

void print_info(const std::string& line);     ///< "INFO: determined: …" on stderr
void print_warning(const std::string& line);  ///< "WARNING: determined: …" on stderr
void print_error(const std::string& text);    ///< As it is, on stderr.
void print_plain(const std::string& line);    ///< A line of another program's, on stderr.

/// What went wrong, in a `catch`: the exception's type, unless it is one of ours, and its text.
std::string current_exception_text();
void print_current_exception();

}  // namespace det::pytorch

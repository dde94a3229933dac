#include "det/pytorch/program/output.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "det/pytorch/errors.h"
#include "det/pytorch/ranks/stacks.h"

namespace det::pytorch {

namespace {

std::string current_type() {
  const auto* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "an unknown exception";
  int status = 0;
  char* text = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : type->name();
  std::free(text);
  return name;
}

std::string where() {
  const auto at = doing();
  return at.empty() ? "" : "while " + at + ": ";
}

}  // namespace

void line_buffer_output() {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
}

void print_plain(const std::string& line) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", line.c_str());
}

void print_info(const std::string& line) {
  print_plain("INFO: determined: " + line);
}

void print_warning(const std::string& line) {
  print_plain("WARNING: determined: " + line);
}

void print_error(const std::string& text) {
  print_plain(text);
}

std::string current_exception_text() {
  try {
    throw;
  } catch (const UsageError& error) {
    return error.what();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return where() + current_type() + ": " +
           text.substr(0, text.find("\nException raised from "));  // LibTorch's frames say nothing
  } catch (...) {
    return where() + "the trial threw " + current_type();
  }
}

void print_current_exception() {
  print_error(current_exception_text());
}

}  // namespace det::pytorch

#include "runtime.h"

namespace det::python {

namespace {

// Owned by the module, which is never unloaded.
PyObject* gone = nullptr;

PyObject* exception_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::Gone: return gone;
    case ErrorCode::InvalidArgument: return PyExc_ValueError;
    case ErrorCode::NotFound: return PyExc_FileNotFoundError;
    case ErrorCode::AlreadyExists: return PyExc_FileExistsError;
    case ErrorCode::PermissionDenied:
    case ErrorCode::Unauthenticated: return PyExc_PermissionError;
    case ErrorCode::ResourceExhausted: return PyExc_OSError;
    case ErrorCode::Unavailable: return PyExc_ConnectionError;
    case ErrorCode::Unimplemented: return PyExc_NotImplementedError;
    case ErrorCode::FailedPrecondition:
    case ErrorCode::Internal: return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

[[noreturn]] void throw_exception(PyObject* type,
                                  const std::string& text) {  // may name a file that is no UTF-8
  const Owned message(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (message) PyErr_SetObject(type, message.get());
  throw PythonError{};
}

}  // namespace

void throw_error(const Error& error) {
  throw_exception(exception_for(error.code()), error.message());
}

void throw_value_error(const std::string& message) {
  throw_exception(PyExc_ValueError, message);
}

Result<json::object> read_object(std::string_view text, const char* what) {
  const auto parsed = json::parse(text);
  if (!parsed) return tl::unexpected(Error(parsed.error()).within(what));
  if (!parsed->is_object())
    return invalid_argument("{} must be a JSON object, not {}", what, text.substr(0, 100));
  return parsed->get_object();
}

Result<json::array> read_array(std::string_view text, const char* what) {
  if (text.empty()) return json::array{};
  const auto parsed = json::parse(text);
  if (!parsed) return tl::unexpected(Error(parsed.error()).within(what));
  if (parsed->is_null()) return json::array{};
  if (!parsed->is_array())
    return invalid_argument("{} must be a JSON list, not {}", what, text.substr(0, 100));
  return parsed->get_array();
}

void add_errors(PyObject* module) {
  gone = PyErr_NewExceptionWithDoc(
      "determined._runtime.Gone",
      "The master has ended this allocation: end the process without writing anything more.", PyExc_Exception,
      nullptr);
  if (gone == nullptr) throw PythonError{};
  Py_INCREF(gone);
  if (PyModule_AddObject(module, "Gone", gone) != 0) throw PythonError{};
}

}  // namespace det::python

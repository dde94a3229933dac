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

}  // namespace

void throw_error(const Error& error) {
  const auto& text = error.message();  // may name a file whose name is no UTF-8
  const auto message = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!message) throw py::error_already_set();
  PyErr_SetObject(exception_for(error.code()), message.ptr());
  throw py::error_already_set();
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

void bind_errors(py::module_& module) {
  gone = PyErr_NewExceptionWithDoc(
      "determined._runtime.Gone",
      "The master has ended this allocation: end the process without writing anything more.", PyExc_Exception,
      nullptr);
  if (gone == nullptr) throw py::error_already_set();
  module.add_object("Gone", py::reinterpret_borrow<py::object>(gone));
}

}  // namespace det::python

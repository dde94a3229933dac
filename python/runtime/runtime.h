#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

#include "det/base/error.h"
#include "det/base/json.h"

/// `determined._runtime`: the C++ trial runtime as Python sees it. The
/// contract is python/determined/_runtime_api.py.
namespace det::python {

namespace py = pybind11;

/// Throws the Python exception that an error means: Gone, ValueError,
/// FileNotFoundError, PermissionError, TimeoutError, …, else RuntimeError.
[[noreturn]] void throw_error(const Error& error);

/// The value, or the exception.
template <typename T>
T unwrap(Result<T> result) {
  if (!result) throw_error(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Calls without the interpreter's lock. Requires: `body` touches no Python object.
template <typename Body>
auto blocking(Body body) {
  auto result = [&] {
    const py::gil_scoped_release released;
    return body();
  }();
  return unwrap(std::move(result));
}

/// JSON text as Python's json.dumps writes it: NaN and Infinity may stand bare. `what` is named in errors.
Result<json::object> read_object(std::string_view text, const char* what);
Result<json::array> read_array(std::string_view text, const char* what);

void bind_errors(py::module_& module);
void bind_plan(py::module_& module);
void bind_client(py::module_& module);
void bind_storage(py::module_& module);

}  // namespace det::python

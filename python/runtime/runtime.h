#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "det/base/error.h"
#include "det/base/json.h"

/// `determined._native`: the C++ trial runtime as functions of Python's stable ABI, so that one binary serves
/// every Python from 3.9 on. determined/_runtime.py makes classes of them; the contract is
/// determined/_runtime_api.py.
namespace det::python {

/// Thrown where Python's exception is already set.
struct PythonError {};

/// Throws the Python exception that an error means: Gone, ValueError, FileNotFoundError, PermissionError, …,
/// else RuntimeError.
[[noreturn]] void throw_error(const Error& error);
[[noreturn]] void throw_value_error(const std::string& message);

/// A reference that is given up with this object. Requires: the interpreter's lock.
class Owned {
 public:
  explicit Owned(PyObject* object) : object_(object) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }
  [[nodiscard]] PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

/// Holds the interpreter's lock released for as long as it lives.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

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
    const Unlocked unlocked;
    return body();
  }();
  return unwrap(std::move(result));
}

/// The arguments of a call, converted one after another. Throws: TypeError for one of another type.
class Arguments {
 public:
  explicit Arguments(PyObject* tuple) : tuple_(tuple) {}
  std::string text();
  std::int64_t integer();
  double number();
  std::optional<double> optional_number();
  bool truth();
  std::vector<std::int64_t> integers();
  std::vector<std::string> texts();
  std::map<std::string, std::int64_t> sizes();
  PyObject* object();

  /// The C++ object behind a handle that `handle_of` made.
  template <typename T>
  T& behind() {
    auto* found = PyCapsule_GetPointer(object(), T::kHandle);
    if (found == nullptr) throw PythonError{};
    return *static_cast<T*>(found);
  }

 private:
  PyObject* tuple_;
  Py_ssize_t next_ = 0;
};

// A new reference each. Throw PythonError where there is no memory, or a text is no UTF-8.
PyObject* to_python(std::nullopt_t);
PyObject* to_python(bool value);
PyObject* to_python(int value);
PyObject* to_python(std::int64_t value);
PyObject* to_python(double value);
PyObject* to_python(std::string_view value);
PyObject* to_python(const char* value);
PyObject* to_python(const std::optional<double>& value);
PyObject* to_python(const std::vector<std::int64_t>& values);
PyObject* to_python(const std::vector<std::string>& values);
PyObject* to_python(const std::map<std::string, std::int64_t>& sizes);

template <typename... Values>
PyObject* tuple_of(const Values&... values) {
  Owned tuple(PyTuple_New(sizeof...(Values)));
  if (!tuple) throw PythonError{};
  Py_ssize_t place = 0;
  (PyTuple_SetItem(tuple.get(), place++, to_python(values)), ...);
  return tuple.release();
}

/// An object that Python keeps and that ends without the interpreter's lock: ending threads takes a moment in
/// which other Python threads go on.
template <typename T>
PyObject* handle_of(std::unique_ptr<T> object) {
  auto* handle = PyCapsule_New(object.get(), T::kHandle, [](PyObject* capsule) {
    auto* owned = static_cast<T*>(PyCapsule_GetPointer(capsule, T::kHandle));
    const Unlocked unlocked;
    delete owned;
  });
  if (handle == nullptr) throw PythonError{};
  object.release();
  return handle;
}

/// A function as Python calls it: from C++ exceptions to Python's.
template <auto body>
PyObject* call(PyObject*, PyObject* tuple) noexcept {
  try {
    Arguments arguments(tuple);
    if constexpr (std::is_void_v<decltype(body(arguments))>) {
      body(arguments);
      return to_python(std::nullopt);
    } else {
      return body(arguments);
    }
  } catch (const PythonError&) {
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// JSON text as Python's json.dumps writes it: NaN and Infinity may stand bare. `what` is named in errors.
Result<json::object> read_object(std::string_view text, const char* what);
Result<json::array> read_array(std::string_view text, const char* what);

void add_errors(PyObject* module);
extern const std::vector<PyMethodDef> kClientMethods, kPlanMethods, kStorageMethods;

}  // namespace det::python

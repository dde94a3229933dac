#include "runtime.h"

namespace det::python {

namespace {

void require(const Owned& object) {
  if (!object) throw PythonError{};
}

std::string text_of(PyObject* object) {
  const Owned encoded(PyUnicode_AsUTF8String(object));  // TypeError if it is no str
  require(encoded);
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(encoded.get(), &data, &size) != 0) throw PythonError{};
  return {data, static_cast<std::size_t>(size)};
}

std::int64_t integer_of(PyObject* object) {
  const Owned whole(PyNumber_Index(object));  // a float is no integer, one of NumPy's is
  require(whole);
  const auto value = PyLong_AsLongLong(whole.get());
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

double number_of(PyObject* object) {
  const auto value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred() != nullptr) throw PythonError{};
  return value;
}

template <typename Read>
auto list_of(PyObject* object, Read read) {
  std::vector<decltype(read(object))> values;
  const auto size = PySequence_Size(object);
  if (size < 0) throw PythonError{};
  values.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    const Owned item(PySequence_GetItem(object, i));
    require(item);
    values.push_back(read(item.get()));
  }
  return values;
}

template <typename Values>
PyObject* to_list(const Values& values) {
  Owned list(PyList_New(0));
  require(list);
  for (const auto& value : values) {
    const Owned item(to_python(value));
    if (PyList_Append(list.get(), item.get()) != 0) throw PythonError{};
  }
  return list.release();
}

PyObject* made(PyObject* object) {
  if (object == nullptr) throw PythonError{};
  return object;
}

}  // namespace

PyObject* Arguments::object() {
  if (auto* item = PyTuple_GetItem(tuple_, next_++)) return item;
  PyErr_Clear();
  PyErr_SetString(PyExc_TypeError, "an argument is missing");
  throw PythonError{};
}

std::string Arguments::text() {
  return text_of(object());
}

std::int64_t Arguments::integer() {
  return integer_of(object());
}

double Arguments::number() {
  return number_of(object());
}

std::optional<double> Arguments::optional_number() {
  auto* item = object();
  if (item == Py_None) return std::nullopt;
  return number_of(item);
}

bool Arguments::truth() {
  const int value = PyObject_IsTrue(object());
  if (value < 0) throw PythonError{};
  return value == 1;
}

std::vector<std::int64_t> Arguments::integers() {
  return list_of(object(), integer_of);
}

std::vector<std::string> Arguments::texts() {
  return list_of(object(), text_of);
}

std::map<std::string, std::int64_t> Arguments::sizes() {
  const Owned items(PyMapping_Items(object()));
  require(items);
  const auto pairs = list_of(items.get(), [](PyObject* pair) {
    return std::pair(text_of(PyTuple_GetItem(pair, 0)), integer_of(PyTuple_GetItem(pair, 1)));
  });
  return {pairs.begin(), pairs.end()};
}

PyObject* to_python(std::nullopt_t) {
  Py_INCREF(Py_None);
  return Py_None;
}

PyObject* to_python(bool value) {
  return PyBool_FromLong(value ? 1 : 0);
}

PyObject* to_python(int value) {
  return to_python(std::int64_t{value});
}

PyObject* to_python(std::int64_t value) {
  return made(PyLong_FromLongLong(value));
}

PyObject* to_python(double value) {
  return made(PyFloat_FromDouble(value));
}

PyObject* to_python(std::string_view value) {
  return made(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
}

PyObject* to_python(const char* value) {
  return to_python(std::string_view(value));
}

PyObject* to_python(const std::optional<double>& value) {
  return value ? to_python(*value) : to_python(std::nullopt);
}

PyObject* to_python(const std::vector<std::int64_t>& values) {
  return to_list(values);
}

PyObject* to_python(const std::vector<std::string>& values) {
  return to_list(values);
}

PyObject* to_python(const std::map<std::string, std::int64_t>& sizes) {
  Owned dict(PyDict_New());
  require(dict);
  for (const auto& [name, bytes] : sizes) {
    const Owned key(to_python(name)), value(to_python(bytes));
    if (PyDict_SetItem(dict.get(), key.get(), value.get()) != 0) throw PythonError{};
  }
  return dict.release();
}

}  // namespace det::python

#include "det/agent/shim/shim.h"
#include "runtime.h"

namespace det::python {
namespace {

/// What a task calls to become another one: `another(meanwhile) -> bool`. `meanwhile` has failed if it
/// raises.
constexpr const char* kAnother = "determined.another_task";

PyObject* another_task(PyObject* self, PyObject* meanwhile) {
  const auto* another = static_cast<const agent::AnotherTask*>(PyCapsule_GetPointer(self, kAnother));
  if (another == nullptr) return nullptr;
  const bool found = [&] {
    const Unlocked unlocked;
    return (*another)([&] {
      const auto state = PyGILState_Ensure();
      const Owned returned(PyObject_CallObject(meanwhile, nullptr));
      const bool good = static_cast<bool>(returned);
      if (!good) PyErr_Print();
      PyGILState_Release(state);
      return good;
    });
  }();
  return PyBool_FromLong(found ? 1 : 0);
}

PyMethodDef kAnotherMethod = {"another", another_task, METH_O, nullptr};

/// What the process of a task ends with: what `task` returned, or why it raised. It gets `another`, or None.
int exit_status_of(PyObject* task, const agent::AnotherTask& another) {
  const Owned behind(PyCapsule_New(const_cast<agent::AnotherTask*>(&another), kAnother, nullptr));
  const Owned function(behind ? PyCFunction_New(&kAnotherMethod, behind.get()) : nullptr);
  auto* argument = another ? function.get() : Py_None;
  const Owned returned(argument != nullptr ? PyObject_CallFunctionObjArgs(task, argument, nullptr) : nullptr);
  if (returned) {
    const auto status = PyLong_AsLong(returned.get());
    if (PyErr_Occurred() == nullptr) return static_cast<int>(status);
  } else if (PyErr_ExceptionMatches(PyExc_SystemExit) != 0) {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Owned code(PyObject_GetAttrString(value, "code"));
    if (code && code.get() == Py_None) return 0;
    if (code && PyLong_Check(code.get()) != 0) return static_cast<int>(PyLong_AsLong(code.get()));
    PyErr_Restore(type, value, trace);
  }
  // For SystemExit, PyErr_Print would end the process: it writes what the exception says first.
  PyErr_Print();
  return 1;
}

/// Never releases the interpreter's lock: the fork of a process has only the
/// thread that forked, and the task runs in a fork of this one.
PyObject* run_shim(Arguments& arguments) {
  const auto directory = arguments.text();
  auto* task = arguments.object();
  return to_python(agent::run_shim(directory, [&](const agent::AnotherTask& another) -> int {
    PyOS_AfterFork_Child();
    return exit_status_of(task, another);
  }));
}

std::vector<PyMethodDef> all_methods() {
  std::vector<PyMethodDef> methods;
  for (const auto* some : {&kClientMethods, &kPlanMethods, &kStorageMethods})
    methods.insert(methods.end(), some->begin(), some->end());
  methods.push_back({"run_shim", call<run_shim>, METH_VARARGS, nullptr});
  methods.push_back({nullptr, nullptr, 0, nullptr});
  return methods;
}

}  // namespace
}  // namespace det::python

PyMODINIT_FUNC PyInit__native() {
  static auto methods = det::python::all_methods();
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "determined._native",
                                   "The trial runtime in C++; determined/_runtime.py makes classes of it.",
                                   -1,
                                   methods.data(),
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  auto* module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  try {
    det::python::add_errors(module);
  } catch (const det::python::PythonError&) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}

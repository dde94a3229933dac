#include <pybind11/functional.h>

#include <functional>

#include "det/agent/shim/shim.h"
#include "runtime.h"

namespace det::python {
namespace {

/// Never releases the interpreter's lock: the fork of a process has only the
/// thread that forked, and `task` runs in a fork of this one.
int run_shim(const std::string& directory, const py::function& task) {
  return agent::run_shim(directory, [&]() -> int {
    PyOS_AfterFork_Child();
    try {
      return task().cast<int>();
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_SystemExit)) {
        const auto code = error.value().attr("code");
        if (code.is_none()) return 0;
        if (py::isinstance<py::int_>(code)) return code.cast<int>();
      }
      error.restore();
      PyErr_Print();
      return 1;
    }
  });
}

}  // namespace
}  // namespace det::python

PYBIND11_MODULE(_runtime, module) {
  module.doc() = "The trial runtime in C++; determined/_runtime_api.py says what it promises.";
  det::python::bind_errors(module);
  det::python::bind_plan(module);
  det::python::bind_client(module);
  det::python::bind_storage(module);
  module.def("run_shim", &det::python::run_shim, pybind11::arg("directory"), pybind11::arg("task"),
             "Becomes the shim of a task directory and returns its exit status when the task has ended; see "
             "det/agent/shim/shim.h.");
}

#include <pybind11/stl.h>

#include <cstdlib>

#include "det/trial/client.h"
#include "runtime.h"

namespace det::python {

using trial::Client;

namespace {

/// Lets Ctrl-C and other signals end a call that waits.
void check_signals() {
  const py::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Ending the threads of a client takes a moment in which other Python threads go on.
struct DeleteWithoutLock {
  void operator()(Client* client) const {
    const py::gil_scoped_release released;
    delete client;
  }
};
using ClientHolder = std::unique_ptr<Client, DeleteWithoutLock>;

ClientHolder from_environment() {
  auto options = unwrap(trial::options_from_environment([](const char* name) { return std::getenv(name); }));
  options.poll = check_signals;
  return ClientHolder(new Client(std::move(options)));
}

std::chrono::milliseconds milliseconds_of(double timeout_seconds) {
  if (!(timeout_seconds >= 0 && timeout_seconds < 1e6))
    throw py::value_error(fmt::format("timeout_seconds is {}; must be from 0 to 1000000", timeout_seconds));
  return std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
}

trial::Operations operations(Client& client, std::int64_t known, double timeout_seconds) {
  const auto timeout = milliseconds_of(timeout_seconds);
  return blocking([&] { return client.operations(known, timeout); });
}

void report_training(Client& client, std::int64_t batches, std::string_view average,
                     std::string_view each_batch, std::int64_t records) {
  blocking([&]() -> Result<void> {
    DET_TRY(auto averages, read_object(average, "avg_metrics_json"));
    DET_TRY(auto all, read_array(each_batch, "batch_metrics_json"));
    return client.report_training(batches, std::move(averages), std::move(all), records);
  });
}

void report_validation(Client& client, std::int64_t batches, std::string_view metrics, std::int64_t records) {
  blocking([&]() -> Result<void> {
    DET_TRY(auto values, read_object(metrics, "metrics_json"));
    return client.report_validation(batches, std::move(values), records);
  });
}

void report_checkpoint(Client& client, const std::string& uuid, std::int64_t batches,
                       const std::map<std::string, std::int64_t>& resources, std::string_view metadata) {
  blocking([&]() -> Result<void> {
    DET_TRY(auto values, read_object(metadata, "metadata_json"));
    return client.report_checkpoint(uuid, batches, resources, std::move(values));
  });
}

}  // namespace

void bind_client(py::module_& module) {
  py::class_<trial::Operations>(module, "Operations", "The searcher's demands so far.")
      .def_readonly("lengths", &trial::Operations::lengths)
      .def_readonly("completed", &trial::Operations::completed)
      .def_readonly("closed", &trial::Operations::closed);

  py::class_<Client, ClientHolder>(module, "Client",
                                   "What a trial process says to its master and hears from it.")
      .def_static("from_environment", &from_environment)
      .def("operations", &operations, py::arg("known"), py::arg("timeout_seconds"))
      .def(
          "complete_operation",
          [](Client& c, std::int64_t length, double metric) {
            blocking([&] { return c.complete_operation(length, metric); });
          },
          py::arg("length"), py::arg("metric"))
      .def("report_training", &report_training, py::arg("batches"), py::arg("avg_metrics_json"),
           py::arg("batch_metrics_json"), py::arg("records") = 0)
      .def("report_validation", &report_validation, py::arg("batches"), py::arg("metrics_json"),
           py::arg("records") = 0)
      .def(
          "report_progress",
          [](Client& c, double fraction) { blocking([&] { return c.report_progress(fraction); }); },
          py::arg("fraction"))
      .def(
          "report_state",
          [](Client& c, const std::string& state) { blocking([&] { return c.report_state(state); }); },
          py::arg("state"))
      .def(
          "report_environment",
          [](Client& c, int rank, std::string_view environment) {
            blocking([&]() -> Result<void> {
              DET_TRY(auto values, read_object(environment, "environment_json"));
              return c.report_environment(rank, std::move(values));
            });
          },
          py::arg("rank"), py::arg("environment_json"))
      .def(
          "begin_checkpoint",
          [](Client& c, const std::string& uuid) { blocking([&] { return c.begin_checkpoint(uuid); }); },
          py::arg("uuid"))
      .def("report_checkpoint", &report_checkpoint, py::arg("uuid"), py::arg("batches"), py::arg("resources"),
           py::arg("metadata_json"))
      .def(
          "report_early_exit",
          [](Client& c, const std::string& reason) { blocking([&] { return c.report_early_exit(reason); }); },
          py::arg("reason"))
      .def("preempt_requested", [](Client& c) { return unwrap(c.preempt_requested()); })
      .def(
          "acknowledge_preemption",
          [](Client& c, bool can_wait) { blocking([&] { return c.acknowledge_preemption(can_wait); }); },
          py::arg("can_wait") = false)
      .def(
          "wish",
          [](Client& c, double timeout_seconds) {
            const auto timeout = milliseconds_of(timeout_seconds);
            switch (blocking([&] { return c.wish(timeout); })) {
              case Client::Wish::Wait: return "wait";
              case Client::Wish::GoOn: return "go_on";
              case Client::Wish::Leave: break;
            }
            return "leave";
          },
          py::arg("timeout_seconds"))
      .def("best_validation", [](Client& c) { return blocking([&] { return c.best_validation(); }); })
      .def(
          "publish_rendezvous",
          [](Client& c, const std::vector<std::string>& addresses) {
            blocking([&] { return c.publish_rendezvous(addresses); });
          },
          py::arg("addresses"))
      .def(
          "rendezvous",
          [](Client& c, double timeout_seconds) {
            const auto timeout = milliseconds_of(timeout_seconds);
            return blocking([&] { return c.rendezvous(timeout); });
          },
          py::arg("timeout_seconds"))
      .def("flush", [](Client& c) { blocking([&] { return c.flush(); }); })
      .def("close", [](Client& c) { blocking([&] { return c.close(); }); });
}

}  // namespace det::python

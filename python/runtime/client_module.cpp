#include <fmt/format.h>

#include <cstdlib>

#include "det/trial/client.h"
#include "runtime.h"

namespace det::python {

namespace {

struct Client : trial::Client {
  static constexpr const char* kHandle = "det.Client";
  using trial::Client::Client;
};

/// Lets Ctrl-C and other signals end a call that waits.
void check_signals() {
  const auto state = PyGILState_Ensure();
  const int interrupted = PyErr_CheckSignals();
  PyGILState_Release(state);
  if (interrupted != 0) throw PythonError{};
}

std::chrono::milliseconds seconds(Arguments& arguments) {
  const auto timeout = arguments.number();
  if (!(timeout >= 0 && timeout < 1e6))
    throw_value_error(fmt::format("timeout_seconds is {}; must be from 0 to 1000000", timeout));
  return std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1000));
}

PyObject* from_environment(Arguments&) {
  auto options = unwrap(trial::options_from_environment([](const char* name) { return std::getenv(name); }));
  options.poll = check_signals;
  return handle_of(std::make_unique<Client>(std::move(options)));
}

PyObject* operations(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto known = arguments.integer();
  const auto timeout = seconds(arguments);
  const auto found = blocking([&] { return client.operations(known, timeout); });
  return tuple_of(found.lengths, found.completed, found.closed);
}

void complete_operation(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto length = arguments.integer();
  const auto metric = arguments.number();
  blocking([&] { return client.complete_operation(length, metric); });
}

void report_training(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto batches = arguments.integer();
  const auto average = arguments.text();
  const auto each_batch = arguments.text();
  const auto records = arguments.integer();
  blocking([&]() -> Result<void> {
    DET_TRY(auto averages, read_object(average, "avg_metrics_json"));
    DET_TRY(auto all, read_array(each_batch, "batch_metrics_json"));
    return client.report_training(batches, std::move(averages), std::move(all), records);
  });
}

void report_validation(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto batches = arguments.integer();
  const auto metrics = arguments.text();
  const auto records = arguments.integer();
  blocking([&]() -> Result<void> {
    DET_TRY(auto values, read_object(metrics, "metrics_json"));
    return client.report_validation(batches, std::move(values), records);
  });
}

void report_progress(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto fraction = arguments.number();
  blocking([&] { return client.report_progress(fraction); });
}

void report_state(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto state = arguments.text();
  blocking([&] { return client.report_state(state); });
}

void report_environment(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto rank = static_cast<int>(arguments.integer());
  const auto environment = arguments.text();
  blocking([&]() -> Result<void> {
    DET_TRY(auto values, read_object(environment, "environment_json"));
    return client.report_environment(rank, std::move(values));
  });
}

void begin_checkpoint(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto uuid = arguments.text();
  blocking([&] { return client.begin_checkpoint(uuid); });
}

void report_checkpoint(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto uuid = arguments.text();
  const auto batches = arguments.integer();
  const auto resources = arguments.sizes();
  const auto metadata = arguments.text();
  blocking([&]() -> Result<void> {
    DET_TRY(auto values, read_object(metadata, "metadata_json"));
    return client.report_checkpoint(uuid, batches, resources, std::move(values));
  });
}

void report_early_exit(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto reason = arguments.text();
  blocking([&] { return client.report_early_exit(reason); });
}

PyObject* preempt_requested(Arguments& arguments) {
  return to_python(unwrap(arguments.behind<Client>().preempt_requested()));
}

void acknowledge_preemption(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto can_wait = arguments.truth();
  blocking([&] { return client.acknowledge_preemption(can_wait); });
}

PyObject* wish(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto timeout = seconds(arguments);
  switch (blocking([&] { return client.wish(timeout); })) {
    case Client::Wish::Wait: return to_python("wait");
    case Client::Wish::GoOn: return to_python("go_on");
    case Client::Wish::Leave: break;
  }
  return to_python("leave");
}

PyObject* best_validation(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  return to_python(blocking([&] { return client.best_validation(); }));
}

void publish_rendezvous(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto addresses = arguments.texts();
  blocking([&] { return client.publish_rendezvous(addresses); });
}

PyObject* rendezvous(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  const auto timeout = seconds(arguments);
  return to_python(blocking([&] { return client.rendezvous(timeout); }));
}

void flush(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  blocking([&] { return client.flush(); });
}

void close(Arguments& arguments) {
  auto& client = arguments.behind<Client>();
  blocking([&] { return client.close(); });
}

}  // namespace

// In the order of determined._runtime_api.Client.
const std::vector<PyMethodDef> kClientMethods = {
    {"client_from_environment", call<from_environment>, METH_VARARGS, nullptr},
    {"client_operations", call<operations>, METH_VARARGS, nullptr},
    {"client_complete_operation", call<complete_operation>, METH_VARARGS, nullptr},
    {"client_report_training", call<report_training>, METH_VARARGS, nullptr},
    {"client_report_validation", call<report_validation>, METH_VARARGS, nullptr},
    {"client_report_progress", call<report_progress>, METH_VARARGS, nullptr},
    {"client_report_state", call<report_state>, METH_VARARGS, nullptr},
    {"client_report_environment", call<report_environment>, METH_VARARGS, nullptr},
    {"client_begin_checkpoint", call<begin_checkpoint>, METH_VARARGS, nullptr},
    {"client_report_checkpoint", call<report_checkpoint>, METH_VARARGS, nullptr},
    {"client_report_early_exit", call<report_early_exit>, METH_VARARGS, nullptr},
    {"client_preempt_requested", call<preempt_requested>, METH_VARARGS, nullptr},
    {"client_acknowledge_preemption", call<acknowledge_preemption>, METH_VARARGS, nullptr},
    {"client_wish", call<wish>, METH_VARARGS, nullptr},
    {"client_best_validation", call<best_validation>, METH_VARARGS, nullptr},
    {"client_publish_rendezvous", call<publish_rendezvous>, METH_VARARGS, nullptr},
    {"client_rendezvous", call<rendezvous>, METH_VARARGS, nullptr},
    {"client_flush", call<flush>, METH_VARARGS, nullptr},
    {"client_close", call<close>, METH_VARARGS, nullptr},
};

}  // namespace det::python

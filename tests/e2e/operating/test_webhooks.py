"""Webhooks, and what Prometheus reads: real processes, a server that fails and hangs, kill -9 of the master between."""

import hashlib
import hmac
import time

import pytest
import yaml
from cluster import wait_until
from prometheus_client.parser import text_string_to_metric_families
from receiver import Receiver

KEY = "a key of ours"


@pytest.fixture
def receiver():
    it = Receiver()
    yield it
    it.close()


@pytest.fixture
def cluster(start, tmp_path):
    settings = {"signing_key": KEY, "base_url": "https://det.example.com", "allowed_addresses": ["127.0.0.0/8"]}
    (tmp_path / "master.yaml").write_text(yaml.safe_dump({"webhooks": settings}))
    return start(options=["--slots", "1", "--config-file", str(tmp_path / "master.yaml")])


def log_in_as_admin(cluster):
    cluster.get("me")
    cluster.token = cluster.get("auth/login", "POST", {"username": "admin", "password": ""})["token"]


def webhook(cluster, url, *triggers, **more):
    described = [{"triggerType": f"TRIGGER_TYPE_{kind}", "condition": condition} for kind, condition in triggers]
    body = {"url": url, "webhookType": "WEBHOOK_TYPE_DEFAULT", "triggers": described, "name": "", **more}
    return cluster.get("webhooks", "POST", body)["webhook"]["id"]


def test_a_server_that_fails_and_hangs_hears_of_every_end_though_the_master_is_killed(cluster, receiver, noisy):
    log_in_as_admin(cluster)
    webhook(cluster, receiver.url, ("EXPERIMENT_STATE_CHANGE", {"state": "COMPLETED"}))
    receiver.answers = [500, "hang"]
    ids = [cluster.create(noisy), cluster.create(noisy)]
    cluster.wait_for_state(ids[0], "COMPLETED")
    wait_until(lambda: len(receiver.got) >= 2, "a call that hangs")
    cluster.master.kill()  # while the server hangs
    cluster.start_master()
    for id in ids:
        cluster.wait_for_state(id, "COMPLETED")

    def told():
        return {document["event_data"]["experiment"]["id"] for document in receiver.documents()[2:]} == set(ids)

    wait_until(told, "both ends told")
    documents = receiver.documents()
    by_experiment = {}
    for document in documents:
        by_experiment.setdefault(document["event_data"]["experiment"]["id"], set()).add(document["event_id"])
    assert {id: len(events) for id, events in by_experiment.items()} == dict.fromkeys(ids, 1), "one id an event"
    for headers, body in receiver.got:
        signed = headers["X-Determined-AI-Signature-Timestamp"].encode() + b"," + body
        assert headers["X-Determined-AI-Signature"] == hmac.new(KEY.encode(), signed, hashlib.sha256).hexdigest()
    wait_until(lambda: "det_webhook_pending 0\n" in cluster.text("/metrics"), "nothing under way")
    count = len(receiver.got)
    cluster.master.kill()
    cluster.start_master()
    time.sleep(2)
    assert len(receiver.got) == count, "what was taken is not told again"


def test_a_line_of_a_log_and_an_alert_are_told(cluster, receiver, tmp_path):
    log_in_as_admin(cluster)
    webhook(cluster, receiver.url, ("TASK_LOG", {"regex": "disk .* full"}))
    webhook(cluster, receiver.url, ("CUSTOM", {}), name="mine", mode="WEBHOOK_MODE_SPECIFIC")
    webhook(cluster, receiver.url, ("CUSTOM", {}), name="others", mode="WEBHOOK_MODE_SPECIFIC")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "script.py").write_text(
        "import determined as det\n"
        "with det.core.init() as context:\n"
        "    for _ in range(3): print('disk sda is nearly full', flush=True)\n"
        "    context.alert('look', 'at this', level='WARNING')\n"
        "    for op in context.searcher.operations(): op.report_completed(1.0)\n"
    )
    (tmp_path / "model" / "const.yaml").write_text(
        "name: alerts\nentrypoint: python3 script.py\nmax_restarts: 0\n"
        "searcher: {name: single, metric: loss, max_length: {batches: 1}}\n"
        "integrations: {webhooks: {webhook_name: [mine]}}\n"
    )
    id = cluster.create(tmp_path / "model")
    cluster.wait_for_state(id, "COMPLETED")
    wait_until(lambda: len(receiver.got) >= 2, "two deliveries")
    time.sleep(1)
    line, alert = sorted(receiver.documents(), key=lambda document: document["event_type"], reverse=True)
    assert line["event_type"] == "TASK_LOG"
    assert line["event_data"]["task_log"]["triggering_log"] == "disk sda is nearly full"
    assert alert["event_data"]["custom_data"] == {
        "title": "look",
        "description": "at this",
        "level": "LOG_LEVEL_WARNING",
    }
    assert alert["event_data"]["experiment"]["id"] == id


def test_prometheus_reads_what_the_master_counts(cluster, noisy):
    id = cluster.create(noisy)
    cluster.wait_for_state(id, "COMPLETED")

    def samples(path):
        text = cluster.text(path)
        found = {}
        for family in text_string_to_metric_families(text):
            assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
            for sample in family.samples:
                key = (sample.name, tuple(sorted(sample.labels.items())))
                assert key not in found, f"{key} twice"
                found[key] = sample.value
        return found

    found = samples("/metrics")
    assert found["det_experiments", (("state", "COMPLETED"),)] == 1
    assert found["det_log_lines_total", ()] > 0 and found["det_metric_reports_total", ()] > 0
    assert found["det_store_commit_duration_seconds_count", ()] > 10
    assert found["process_resident_memory_bytes", ()] > 1e6 and found["process_cpu_seconds_total", ()] > 0
    assert abs(found["process_start_time_seconds", ()] - time.time()) < 3600
    assert sum(v for (name, _), v in found.items() if name == "det_slots") == 1
    again = samples("/debug/prom/metrics")
    assert all(again[key] >= value for key, value in found.items() if key[0].endswith(("_total", "_count", "_bucket")))
    assert "det_container_id_allocation_id" in cluster.text("/prom/det-state-metrics")
    samples("/prom/det-state-metrics")

"""Speaks to a Ray cluster for the master, in the Python that has Ray.

Each line of standard input is a request, and each line of standard output its answer: {"jobs": …}, {"id": …} or
{"error": words, "silent": whether Ray did not answer}. Ends with its standard input, and when Ray no longer answers.

An allotment is a detached placement group of its name, with a detached actor on each node. Actors are named
NAME.NODE.GROUP, where GROUP begins the id of the placement group.
"""

import contextlib
import json
import os
import queue
import re
import socket
import sys
import threading
import time

NAMESPACE = "det"
GRACE = 30  # seconds from asking a pilot to leave until it is killed
REMEMBERED = 600  # seconds for which an allotment that has ended is listed
KEPT = re.compile(r"RAY_|PYTHON|OMP_NUM_THREADS$|VIRTUAL_ENV$|DET_")  # of Ray's worker, not for a pilot


class Silent(Exception):
    """Ray does not answer."""


class Refused(Exception):
    """Ray answered, and will not."""


class Pilot:
    """The actor on a node. It lives as long as its pilot."""

    def __init__(self, keeper, work):
        import subprocess

        import ray

        self.me = ray.get_runtime_context().current_actor
        self.link, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if not KEPT.match(name)}
        work["environment"] = environment | work["environment"]
        started = subprocess.Popen(
            [sys.executable, "-c", keeper], stdin=theirs, cwd="/", env=environment, start_new_session=True
        )
        theirs.close()
        started.wait()
        self.link.sendall((json.dumps(work) + "\n").encode())
        threading.Thread(target=self._watch, args=(work["actor"],), daemon=True).start()

    def end(self, seconds):
        """Gives the pilot so long to leave."""
        with contextlib.suppress(OSError):
            self.link.sendall((json.dumps({"end": seconds}) + "\n").encode())

    def leave(self):
        import ray

        ray.actor.exit_actor()

    def _watch(self, name):
        from ray.experimental import internal_kv

        text = b"".join(iter(lambda: self.link.recv(65536), b""))
        with contextlib.suppress(Exception):
            internal_kv._internal_kv_put(name.encode(), text, namespace=NAMESPACE.encode())
            self.me.leave.remote()
        time.sleep(10)
        os._exit(0)


class Helper:
    def __init__(self):
        self.ray = self.address = None
        self.ended = {}  # when a job was first seen to have ended, by id

    def connect(self, request):
        if self.ray is None:
            self.address = address_of(request["address"])
            knock(self.address)
            try:
                import ray
            except ImportError as error:
                raise Refused(
                    f"{sys.executable} cannot import ray ({error}); install it there with pip, or name a Python that "
                    "has it in provider.python"
                ) from error
            try:
                ray.init(
                    address=self.address or "auto", namespace=NAMESPACE, log_to_driver=False, configure_logging=False
                )
            except Exception as error:
                if "mismatch" in str(error):
                    raise Refused(first_line(error)) from error
                raise Silent(first_line(error)) from error
            self.ray = ray
        else:
            knock(self.address)

    def check(self, request):
        return {}

    def submit(self, request):
        from ray.util import get_placement_group, placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        name, bundle = request["name"], request["bundle"]
        try:
            group = placement_group(
                [bundle] * request["nodes"], strategy="STRICT_SPREAD", lifetime="detached", name=name
            )
        except (ValueError, TypeError) as error:
            raise Refused(first_line(error)) from error
        except Exception as error:
            if "already exists" not in str(error):
                raise
            group = get_placement_group(name)
        others = {key: value for key, value in bundle.items() if key not in ("CPU", "GPU")}
        for node in range(request["nodes"]):
            actor = f"{name}.{node}.{group.id.hex()[:8]}"
            work = request["work"] | {"name": f"{name}.{node}", "actor": actor}
            work["environment"] = work["environment"] | {"DET_NODE": str(node)}
            self.ray.remote(Pilot).options(
                name=actor,
                namespace=NAMESPACE,
                lifetime="detached",
                get_if_exists=True,
                max_restarts=0,
                num_cpus=bundle.get("CPU", 0),
                num_gpus=bundle.get("GPU", 0),
                resources=others,
                scheduling_strategy=PlacementGroupSchedulingStrategy(group, node),
            ).remote(request["keeper"], work)
        return {"id": group.id.hex()}

    def list(self, request):
        actors = self.actors(request["prefix"])
        jobs = []
        for id, group in self.groups(request["prefix"]).items():
            job = self.job(id, group, actors.get((group["name"], id[:8]), []))
            if job is not None:
                jobs.append(job)
        return {"jobs": jobs}

    def job(self, id, group, actors):
        job = {"name": group["name"], "id": id}
        size, removed = len(group["bundles"]), group["state"] == "REMOVED"
        dead = [actor for actor in actors if actor["State"] == "DEAD"]
        if removed or dead:
            if not removed:
                self.remove(group["name"])  # a gang that has lost a node gives back the others
            seen = self.ended.setdefault(id, time.monotonic())
            if time.monotonic() - seen > REMEMBERED:
                return None
            dead.sort(key=lambda actor: actor["EndTime"])
            why = self.death_of(dead[0]) if dead else "its placement group was removed"
            return job | {"state": "ended", "reason": why}
        if len(actors) < size:  # whoever submitted it was killed meanwhile
            self.remove(group["name"])
            return None
        if group["state"] == "CREATED":  # the machines are ours
            started = max(actor["StartTime"] for actor in actors) // 1000
            all_run = all(actor["State"] == "ALIVE" for actor in actors)
            reason = "the actors are running" if all_run else "the actors are starting"
            return job | {"state": "running", "reason": reason} | ({"started": started} if started else {})
        return job | {"state": "pending", "reason": why_pending(group)}

    def cancel(self, request):
        for job in request["jobs"]:
            actors = self.actors(job["name"] + ".").get((job["name"], job["id"][:8]), [])
            alive = [actor for actor in actors if actor["State"] == "ALIVE"]
            for actor in alive:
                with contextlib.suppress(ValueError):
                    self.ray.get_actor(actor["Name"], namespace=NAMESPACE).end.remote(GRACE)
            if not alive:
                self.remove(job["name"])
        return {}

    def groups(self, prefix):
        table = self.ray.util.placement_group_table()
        return {id: group for id, group in table.items() if group["name"].startswith(prefix)}

    def actors(self, prefix):
        """Actors by the name of their job and the beginning of their group's id."""
        from ray._private import state

        found = {}
        for actor in state.actors().values():
            if actor["Name"].startswith(prefix) and actor["Name"].count(".") >= 2:
                name, _, group = actor["Name"].rsplit(".", 2)
                found.setdefault((name, group), []).append(actor)
        return found

    def remove(self, name):
        from ray.util import get_placement_group, remove_placement_group

        with contextlib.suppress(ValueError):
            remove_placement_group(get_placement_group(name))

    def death_of(self, actor):
        from ray.experimental import internal_kv

        text = internal_kv._internal_kv_get(actor["Name"].encode(), namespace=NAMESPACE.encode())
        if text:
            end = json.loads(text)
            return "the pilot left" if end["code"] == 0 else f"the pilot ended with {end['code']}: {end['last']}"
        return cause_of_death(str(actor["DeathCause"]))


def cause_of_death(text):
    """What people want to know of Ray's record."""
    message = re.search(r'(?:error_message|death_message|reason_message): "((?:[^"\\]|\\.)*)"', text or "")
    return "an actor died: " + (
        message.group(1) if message else " ".join((text or "Ray does not say why").split())[:300]
    )


def why_pending(group):
    state = group["stats"].get("scheduling_state", "")
    wanted = (
        ", ".join(f"{amount:g} {what}" for what, amount in sorted(next(iter(group["bundles"].values())).items()))
        or "nothing"
    )
    size = len(group["bundles"])
    nodes = "a node" if size == 1 else f"{size} nodes"
    if state == "INFEASIBLE":
        return f"the placement group is pending: the cluster does not have {nodes} with {wanted} (INFEASIBLE)"
    if state == "NO_RESOURCES":
        return f"the placement group is pending: {nodes} with {wanted} is not free now (NO_RESOURCES)"
    return f"the placement group is {group['state'].lower()}" + (f" ({state})" if state else "")


def address_of(address):
    """HOST:PORT of the head; empty: Ray knows."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "auto")
    if address == "auto":
        directory = os.environ.get("RAY_TMPDIR", "/tmp/ray")
        with contextlib.suppress(OSError), open(os.path.join(directory, "ray_current_cluster")) as file:
            address = file.read().strip()
    return "" if address == "auto" else address


def knock(address):
    """Ray itself would try for a minute."""
    if not address:
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=3).close()
    except (OSError, ValueError) as error:
        raise Silent(f"no head at {address}: {getattr(error, 'strerror', None) or error}") from error


def first_line(error):
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:500]


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Ray writes to standard output
    requests = queue.SimpleQueue()

    def read():
        for line in sys.stdin:
            requests.put(json.loads(line))
        os._exit(0)  # the master is gone, or wants no more

    threading.Thread(target=read, daemon=True).start()
    helper = Helper()
    while True:
        request = requests.get()
        try:
            helper.connect(request)
            answer = getattr(helper, request["op"])(request)
        except Refused as error:
            answer = {"error": str(error)}
        except Exception as error:
            answer = {"error": first_line(error), "silent": True}
        answers.write(json.dumps(answer) + "\n")
        if answer.get("silent"):
            os._exit(1)  # a new process connects anew


if __name__ == "__main__":
    main()

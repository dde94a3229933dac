"""A real Slurm on one machine: controller, nodes and munge as processes of the test, without systemd.

    with Slurm() as slurm:
        job = slurm.submit("hostname", "--partition=main")
        slurm.wait_for_state(job, "COMPLETED")

It needs root and the packages that tools/setup.sh installs. Two of them do not meet: each has its own directory, key,
ports and names of nodes.
"""

import contextlib
import dataclasses
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile

from cluster import wait_until
from ports import free_ports
from reaped import end_reaped, start_reaped

COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "srun")
USER = "det-tests"  # an ordinary account: no administrator of Slurm or of the machine
FIELDS = {
    "id": "JobID",
    "state": "State",
    "reason": "Reason",
    "partition": "Partition",
    "user": "UserName",
    "nodes": "NodeList",
    "restarts": "RestartCnt",
    "start": "StartTime",
    "end": "EndTime",
    "exit_code": "exit_code",
    "name": "Name",
}
CONTROLLER = """
ClusterName=det
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=cred_expire=5,socket={root}/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0
GresTypes=gpu
ReturnToService=2
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/%n.pid
SlurmctldLogFile={root}/log/slurmctld.log
SlurmdLogFile={root}/log/%n.log
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
JobSubmitPlugins=lua
KillWait=2
MessageTimeout=10
SlurmdTimeout=10
MinJobAge={keep}
"""
# As a site that accounts jobs to projects does: it knows the account `lab`, and takes jobs without an account.
SUBMISSION = """
function slurm_job_submit(job, partitions, user)
  if job.account ~= nil and job.account ~= "lab" then
    return {invalid_account}
  end
  return slurm.SUCCESS
end
function slurm_job_modify(job, old, partitions, user)
  return slurm.SUCCESS
end
return slurm.SUCCESS
"""
INVALID_ACCOUNT = 2045  # ESLURM_INVALID_ACCOUNT of slurm_errno.h


def unavailable():
    """Why this machine cannot run a Slurm, or nothing."""
    if os.geteuid() != 0:
        return "only root can start the nodes of a Slurm"
    missing = [program for program in ("slurmctld", "slurmd", "sbatch", "munged") if not shutil.which(program)]
    return f"tools/setup.sh installs {', '.join(missing)}" if missing else ""


@dataclasses.dataclass
class Job:
    """One line of squeue."""

    id: int
    name: str
    state: str
    reason: str
    partition: str
    user: str
    nodes: str
    restarts: int
    start: str
    end: str
    exit_code: int


class Slurm:
    """``keep``: seconds that the controller remembers a job that has ended (MinJobAge)."""

    def __init__(self, nodes=4, cpus=2, gpus=2, keep=300):
        self.names = [f"node{number}" for number in range(1, nodes + 1)]
        self.cpus, self.gpus, self.keep = cpus, gpus, keep
        self.root = None
        self.processes = {}  # by name: reaper.py above munged, slurmctld or a slurmd

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()

    def up(self):
        assert not unavailable(), unavailable()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="slurm."))
        try:
            self._write()
            self._run("munged", "--foreground", *(f"--{option}" for option in self._munge_options()))
            self._wait_for("munged", (self.root / "munge" / "socket").exists)
            self.start_controller()
            for name in self.names:
                self.start_node(name)
            wait_until(lambda: set(self.node_states().values()) == {"idle"}, "idle nodes")
        except BaseException:
            self.down()
            raise
        return self

    def down(self):
        """Ends every process, those of jobs too, and removes the directory."""
        for name in list(self.processes):
            self._end(name)
        if self.root:
            shutil.rmtree(self.root, ignore_errors=True)
            self.root = None

    # For those who use Slurm as a site does.

    def environment(self, user=None):
        """For programs that run Slurm's commands; these are counted. ``user``: for a process of that account."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "DET"))}
        kept |= {"SLURM_CONF": str(self.root / "slurm.conf"), "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        if user:
            account = account_of(user)
            kept.pop("TMPDIR", None)  # ours may be closed to that account
            kept |= {"HOME": account.pw_dir, "USER": user, "LOGNAME": user}
        return kept

    def calls(self, since=0.0):
        """The calls of Slurm's commands by those who run in environment(): (time, words)."""
        lines = (line.split(" ", 1) for line in (self.root / "calls").read_text(errors="replace").splitlines())
        return [(float(when), words) for when, words in lines if float(when) >= since]

    def run(self, *words, user=None, stdin=None, counted=False):
        """Runs one of Slurm's commands; the finished process."""
        environment = self.environment(user)
        if not counted:
            environment["PATH"] = os.environ["PATH"]
        return subprocess.run(
            list(map(str, words)),
            env=environment,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            **as_user(user),
        )

    def submit(self, script, *options, user=None):
        """`sbatch` of a shell script; the id of the job. Its output is in output(job)."""
        output = f"--output={self.root}/output/%j"
        done = self.run("sbatch", "--parsable", output, *options, user=user, stdin=f"#!/bin/bash\n{script}\n")
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split(";")[0])

    def output(self, job):
        path = self.root / "output" / str(job)
        return path.read_text(errors="replace") if path.exists() else ""

    def jobs(self):
        """All jobs that the controller remembers, by id."""
        layout = ",".join(f"{field}:\x1f" for field in FIELDS.values())
        said = self._ask("squeue", "--all", "--states=all", "--noheader", f"--Format={layout}")
        rows = [dict(zip(FIELDS, line.split("\x1f"), strict=False)) for line in said.splitlines()]
        for row in rows:
            row |= {number: int(row[number]) for number in ("id", "restarts", "exit_code")}
        return {row["id"]: Job(**row) for row in rows}

    def job(self, id):
        return self.jobs().get(id)

    def wait_for_state(self, id, *states, seconds=60):
        def there():
            job = self.job(id)
            return job if job and job.state in states else None

        return self.wait_until(there, f"job {id} in {states}", seconds)

    def wait_until(self, condition, what, seconds=60):
        """The first true value of ``condition()``; where it never comes, the error says what Slurm does."""
        try:
            return wait_until(condition, what, seconds)
        except AssertionError as error:
            error.add_note(self._ask("squeue", "--all", "--states=all") + self._ask("sinfo", "--Node"))
            raise

    def cancel(self, job):
        self._ask("scancel", job)

    # What happens to a site.

    def node_states(self):
        said = self._ask("sinfo", "--noheader", "--Node", "--partition=main", "--format=%N %T", code=None)
        return dict(line.split() for line in said.splitlines())

    def start_node(self, name):
        self._run("slurmd", "-D", "-N", name, "-f", self.root / "slurm.conf", name=name)

    def kill_node(self, name, noticed=False):
        """The machine is gone: its slurmd and all processes of jobs. The controller sees it after about half a minute,
        or now (``noticed``)."""
        self._end(name)
        if noticed:
            self._ask("scontrol", "update", f"nodename={name}", "state=down", "reason=killed")

    def resume_node(self, name):
        self._ask("scontrol", "update", f"nodename={name}", "state=resume")

    def drain(self, name):
        self._ask("scontrol", "update", f"nodename={name}", "state=drain", "reason=maintenance")

    def set_partition(self, name, state):
        """``state``: up, down, drain or inactive."""
        self._ask("scontrol", "update", f"partitionname={name}", f"state={state}")

    def requeue(self, job):
        self._ask("scontrol", "requeue", job)

    def start_controller(self):
        self._run("slurmctld", "-D", "-i", "-f", self.root / "slurm.conf")
        self._wait_for("slurmctld", lambda: self.run("scontrol", "ping").returncode == 0)

    def stop_controller(self):
        """As for maintenance: no command gets an answer until start_controller(); jobs go on."""
        os.kill(self.pids("slurmctld")[0], signal.SIGTERM)
        self.processes.pop("slurmctld").wait()

    def pids(self, name):
        """All processes of a node (or of slurmctld)."""
        found = [self.processes[name].pid]
        for parent in found:
            for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    found += map(int, task.read_text().split())
        return found[1:]

    # How it is made.

    def _write(self):
        root = self.root
        root.chmod(0o755)
        for folder in ("munge", "state", "log", "run", "bin", "output", *(f"spool/{name}" for name in self.names)):
            (root / folder).mkdir(parents=True, mode=0o755)
        (root / "output").chmod(0o1777)
        (root / "calls").touch()
        (root / "calls").chmod(0o666)
        key = root / "munge" / "key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        host = socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + len(self.names))
        lines = [CONTROLLER.format(host=host, port=control, root=root, keep=self.keep)]
        resources = []
        for name, port in zip(self.names, ports, strict=True):
            lines.append(
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} RealMemory=4000"
                + (f" Gres=gpu:{self.gpus}" if self.gpus else "")
            )
            for number in range(self.gpus):
                device = root / "spool" / name / f"gpu{number}"
                os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
                resources.append(f"NodeName={name} Name=gpu File={device}")
        everything = f"Nodes={','.join(self.names)}"
        lines += [
            f"PartitionName=main {everything} Default=YES MaxTime=INFINITE State=UP",
            f"PartitionName=short {everything} MaxTime=1 State=UP",
            f"PartitionName=limited {everything} MaxNodes=1 MaxTime=INFINITE State=UP",
            f"PartitionName=down {everything} MaxTime=INFINITE State=DOWN",
        ]
        (root / "slurm.conf").write_text("\n".join(lines) + "\n")
        (root / "gres.conf").write_text("\n".join(resources) + "\n")
        (root / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (root / "job_submit.lua").write_text(SUBMISSION.format(invalid_account=INVALID_ACCOUNT))
        for command in COMMANDS:
            path = root / "bin" / command
            path.write_text(
                "#!/bin/bash\n"
                f'words="{command} $*"; printf \'%s %s\\n\' "$EPOCHREALTIME" "${{words//$\'\\n\'/ }}" >>{root}/calls\n'
                f'exec {shutil.which(command)} "$@"\n'
            )
            path.chmod(0o755)

    def _munge_options(self):
        place = self.root / "munge"
        files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        return (f"{option}={place / file}" for option, file in files.items())

    def _run(self, program, *words, name=None):
        name = name or program
        assert name not in self.processes, f"{name} runs already"
        command = [shutil.which(program), *words]
        self.processes[name] = start_reaped(command, self.root / "log" / f"{name}.out", env=self.environment())

    def _wait_for(self, name, ready):
        def there():
            if self.processes[name].poll() is not None:
                raise AssertionError(f"{name} ended:\n{(self.root / 'log' / f'{name}.out').read_text()}")
            return ready()

        wait_until(there, f"an answer of {name}")

    def _end(self, name):
        end_reaped(self.processes.pop(name))

    def _ask(self, *words, code=0):
        done = self.run(*words)
        assert code is None or done.returncode == code, f"{words}: {done.stderr}"
        return done.stdout


def account_of(user):
    """An account of the machine, which is made where it is missing."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(user)
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", user], capture_output=True)
    return pwd.getpwnam(user)  # another run may have made it at the same time


def as_user(user):
    """Arguments of subprocess for a process of that account."""
    if not user:
        return {}
    account = account_of(user)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": account.pw_dir}

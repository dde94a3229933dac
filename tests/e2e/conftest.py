"""A cluster of real processes for every test; everything it started is gone when the test ends."""

import os

import original
import profiles
import pytest
import warm_zygote
from cluster import HERE, PYTHON, Cluster
from cxx import compiled_in

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin take the core from the test beside this one
LONG = (
    "test_libraries",
    "test_tutorial",
    "test_cxx_build",
    "test_webui",
    "test_tensorflow",
    "test_cxx_ranks",
    "test_cxx_examples",
    "test_matrix",
)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist are its children
        profiles.leave_out_profiles()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items):
    """Where several processes share the tests: the longest first; those that share a fixture of their file together."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
    for item in items:
        definitions = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
        if any(definition.scope == "module" for definition in definitions):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session", autouse=True)
def one_import_of_pytorch(tmp_path_factory):
    """Warm workers of all clusters of this run are forks of one process."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "zygote"
    place.mkdir(exist_ok=True)
    Cluster.python = warm_zygote.python_for(place, PYTHON)


@pytest.fixture
def start(tmp_path):
    """Starts clusters: ``start()`` is `det up`, ``start(apart=True)`` a `det master` and a `det agent`."""
    clusters = []

    def starter(**settings):
        cluster = Cluster(tmp_path / f"cluster{len(clusters)}", **settings)
        clusters.append(cluster)
        return cluster.start()

    yield starter
    for cluster in clusters:
        cluster.end()


@pytest.fixture(scope="module")
def cluster(request, tmp_path_factory):
    """`det up`, one for all tests of a file, with the OPTIONS that the file names."""
    it = Cluster(tmp_path_factory.mktemp("module") / "cluster", options=getattr(request.module, "OPTIONS", ())).start()
    yield it
    it.end()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """What clusters have compiled of trials in C++."""
    return compiled_in(tmp_path_factory)


@pytest.fixture(scope="session")
def original_client():
    """The directory of the programs of the original's client."""
    return original.install()


@pytest.fixture
def noisy():
    """The directory of the tiny model."""
    return HERE / "models" / "noisy"

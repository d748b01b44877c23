"""Fixtures: real flight-server processes over folders that the tests fill, and the public files.

The programs come from the environment: FLIGHT_SERVER_BIN and FLIGHT_BENCH_BIN.
"""

import os
import pathlib
import subprocess

import pytest

from servers import Server


def pytest_collection_modifyitems(items):
    if os.environ.get("FLIGHT_LONG") == "1":
        return
    skip = pytest.mark.skip(reason="did not run, because FLIGHT_LONG is not 1")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)


def _program(variable):
    path = os.environ.get(variable)
    if not path:
        pytest.fail(f"{variable} is unset; run the suite with `make test`, or name the program")
    if not os.access(path, os.X_OK):
        pytest.fail(f"{variable}={path} is no program; "
                    "build it: cargo build --profile e2e --workspace")
    return path


@pytest.fixture(scope="session")
def server_bin():
    """The path of flight-server."""
    return _program("FLIGHT_SERVER_BIN")


@pytest.fixture(scope="session")
def bench_bin():
    """The path of flight-bench."""
    return _program("FLIGHT_BENCH_BIN")


@pytest.fixture
def serve(server_bin):
    """Starts servers: `serve(folder, *arguments)`. At the end each must still be running."""
    servers = []

    def start(folder, *arguments, **options):
        server = Server(server_bin, folder, *arguments, **options)
        servers.append(server)
        return server

    yield start
    dead = [server for server in servers if not server.stopped and not server.running()]
    for server in servers:
        server.stop()
    for server in dead:
        pytest.fail(f"the server ended by itself ({server.code()}):\n{server.log()}")


@pytest.fixture
def data(tmp_path):
    """An empty folder to serve."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def corpus():
    """The folder of public test files that FLIGHT_CORPUS names."""
    folder = os.environ.get("FLIGHT_CORPUS")
    if not folder:
        pytest.skip("did not run, because FLIGHT_CORPUS is unset")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def certs(server_bin, tmp_path_factory):
    """A folder with development certificates of a fresh authority."""
    return make_certs(server_bin, tmp_path_factory.mktemp("certs"))


@pytest.fixture(scope="session")
def other_certs(server_bin, tmp_path_factory):
    """A folder with the certificates of another authority of the same names."""
    return make_certs(server_bin, tmp_path_factory.mktemp("other-certs"))


def make_certs(server_bin, folder, *arguments):
    """Runs `flight-server certs` into a new folder below `folder`."""
    out = folder / "out"
    subprocess.run(
        [server_bin, "certs", "--out", out, *arguments],
        check=True, timeout=60, stdout=subprocess.DEVNULL,
    )
    return out

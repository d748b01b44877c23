"""pyarrow connects over TLS: whom it trusts, whom it refuses, and what refuses to start."""

import socket
import ssl
import subprocess
import warnings

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from conftest import make_certs
from servers import path, read_all
from tables import assert_same, write_ipc

TABLE = pa.table({"id": pa.array(range(100_000), pa.int64())})
TLS = "grpc+tls://127.0.0.1:0"
REFUSED = (flight.FlightUnavailableError, pa.ArrowException)


@pytest.fixture
def serve_tls(serve, data):
    """Starts a server with one certificate of a folder over a dataset `x`."""
    write_ipc(data / "x.feather", TABLE.to_batches(max_chunksize=10_000))

    def start(folder, name, *arguments):
        return serve(data, "--tls-cert", folder / f"{name}.pem", "--tls-key",
                     folder / f"{name}.key", *arguments, listen=TLS)

    return start


def server_names(folder):
    return sorted(file.stem for file in folder.glob("server-*.pem"))


def get(server, **options):
    client = server.client(**options)
    return read_all(client, client.get_flight_info(path("x"), flight.FlightCallOptions(timeout=20)))


def test_certificates_of_every_kind_are_made_and_serve(serve_tls, server_bin, tmp_path):
    folder = make_certs(server_bin, tmp_path, "--key", "ec", "--key", "rsa", "--key", "ed25519")
    names = server_names(folder)
    assert len(names) == 3
    root = (folder / "ca.pem").read_bytes()
    for name in names:
        if "ed25519" in name:
            continue  # gRPC's C++ core, which pyarrow uses, offers no Ed25519 signatures.
        server = serve_tls(folder, name)
        assert server.endpoint.startswith("grpc+tls://127.0.0.1:")
        assert_same(get(server, tls_root_certs=root), TABLE)


def test_uploads_work_over_tls(serve_tls, certs):
    server = serve_tls(certs, "server-ec")
    client = server.client(tls_root_certs=(certs / "ca.pem").read_bytes())
    assert server.put("up", TABLE, client=client)["rows"] == TABLE.num_rows
    assert_same(read_all(client, client.get_flight_info(path("up"))), TABLE)


def test_the_name_localhost_is_certified_too(serve_tls, certs):
    server = serve_tls(certs, "server-ec")
    port = server.endpoint.rsplit(":", 1)[1]
    with flight.FlightClient(f"grpc+tls://localhost:{port}",
                             tls_root_certs=(certs / "ca.pem").read_bytes()) as client:
        assert_same(read_all(client, client.get_flight_info(path("x"))), TABLE)


def test_a_client_of_another_authority_refuses(serve_tls, certs, other_certs):
    server = serve_tls(certs, "server-ec")
    with pytest.raises(REFUSED):
        get(server, tls_root_certs=(other_certs / "ca.pem").read_bytes())
    assert_same(get(server, tls_root_certs=(certs / "ca.pem").read_bytes()), TABLE)


def test_a_client_that_expects_another_name_refuses(serve_tls, certs):
    server = serve_tls(certs, "server-ec")
    with pytest.raises(REFUSED):
        get(server, tls_root_certs=(certs / "ca.pem").read_bytes(),
            override_hostname="elsewhere.example")


def test_a_self_signed_server_is_trusted_by_its_own_certificate(serve_tls, server_bin, tmp_path):
    folder = make_certs(server_bin, tmp_path, "--self-signed")
    name = server_names(folder)[0]
    server = serve_tls(folder, name)
    assert_same(get(server, tls_root_certs=(folder / f"{name}.pem").read_bytes()), TABLE)
    assert_same(get(server, disable_server_verification=True), TABLE)


def test_a_self_signed_server_is_refused_by_who_does_not_know_it(
        serve_tls, certs, server_bin, tmp_path):
    folder = make_certs(server_bin, tmp_path, "--self-signed")
    server = serve_tls(folder, server_names(folder)[0])
    with pytest.raises(REFUSED):
        get(server, tls_root_certs=(certs / "ca.pem").read_bytes())


def test_plaintext_does_not_reach_a_tls_port_nor_tls_a_plaintext_port(
        serve, data, serve_tls, certs):
    secure = serve_tls(certs, "server-ec")
    plain = serve(data)
    root = (certs / "ca.pem").read_bytes()
    swapped = [(secure.endpoint.replace("grpc+tls", "grpc"), {}),
               (plain.endpoint.replace("grpc://", "grpc+tls://"), {"tls_root_certs": root})]
    for endpoint, options in swapped:
        with flight.FlightClient(endpoint, **options) as client, pytest.raises(REFUSED):
            client.get_flight_info(path("x"), flight.FlightCallOptions(timeout=10))


def test_old_tls_is_refused_and_12_and_13_are_spoken(serve_tls, certs):
    server = serve_tls(certs, "server-ec")
    port = int(server.endpoint.rsplit(":", 1)[1])

    def version(limit):
        context = ssl.create_default_context(cafile=certs / "ca.pem")
        context.set_alpn_protocols(["h2"])
        # So that the old version is refused by the server, and not already by this client.
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version, context.maximum_version = limit, limit
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                return secure.version(), secure.selected_alpn_protocol()

    assert version(ssl.TLSVersion.TLSv1_2) == ("TLSv1.2", "h2")
    assert version(ssl.TLSVersion.TLSv1_3) == ("TLSv1.3", "h2")
    with pytest.raises(ssl.SSLError, match="ALERT"):
        version(ssl.TLSVersion.TLSv1_1)


def test_bad_handshakes_in_a_row_leave_the_port_open(serve_tls, certs):
    server = serve_tls(certs, "server-ec")
    port = int(server.endpoint.rsplit(":", 1)[1])
    for attempt in range(200):
        greeting = [b"", b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                    b"\x16\x03\x01\xff\xff" + b"\0" * 100][attempt % 4]
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(greeting)
    assert_same(get(server, tls_root_certs=(certs / "ca.pem").read_bytes()), TABLE)


@pytest.mark.parametrize("cert, key, words", [
    ("server-ec.pem", "server-rsa.key", ["server-rsa.key"]),
    ("server-ec.pem", "none.key", ["none.key"]),
    ("none.pem", "server-ec.key", ["none.pem"]),
    ("server-ec.key", "server-ec.key", ["server-ec.key"]),
    ("empty.pem", "server-ec.key", ["empty.pem"]),
    ("server-ec.pem", "empty.pem", ["empty.pem"]),
    ("server-ec.pem", None, ["--tls-key"]),
    (None, "server-ec.key", ["--tls-cert"]),
    (None, None, ["--tls-cert"]),
])
def test_a_bad_pair_stops_the_start_with_the_file_named(
        server_bin, data, certs, tmp_path, cert, key, words):
    folder = tmp_path / "pem"
    folder.mkdir()
    for file in certs.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "empty.pem").write_bytes(b"")
    command = [server_bin, "serve", "--data", data, "--listen", TLS, "--admin", "none", "--ready",
               "json", "--exit-with-stdin"]
    command += ["--tls-cert", folder / cert] if cert else []
    command += ["--tls-key", folder / key] if key else []
    result = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, timeout=20)
    text = result.stderr.decode()
    assert result.returncode in (1, 2), text
    assert result.stdout == b"", "must not listen"
    assert all(word in text for word in words), text
    assert "panicked" not in text

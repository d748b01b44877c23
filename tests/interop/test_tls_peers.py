"""Secure connections with peers of other makes: OpenSSL's client, pyarrow, and ADBC's driver in Go."""

import re
import shutil
import subprocess
import sys
import time

import adbc_driver_flightsql.dbapi as dbapi
import adbc_driver_manager as adbc
import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pytest
from adbc_driver_flightsql import DatabaseOptions as Option

from conftest import make_certs
from servers import path, read_all
from tables import assert_same

TLS = "grpc+tls://127.0.0.1:0"
TABLE = pa.table({"x": list(range(1000))})
ENGINES = ["aws-lc", "ring", "openssl"]


@pytest.fixture(scope="session")
def named_certs(server_bin, tmp_path_factory):
    """A folder with an authority, servers' certificates and one of the client `tester`."""
    return make_certs(server_bin, tmp_path_factory.mktemp("named"), "--client", "tester")


@pytest.fixture(scope="session")
def engines(server_bin):
    """The engines that are part of the server."""
    def built(engine):
        result = subprocess.run([server_bin, "serve", "--tls-engine", engine, "--data", "/none"],
                                capture_output=True, timeout=20, text=True)
        return "feature openssl" not in result.stderr
    return [engine for engine in ENGINES if built(engine)]


@pytest.fixture
def secure(serve, data, named_certs):
    """Starts a server of TABLE over TLS."""
    pq.write_table(TABLE, data / "numbers.parquet")

    def start(*arguments, listen=TLS):
        return serve(data, "--tls-cert", named_certs / "server-ec.pem", "--tls-key",
                     named_certs / "server-ec.key", *arguments, listen=listen)

    return start


@pytest.fixture
def s_client(named_certs):
    """Runs `openssl s_client` against a server, until it `saved` a session; what it printed."""
    if shutil.which("openssl") is None:
        pytest.skip("did not run, because openssl is missing")

    def run(server, *arguments, saved=None):
        address = server.endpoint.rsplit("/", 1)[1]
        command = ["openssl", "s_client", "-connect", address, "-servername", "localhost",
                   "-verify_hostname", "localhost", "-alpn", "h2", *map(str, arguments)]
        if "-CAfile" not in command:
            command += ["-CAfile", str(named_certs / "ca.pem")]
        session = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        said = ""
        with session, session.stdout:
            while line := session.stdout.readline():
                said += line
                if "Verify return code" in line and not session.stdin.closed:
                    # The tickets of 1.3 come after the handshake, and are lost to who leaves.
                    give_up = time.monotonic() + 10
                    while saved and not written(saved) and time.monotonic() < give_up:
                        time.sleep(0.01)
                    session.stdin.close()
            session.wait(30)
        return said

    return run


def written(file):
    return file.exists() and file.stat().st_size > 0


@pytest.mark.parametrize("engine", ENGINES)
def test_openssl_verifies_every_engine_in_both_versions(secure, s_client, engines, engine):
    if engine not in engines:
        pytest.skip(f"did not run, because the server is built without {engine}")
    server = secure("--tls-engine", engine)
    for version, named in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")]:
        said = s_client(server, version)
        assert "Verify return code: 0 (ok)" in said, said
        assert "ALPN protocol: h2" in said, said
        assert f"New, {named}, Cipher is" in said, said
    said = s_client(server, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0")
    assert re.search("alert (protocol version|handshake failure)", said), said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_openssl_resumes_a_session(secure, s_client, engines, tmp_path, engine, version):
    if engine not in engines:
        pytest.skip(f"did not run, because the server is built without {engine}")
    server = secure("--tls-engine", engine)
    session = tmp_path / "session.pem"
    first = s_client(server, version, "-sess_out", session, saved=session)
    assert "New, " in first, first
    again = s_client(server, version, "-sess_in", session)
    assert "Reused, " in again, again


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_of_what_is_offered_has_nothing_to_say(secure, engines, named_certs, engine):
    """Versions, suites, curves, renegotiation, and the old attacks, by Mozilla's profile."""
    if engine not in engines:
        pytest.skip(f"did not run, because the server is built without {engine}")
    server = secure("--tls-engine", engine)
    address = server.endpoint.rsplit("/", 1)[1]
    command = [sys.executable, "-W", "ignore", "-m", "sslyze", "--sni", "localhost",
               "--certinfo_ca_file", named_certs / "ca.pem", "--mozilla_config", "intermediate",
               address]
    result = subprocess.run(command, capture_output=True, timeout=100, text=True)
    said = result.stdout
    assert result.returncode == 0 and "OK - Compliant." in said, said
    assert "VULNERABLE" not in said and "Server is vulnerable" not in said, said
    for fine in ["Compression disabled", "Not vulnerable to OpenSSL CCS injection",
                 "Not vulnerable to Heartbleed", "Not vulnerable, RSA cipher suites not supported",
                 "Client Renegotiation DoS Attack:   OK", "Secure Renegotiation:              OK"]:
        assert fine in said, (fine, said)


def test_openssl_without_h2_is_told_so(secure, s_client):
    server = secure()
    assert "no application protocol" in s_client(server, "-alpn", "http/1.1").lower()


@pytest.mark.parametrize("engine", ENGINES)
def test_openssl_needs_the_certificate_that_the_server_asks_for(
        secure, s_client, engines, named_certs, other_certs, engine):
    if engine not in engines:
        pytest.skip(f"did not run, because the server is built without {engine}")
    server = secure("--tls-engine", engine, "--tls-client-ca", named_certs / "ca.pem")
    mine = ["-cert", named_certs / "client-tester.pem", "-key", named_certs / "client-tester.key"]
    said = s_client(server, "-tls1_2", *mine)
    assert "Verify return code: 0 (ok)" in said and "alert" not in said, said
    # In 1.3 a client hears of its refusal only with the first data, in 1.2 within the handshake.
    assert re.search("alert (certificate required|handshake failure)", s_client(server, "-tls1_2"))
    theirs = ["-cert", other_certs / "client.pem", "-key", other_certs / "client.key"]
    assert "alert" in s_client(server, "-tls1_2", *theirs)


def test_pyarrow_shows_the_certificate_that_the_server_asks_for(secure, named_certs, other_certs):
    server = secure("--tls-client-ca", named_certs / "ca.pem")

    def read(folder, name, within=20):
        options = {"tls_root_certs": (named_certs / "ca.pem").read_bytes()}
        if name:
            options["cert_chain"] = (folder / f"{name}.pem").read_bytes()
            options["private_key"] = (folder / f"{name}.key").read_bytes()
        client = server.client(**options)
        asked = flight.FlightCallOptions(timeout=within)
        return read_all(client, client.get_flight_info(path("numbers"), asked))

    assert_same(read(named_certs, "client-tester"), TABLE)
    for folder, name in [(named_certs, None), (other_certs, "client")]:
        with pytest.raises((flight.FlightUnavailableError, flight.FlightTimedOutError)):
            read(folder, name, within=2)


def test_a_name_that_the_certificate_has_may_stand_in_for_another(secure, named_certs):
    root = (named_certs / "ca.pem").read_bytes()
    # An address of this machine's that the certificate does not have.
    server = secure(listen="grpc+tls://127.0.0.2:0")
    trusting = [{"tls_root_certs": root, "override_hostname": "localhost"},
                {"disable_server_verification": True}]
    for options in trusting:
        client = server.client(**options)
        assert_same(read_all(client, client.get_flight_info(path("numbers"))), TABLE)
    asked = flight.FlightCallOptions(timeout=2)
    with pytest.raises((flight.FlightUnavailableError, flight.FlightTimedOutError)):
        server.client(tls_root_certs=root).get_flight_info(path("numbers"), asked)


class TestAdbc:
    """ADBC's driver of Flight SQL, a client in Go: it reads data by the places of a FlightInfo."""

    @staticmethod
    def connect(server, root, **options):
        wanted = {Option.TLS_ROOT_CERTS.value: root.read_text(), **options}
        at = server.endpoint.replace("127.0.0.1", "localhost")
        return dbapi.connect(at, db_kwargs=wanted, autocommit=True)

    @staticmethod
    def read(connection, info):
        with connection.cursor() as cursor:
            cursor.adbc_read_partition(info.serialize())
            return cursor.fetch_arrow_table()

    def info(self, server, named_certs, **options):
        client = server.client(tls_root_certs=(named_certs / "ca.pem").read_bytes(), **options)
        return client.get_flight_info(path("numbers"))

    def test_it_reads_a_dataset_and_is_told_that_sql_is_not_spoken(self, secure, named_certs):
        server = secure()
        info = self.info(server, named_certs)
        with self.connect(server, named_certs / "ca.pem") as connection:
            assert_same(self.read(connection, info), TABLE)
            with connection.cursor() as cursor, \
                    pytest.raises(adbc.NotSupportedError, match="answers no Flight SQL"):
                cursor.execute("select 1")

    def test_it_refuses_a_server_of_another_authority(self, secure, named_certs, other_certs):
        server = secure()
        info = self.info(server, named_certs)
        with self.connect(server, other_certs / "ca.pem") as connection, \
                pytest.raises(adbc.OperationalError, match="unknown authority"):
            self.read(connection, info)

    def test_it_shows_its_certificate(self, secure, named_certs):
        server = secure("--tls-client-ca", named_certs / "ca.pem")
        chain, key = (named_certs / f"client-tester.{end}" for end in ("pem", "key"))
        info = self.info(server, named_certs, cert_chain=chain.read_bytes(),
                         private_key=key.read_bytes())
        mine = {Option.MTLS_CERT_CHAIN.value: chain.read_text(),
                Option.MTLS_PRIVATE_KEY.value: key.read_text()}
        with self.connect(server, named_certs / "ca.pem", **mine) as connection:
            assert_same(self.read(connection, info), TABLE)
        with self.connect(server, named_certs / "ca.pem") as connection, \
                pytest.raises(adbc.OperationalError, match="Unavailable"):
            self.read(connection, info)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("key", ["cert0.key", "cert0.pkcs1"])
def test_arrows_own_test_certificates_get_a_clear_error(
        serve, data, bench_bin, corpus, engines, engine, key):
    """X.509 version 1 without names: pyarrow takes them, rustls' verifier cannot."""
    if engine not in engines:
        pytest.skip(f"did not run, because the server is built without {engine}")
    theirs = corpus / "arrow-testing" / "flight"
    pq.write_table(TABLE, data / "numbers.parquet")
    server = serve(data, "--tls-cert", theirs / "cert0.pem", "--tls-key", theirs / key,
                   "--tls-engine", engine, listen=TLS)
    at = server.endpoint.replace("127.0.0.1", "localhost")
    root = theirs / "root-ca.pem"
    with flight.FlightClient(at, tls_root_certs=root.read_bytes()) as client:
        assert_same(read_all(client, client.get_flight_info(path("numbers"))), TABLE)
    command = [bench_bin, "get", at, "--source", "path:numbers", "--tls-ca", root,
               "--tls-engine", engine, "--batches", "1", "--no-save", "--quiet"]
    result = subprocess.run(command, capture_output=True, timeout=30, text=True)
    assert result.returncode == 1, result.stderr
    assert "X.509 version 1, which cannot be verified" in result.stderr, result.stderr
    assert "X.509 version 1" in server.log(), server.log()

"""flight-bench against servers that have less, more or other things than ours."""

import socket
import subprocess

import pytest

from foreign import Elsewhere, Foreign, Nothing, OnlyDoGet, Perf, Sql, roapi
from tables import write_ipc
from test_bench import BATCHES, TABLE, bench, counts

ROWS = TABLE.num_rows // BATCHES
SHORT = ["--passes", 3, "--repeats", 2]


def at(server):
    return f"grpc://127.0.0.1:{server.port}"


# Flight SQL.

@pytest.mark.parametrize("how", [["--sql"], ["--source"]])
def test_a_query_is_asked_anew_for_each_pass(bench_bin, how):
    query = "select *\nfrom numbers -- all of them"
    text = query if how == ["--sql"] else f"sql:{query}"
    with Sql(TABLE) as server:
        report = bench(bench_bin, "get", at(server), *how, text, *SHORT, "--streams", 2)
        # Once to plan, then for each pass of each stream and repeat.
        assert server.queries == [query] * (1 + 3 * 2 * 2)
        assert len(server.open) == 2, "all but the tickets of the plan were read"
    assert counts(report)[1] == 3 * 2 * 2 * 2 * TABLE.num_rows
    assert report["config"]["sources"] == [f"sql:{query}"]
    assert report["variants"][0]["latency"]["get.info"]["n"] == 3 * 2 * 2
    assert report["target"]["caps"]["sql"] is True and report["target"]["caps"]["info"] is None


def test_a_query_in_a_file_is_named_by_the_file(bench_bin, tmp_path):
    (tmp_path / "query.sql").write_text("select 1")
    with Sql(TABLE) as server:
        report = bench(bench_bin, "get", at(server), "--sql", f"@{tmp_path}/query.sql", *SHORT)
        assert set(server.queries) == {"select 1"}
    assert report["config"]["sources"] == [f"sql:@{tmp_path}/query.sql"]


@pytest.mark.parametrize("call", ["info", "schema"])
def test_calls_about_a_query_are_counted(bench_bin, call):
    with Sql(TABLE) as server:
        report = bench(bench_bin, "unary", call, at(server), "--sql", "select 1", "--batches", 20,
                       "--repeats", 2)
    assert counts(report)[0] == 40


def test_a_long_query_does_not_break_the_report(bench_bin):
    query = "select " + ", ".join(f"column_{i}" for i in range(100)) + "\nfrom numbers"
    with Sql(TABLE) as server:
        command = [bench_bin, "get", at(server), "--sql", query, *map(str, SHORT), "--no-save"]
        text = subprocess.run(command, capture_output=True, timeout=100, check=True).stdout.decode()
    assert "sql:select column_0, column_1" in text and "get.info" in text
    assert max(map(len, text.splitlines())) <= 100, text


def test_a_query_to_a_server_without_sql_is_told_what_to_use(bench_bin, serve, data):
    write_ipc(data / "x.feather", TABLE)
    said = bench(bench_bin, "get", serve(data).endpoint, "--sql", "select 1", *SHORT, code=1)
    assert "it answers no Flight SQL" in said and "--source path:NAME" in said


def test_a_path_to_a_server_of_sql_is_told_what_to_use(bench_bin):
    with Sql(TABLE) as server:
        said = bench(bench_bin, "get", at(server), "--source", "path:numbers", *SHORT, code=1)
    assert "UNIMPLEMENTED" in said and "--sql" in said


def test_roapi_is_measured_by_its_queries(bench_bin, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{i / 4}\n" for i in range(1000)))
    with roapi({"t": tmp_path / "t.csv"}) as target:
        report = bench(bench_bin, "get", target, "--sql", "select a, b from t where a < 800",
                       *SHORT, "--streams", 2)
        assert counts(report)[1] == 3 * 2 * 2 * 800
        caps = report["target"]["caps"]
        assert caps["sql"] is True and caps["get"] is True
        said = bench(bench_bin, "get", target, "--sql", "select nothing from nowhere", *SHORT,
                     code=1)
        assert "GetFlightInfo of sql:select nothing from nowhere" in said
        # It lists nothing, which is told with what to give in place of it.
        said = bench(bench_bin, "get", target, *SHORT, code=1)
        assert "ListFlights: UNIMPLEMENTED" in said and "--source path:NAME" in said


# Servers that lack things.

def test_a_server_of_doget_alone_is_read_by_ticket(bench_bin):
    with OnlyDoGet(TABLE) as server:
        report = bench(bench_bin, "get", at(server), "--source", "ticket:any", *SHORT)
        assert counts(report)[1] == 6 * TABLE.num_rows
        caps = report["target"]["caps"]
        assert caps["get"] is True and caps["actions"] is False
        said = bench(bench_bin, "get", at(server), "--source", "path:x", *SHORT, code=1)
        assert "GetFlightInfo of path:x: UNIMPLEMENTED" in said and "--source ticket:TEXT" in said
        said = bench(bench_bin, "get", at(server), *SHORT, code=1)
        assert "ListFlights: UNIMPLEMENTED" in said and "ticket:TEXT" in said


@pytest.mark.parametrize("words, told", [
    (["put"], "DoPut: UNIMPLEMENTED"),
    (["exchange"], "DoExchange: UNIMPLEMENTED"),
    (["get", "--source", "ticket:x"], "if it has no DoGet at all"),
    (["get", "--source", "perf"], "it does not speak Arrow's perf protocol"),
    (["unary", "list"], "ListFlights: UNIMPLEMENTED"),
    (["unary", "schema", "--source", "path:x"], "GetSchema: UNIMPLEMENTED"),
    (["unary", "action"], "choose one that it has with --action"),
])
def test_what_a_server_lacks_is_named_once_with_a_way_out(bench_bin, words, told):
    with Nothing() as server:
        said = bench(bench_bin, *words, at(server), *SHORT, code=1)
    assert said.count(told) == 1, said
    assert said.count("UNIMPLEMENTED") == 1, said


def test_a_server_of_the_perf_protocol_is_known_by_it(bench_bin):
    with Perf() as server:
        said = bench(bench_bin, "get", at(server), *SHORT, code=1)
        assert "speaks Arrow's perf protocol" in said and "--source perf" in said
        report = bench(bench_bin, "get", at(server), "--source", "perf", "--records-per-stream",
                       1000, "--streams", 2, *SHORT)
    assert counts(report)[1] == 3 * 2 * 2 * 1000
    assert report["target"]["caps"]["perf"] is True
    assert report["target"]["locations"][0]["read"] is False


def test_connections_need_nothing_of_a_server(bench_bin):
    with Nothing() as server:
        report = bench(bench_bin, "tls", at(server), "--batches", 5, "--repeats", 1)
    assert counts(report)[0] == 5


# Places that a server names.

def elsewhere(places, batch_rows=ROWS):
    return Elsewhere(places, {"numbers": TABLE}, batch_rows)


def unused_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def get(bench_bin, server, *arguments, code=0):
    return bench(bench_bin, "get", at(server), "--source", "path:numbers", *SHORT, *arguments,
                 code=code)


def told(report):
    """What the report warns of, and why."""
    return [f"{warning['text']} {warning['why']}" for warning in report["warnings"]]


def test_a_wrong_place_is_not_followed_unless_told(bench_bin):
    wrong = f"grpc://127.0.0.1:{unused_port()}"
    with elsewhere([wrong]) as server:
        report = get(bench_bin, server)
        assert counts(report)[1] == 6 * TABLE.num_rows
        assert [place["location"] for place in report["target"]["locations"]] == [wrong]
        assert any("were not followed" in warning and wrong in warning
                   for warning in told(report))
        for which in ("same", "always"):
            said = get(bench_bin, server, "--follow-locations", which, code=1)
            assert f"cannot reach {wrong}" in said and "leave --follow-locations out" in said


@pytest.mark.parametrize("which", ["same", "always"])
def test_the_first_place_that_can_be_reached_is_read(bench_bin, which):
    wrong = f"grpc://127.0.0.1:{unused_port()}"
    with Foreign({"numbers": TABLE}, ROWS) as other:
        with elsewhere([wrong, at(other)]) as server:
            report = get(bench_bin, server, "--follow-locations", which, "--streams", 2)
            assert (server.reads, other.reads) == (0, 12)
    assert counts(report)[1] == 12 * TABLE.num_rows
    assert [(place["location"], place["read"]) for place in report["target"]["locations"]] == \
        [(wrong, False), (at(other), True)]
    assert any(wrong in warning for warning in told(report))


def test_another_host_is_followed_only_by_always(bench_bin):
    # 127.0.0.1 by a name that this program cannot know for the same host.
    other_name = socket.gethostname()
    try:
        address = socket.gethostbyname(other_name)
    except OSError:
        pytest.skip("did not run, because the name of this machine has no address")
    listen = f"grpc://{address}:0"
    with Foreign({"numbers": TABLE}, ROWS, listen=listen) as other:
        place = f"grpc://{other_name}:{other.port}"
        with elsewhere([place]) as server:
            report = get(bench_bin, server, "--follow-locations", "same")
            assert (server.reads, other.reads) == (6, 0)
            assert any("another host" in warning for warning in told(report))
            report = get(bench_bin, server, "--follow-locations", "always")
            assert (server.reads, other.reads) == (6, 6)
            assert place not in " ".join(told(report))


@pytest.mark.parametrize("place", ["arrow-flight-reuse-connection://?", "TARGET", "LOCALHOST"])
def test_the_names_of_the_target_are_not_called_other_places(bench_bin, place):
    with elsewhere([]) as server:
        names = {"TARGET": at(server), "LOCALHOST": f"grpc+tcp://localhost:{server.port}"}
        server.places = [names.get(place, place)]
        for which in ("never", "same", "always"):
            report = get(bench_bin, server, "--follow-locations", which)
            assert report["target"]["locations"] == [], which
        assert server.reads == 18


# TLS.

@pytest.fixture
def secure(certs):
    key, chain = ((certs / f"server-ec.{end}").read_bytes() for end in ("key", "pem"))
    return {"listen": "grpc+tls://127.0.0.1:0", "tls_certificates": [(chain, key)]}


def at_tls(server):
    return f"grpc+tls://localhost:{server.port}"


def test_data_and_handshakes_of_a_foreign_server_over_tls(bench_bin, certs, other_certs, secure):
    with Foreign({"numbers": TABLE}, ROWS, **secure) as server:
        trust = ["--tls-ca", certs / "ca.pem"]
        report = bench(bench_bin, "get", at_tls(server), *trust, "--source", "path:numbers",
                       *SHORT)
        assert counts(report)[1] == 6 * TABLE.num_rows
        tls = report["variants"][0]["tls"]
        assert tls["verified"] is True and tls["version"] == "1.3"
        report = bench(bench_bin, "tls", at_tls(server), *trust, "--batches", 5, "--repeats", 2)
        assert report["variants"][0]["latency"]["tls.handshake"]["n"] == 10
        said = bench(bench_bin, "tls", at_tls(server), "--tls-ca", other_certs / "ca.pem",
                     "--batches", 5, code=1)
        assert "certificate" in said


def test_a_foreign_server_sees_the_certificate_of_the_client(bench_bin, certs, secure):
    mutual = {"verify_client": True, "root_certificates": (certs / "ca.pem").read_bytes()}
    client = sorted(certs.glob("client*.pem"))[0]
    with Foreign({"numbers": TABLE}, ROWS, **secure, **mutual) as server:
        line = ["get", at_tls(server), "--tls-ca", certs / "ca.pem", "--source", "path:numbers",
                *SHORT]
        report = bench(bench_bin, *line, "--tls-cert", client, "--tls-key",
                       client.with_suffix(".key"))
        assert counts(report)[1] == 6 * TABLE.num_rows
        assert report["variants"][0]["tls"]["client_certificate"] is True
        said = bench(bench_bin, *line, code=5)
        assert "--tls-cert" in said


def test_a_place_is_only_followed_if_it_is_encrypted_as_the_target(bench_bin, certs, secure):
    with Foreign({"numbers": TABLE}, ROWS) as plain:
        with Elsewhere([at(plain)], {"numbers": TABLE}, ROWS, **secure) as server:
            report = bench(bench_bin, "get", at_tls(server), "--tls-ca", certs / "ca.pem",
                           "--source", "path:numbers", "--follow-locations", "always", *SHORT)
            assert (server.reads, plain.reads) == (6, 0)
        assert any("is not encrypted" in warning for warning in told(report))
        with Foreign({"numbers": TABLE}, ROWS, **secure) as other:
            with Elsewhere([at_tls(other)], {"numbers": TABLE}, ROWS, **secure) as server:
                bench(bench_bin, "get", at_tls(server), "--tls-ca", certs / "ca.pem",
                      "--source", "path:numbers", "--follow-locations", "same", *SHORT)
                assert (server.reads, other.reads) == (0, 6)

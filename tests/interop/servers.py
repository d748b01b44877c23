"""Starts flight-server as a child, and reads datasets from it the way an ordinary client does."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading

import pyarrow as pa
import pyarrow.flight as flight

READY_WITHIN_S = 30
STOP_WITHIN_S = 40


class Server:
    """A running `flight-server serve`. What it says on stderr is kept for failures."""

    def __init__(self, program, folder, *arguments, listen="grpc://127.0.0.1:0"):
        command = [program, "serve", "--data", str(folder), "--listen", listen, "--admin", "none",
                   "--ready", "json", "--exit-with-stdin", *map(str, arguments)]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FLIGHT_")}
        self._stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
            env=clean)
        self._lines = queue.Queue()
        threading.Thread(target=self._read_stdout, daemon=True).start()
        self.stopped = False
        self._clients = []
        self.ready = self._wait_until_ready(command)
        self.endpoint = self.ready["endpoints"][0]

    def _read_stdout(self):
        with self.process.stdout as stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(None)

    def _wait_until_ready(self, command):
        try:
            line = self._lines.get(timeout=READY_WITHIN_S)
        except queue.Empty:
            self.stop(kill=True)
            raise AssertionError(f"{command} was not ready in {READY_WITHIN_S} s:\n{self.log()}")
        if line is None:
            self.stop()
            raise AssertionError(f"{command} ended ({self.code()}):\n{self.log()}")
        ready = json.loads(line)
        assert ready["ready"] is True, ready
        return ready

    def running(self):
        return self.process.poll() is None

    def code(self):
        return self.process.poll()

    def log(self):
        """The end of what it said on stderr."""
        if not self._stderr.closed:
            self._stderr.seek(0)
            self._log = self._stderr.read().decode(errors="replace")[-4000:]
        return self._log

    def memory_bytes(self):
        """Memory that the process holds itself; pages of mapped files are the system's."""
        with open(f"/proc/{self.process.pid}/status") as status:
            line = next(line for line in status if line.startswith("RssAnon:"))
        return int(line.split()[1]) * 1024

    def kill(self):
        """Ends it as a crash would."""
        self.stop(kill=True)

    def stop(self, kill=False):
        for client in self._clients:
            client.close()
        self._clients.clear()
        if not self.stopped:
            self.stopped = True
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self.process.stdin.close()
            try:
                self.process.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"still running {STOP_WITHIN_S} s after the signal")
            finally:
                self.log()
                self._stderr.close()
        return self.process.returncode

    def client(self, **options):
        client = flight.FlightClient(self.endpoint, **options)
        self._clients.append(client)
        return client

    # What most tests do with one dataset. `name` may hold slashes.

    def info(self, name):
        return self.client().get_flight_info(path(name))

    def get(self, name):
        """The whole dataset, its endpoints in order, as one table."""
        client = self.client()
        info = client.get_flight_info(path(name))
        return read_all(client, info)

    def command(self, **request):
        """What a JSON command gives, as one table."""
        client = self.client()
        return read_all(client, client.get_flight_info(command(**request)))

    def put(self, name, batches, schema=None, client=None, **request):
        """Uploads; the metadata of all acknowledgements in order, the last one parsed."""
        batches = list(batches.to_batches() if isinstance(batches, pa.Table) else batches)
        target = command(dataset=name, **request) if request else path(name)
        client = client or self.client()
        writer, reader = client.do_put(target, schema or batches[0].schema)
        with writer:
            for batch in batches:
                writer.write_batch(batch)
            writer.done_writing()
            acknowledgements = read_acknowledgements(reader)
        return json.loads(acknowledgements[-1])

    def names(self, prefix=b""):
        """The listed names, components joined by slashes, in order."""
        return sorted(b"/".join(info.descriptor.path).decode()
                      for info in self.client().list_flights(prefix))


def path(name):
    return flight.FlightDescriptor.for_path(*name.split("/"))


def command(**request):
    return flight.FlightDescriptor.for_command(json.dumps(request))


def read_all(client, info):
    tables = [client.do_get(endpoint.ticket).read_all() for endpoint in info.endpoints]
    return pa.concat_tables(tables) if tables else info.schema.empty_table()


def read_acknowledgements(reader):
    found = []
    while (acknowledgement := reader.read()) is not None:
        found.append(acknowledgement.to_pybytes())
    return found

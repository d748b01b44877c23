"""A pyarrow Flight server over the Feather files of a folder, held in memory.

Prints a ready line and ends when its stdin closes. Arrow's C++ implementation does the work:
pyarrow adds a call of Python a request, not a batch.
"""

import json
import os
import pathlib
import sys
import threading

import pyarrow as pa
import pyarrow.flight as fl


class Server(fl.FlightServerBase):
    def __init__(self, folder):
        super().__init__("grpc://127.0.0.1:0")
        self.tables = {}
        for path in sorted(pathlib.Path(folder).glob("*.feather")):
            with pa.OSFile(str(path)) as file:
                self.tables[path.stem] = pa.ipc.open_file(file).read_all()

    def get_flight_info(self, context, descriptor):
        name = descriptor.path[0].decode()
        table = self.tables[name]
        endpoint = fl.FlightEndpoint(name.encode(), [])
        return fl.FlightInfo(table.schema, descriptor, [endpoint], table.num_rows, table.nbytes)

    def do_get(self, context, ticket):
        return fl.RecordBatchStream(self.tables[ticket.ticket.decode()])


def main():
    server = Server(sys.argv[1])
    ready = {"ready": True, "pid": os.getpid(), "endpoints": [f"grpc://127.0.0.1:{server.port}"]}
    print(json.dumps(ready), flush=True)

    def stop():
        sys.stdin.buffer.read()
        server.shutdown()

    threading.Thread(target=stop, daemon=True).start()
    server.serve()


main()

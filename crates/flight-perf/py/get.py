"""A pyarrow Flight client: reads a dataset so many times and prints what it moved.

Usage: get.py URL NAME PASSES
"""

import json
import sys
import time

import pyarrow.flight as fl


def main():
    url, name, passes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    client = fl.connect(url)
    info = client.get_flight_info(fl.FlightDescriptor.for_path(name))
    calls = batches = rows = size = 0
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(passes):
        for endpoint in info.endpoints:
            reader = client.do_get(endpoint.ticket)
            while True:
                try:
                    batch = reader.read_chunk().data
                except StopIteration:
                    break
                batches += 1
                rows += batch.num_rows
                size += batch.nbytes
            calls += 1
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    print(
        json.dumps(
            {
                "calls": calls,
                "batches": batches,
                "rows": rows,
                "bytes": size,
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
            }
        )
    )


main()

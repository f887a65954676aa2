"""A parser or iterator shared by threads: refuses or serialises, and never crashes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from conftest import BACKENDS
from support import byte_by_byte

# In a process of its own, so that a crash is a failure and not the end of the tests.
SHARED = """
import importlib, sys, threading
sys.setswitchinterval(1e-6)
backend = importlib.import_module({module!r})
parser = backend.Parser({options})
start = threading.Barrier(8)
found, refused, other = [], [], []

def feed(number):
    start.wait()
    for at in range(300):
        try:
            found.extend(parser.feed({chunk}))
        except RuntimeError:
            refused.append(number)
        except Exception as error:
            other.append(error)
        parser.buffered, parser.last_event_id, parser.retry, parser.skipped, parser.closed

threads = [threading.Thread(target=feed, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not other, sorted(set(map(repr, other)))[:3]
print(len(found), len(refused), sorted({{event.data for event in found}}))
"""


def shared(backend: Any, chunk: str, options: str = "") -> tuple[int, int, str]:
    assert backend.__name__ in BACKENDS.values()
    code = SHARED.format(module=backend.__name__, chunk=chunk, options=options)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found, refused, data = done.stdout.strip().split(" ", 2)
    return int(found), int(refused), data


def test_every_feed_is_whole_or_refused(backend: Any) -> None:
    found, refused, data = shared(backend, 'b"data: a\\n" + b"data: b\\n" * 50 + b"\\n"')
    assert data == repr(["a" + "\n" + "\n".join(["b"] * 50)])
    assert found + refused == 8 * 300


def test_with_every_option_too(backend: Any) -> None:
    found, refused, data = shared(
        backend,
        'b": c\\nid: 1\\nretry: 5\\ndata: x\\n\\ndata: y\\n\\n"',
        "raw=True, max_buffer_size=1000, contains=[b'x']",
    )
    assert data == "['x']"
    assert found + refused == 8 * 300


def test_pieces_from_many_threads_never_crash(backend: Any) -> None:
    """Nothing can be said of what comes out, other than that something does."""
    shared(backend, 'b"data: a"')
    shared(backend, 'bytes([b"data: \\r\\n\\xff"[at % 9]])', "raw=True, diagnostics=False")


ITERATED = """
import importlib, sys, threading
sys.setswitchinterval(1e-6)
backend = importlib.import_module({module!r})
events = backend.iter_events([b"data: x\\n\\n" * 50] * 100)
start = threading.Barrier(4)
found, other = [], []

def pull():
    start.wait()
    while True:
        try:
            found.append(next(events).data)
        except StopIteration:
            return
        except (RuntimeError, ValueError) as error:
            if not isinstance(error, RuntimeError): other.append(error)

threads = [threading.Thread(target=pull) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not other, sorted(set(map(repr, other)))[:3]
print(len(found), set(found))
"""


def test_an_iterator_shared_by_threads_hands_out_each_event_once(backend: Any) -> None:
    code = ITERATED.format(module=backend.__name__)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "5000 {'x'}"


def test_parsers_in_many_threads_do_not_disturb_each_other(backend: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(number: int) -> list[str]:
        parser = backend.Parser()
        stream = b"".join(b"data: %d-%d\n\n" % (number, at) for at in range(200))
        return [event.data for byte in byte_by_byte(stream) for event in parser.feed(byte)]

    with ThreadPoolExecutor(8) as pool:
        for number, found in enumerate(pool.map(work, range(8))):
            assert found == [f"{number}-{at}" for at in range(200)]

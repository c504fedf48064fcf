"""Messages between processes of one machine, with arrays in memory that both sides map."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from types import FunctionType
from typing import Any, NamedTuple

from ..errors import UsageError

MIN_SHARED_BYTES = 1 << 16  # of an array that is sent as shared memory, rather than copied twice
ALIGNMENT = 64  # bytes


class SharedMemory:
    """Bytes that several processes share: a file without a name.

    It is gone when the last process that has it open closes it.
    """

    def __init__(self, file: int, size: int) -> None:
        self.file, self.size = file, size

    @classmethod
    def create(cls, size: int) -> SharedMemory:
        """Return new shared memory; raise MemoryError if it is not available."""
        if hasattr(os, "memfd_create"):
            file = os.memfd_create("streamsieve")
        else:
            with tempfile.TemporaryFile() as temporary:
                file = os.dup(temporary.fileno())
        memory = cls(file, max(1, size))
        try:
            # Without it, a process would be killed when it writes to memory that is not available.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, memory.size)
            else:
                os.ftruncate(file, memory.size)
        except OSError as error:
            memory.close()
            raise MemoryError(f"cannot allocate {size:,} bytes of shared memory") from error
        return memory

    def map(self, private: bool = False) -> mmap.mmap:
        """Map the bytes; changes to a private map are not seen by other processes."""
        return mmap.mmap(
            self.file, self.size, flags=mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        )

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def __del__(self) -> None:
        self.close()


class Message(NamedTuple):
    """A pickled value, whose large arrays are in shared memory.

    Shared memory that the value refers to is part of the message, too.
    """

    body: bytes
    memories: Sequence[SharedMemory]  # of the arrays, then those that the value refers to
    spans: Sequence[tuple[int, int]]  # positions of the arrays in the first memory


class CheckedPickler(pickle.Pickler):
    """A pickler that rejects classes and functions that no other process can import."""

    def reducer_override(self, value: Any) -> Any:
        """Raise UsageError for a class or function that can be imported in this process only."""
        if isinstance(value, type | FunctionType):
            name = value.__qualname__
            if value.__module__ == "__main__" or "<locals>" in name:
                raise UsageError(
                    f"{name} cannot be sent to a worker: it is defined in the script or notebook"
                    " that is running, or inside a function, and other processes cannot import it;"
                    " move it to a module, and import it from there"
                )
        return NotImplemented


class _Pickler(CheckedPickler):
    """A pickler that collects the large arrays and the shared memory of a value."""

    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, protocol=5, buffer_callback=lambda buffer: self._is_small(buffer))
        self.buffers, self.memories = buffers, [SharedMemory(-1, 0)]

    def _is_small(self, buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as raw:
            small = raw.nbytes < MIN_SHARED_BYTES
        if not small:
            self.buffers.append(buffer)
        return small

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, SharedMemory):
            return None
        self.memories.append(value)
        return len(self.memories) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, body: bytes, memories: Sequence[SharedMemory], buffers: Sequence[memoryview]
    ) -> None:
        super().__init__(io.BytesIO(body), buffers=buffers)
        self.memories = memories

    def persistent_load(self, number: int) -> SharedMemory:
        return self.memories[number]


def pack(value: Any) -> Message:
    """Return a value as a message, which can be sent to several processes."""
    file, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    pickler = _Pickler(file, buffers)
    pickler.dump(value)
    raws = [buffer.raw() for buffer in buffers]
    spans, size = [], 0
    for raw in raws:
        spans.append((size, size + raw.nbytes))
        size += -(-raw.nbytes // ALIGNMENT) * ALIGNMENT
    if raws:
        memory = SharedMemory.create(size)
        with memory.map() as mapped:
            for raw, (start, stop) in zip(raws, spans, strict=True):
                mapped[start:stop] = raw
        pickler.memories[0] = memory
    return Message(file.getvalue(), pickler.memories, spans)


def unpack(message: Message) -> Any:
    """Return the value of a message. Its large arrays are copied when they are changed."""
    whole = memoryview(message.memories[0].map(private=True)) if message.spans else memoryview(b"")
    return _Unpickler(
        message.body, message.memories, [whole[start:stop] for start, stop in message.spans]
    ).load()


def send(connection: Connection, pid: int, parts: Sequence[Message]) -> None:
    """Send messages together, to a process."""
    plain = [
        (part.body, [memory.size for memory in part.memories], list(part.spans)) for part in parts
    ]
    connection.send_bytes(pickle.dumps(plain))
    for part in parts:
        for memory in part.memories:
            if memory.size:
                send_handle(connection, memory.file, pid)


def receive(connection: Connection) -> list[Any]:
    """Return the values of messages that were sent together."""
    values = []
    for body, sizes, spans in pickle.loads(connection.recv_bytes()):
        memories = [SharedMemory(recv_handle(connection) if size else -1, size) for size in sizes]
        values.append(unpack(Message(body, memories, spans)))
    return values

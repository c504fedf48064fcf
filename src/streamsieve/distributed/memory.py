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

LARGE = 1 << 16  # bytes of an array that is sent as memory, rather than copied twice
ALIGNED = 64


class Memory:
    """Bytes that several processes see: a file without a name, gone with the last process that has it open."""

    def __init__(self, file: int, size: int) -> None:
        self.file, self.size = file, size

    @classmethod
    def create(cls, size: int) -> Memory:
        if hasattr(os, "memfd_create"):
            file = os.memfd_create("streamsieve")
        else:
            with tempfile.TemporaryFile() as named:
                file = os.dup(named.fileno())
        memory = cls(file, max(1, size))
        try:
            if hasattr(
                os, "posix_fallocate"
            ):  # or a process would be killed when it writes what there is no room for
                os.posix_fallocate(file, 0, memory.size)
            else:
                os.ftruncate(file, memory.size)
        except OSError as error:
            memory.close()
            raise MemoryError(f"no room for {size:,} bytes that processes share") from error
        return memory

    def map(self, private: bool = False) -> mmap.mmap:
        """The bytes; those of a private map can be changed without anybody seeing it."""
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
    """A value on its way: pickled, but for its large arrays, which are in memory, and memory that it refers to."""

    body: bytes
    memories: Sequence[Memory]  # the arrays first, then what the value refers to
    spans: Sequence[tuple[int, int]]  # where in the first one the arrays are


class CheckedPickler(pickle.Pickler):
    """Refuses classes and functions that no other process can import."""

    def reducer_override(self, value: Any) -> Any:
        """Raise UsageError for a class or function that is found by its name in this process alone."""
        if isinstance(value, type | FunctionType):
            name = value.__qualname__
            if value.__module__ == "__main__" or "<locals>" in name:
                raise UsageError(
                    f"{name} cannot be sent to a worker: it is defined in the script or notebook"
                    " that is running, or inside a function, where no other process finds it; move"
                    " it to a module, and import it from there"
                )
        return NotImplemented


class _Pickler(CheckedPickler):
    """Takes memory out of a value."""

    def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, protocol=5, buffer_callback=lambda buffer: self._is_small(buffer))
        self.buffers, self.memories = buffers, [Memory(-1, 0)]

    def _is_small(self, buffer: pickle.PickleBuffer) -> bool:
        with buffer.raw() as raw:
            small = raw.nbytes < LARGE
        if not small:
            self.buffers.append(buffer)
        return small

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, Memory):
            return None
        self.memories.append(value)
        return len(self.memories) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(
        self, body: bytes, memories: Sequence[Memory], buffers: Sequence[memoryview]
    ) -> None:
        super().__init__(io.BytesIO(body), buffers=buffers)
        self.memories = memories

    def persistent_load(self, number: int) -> Memory:
        return self.memories[number]


def packed(value: Any) -> Message:
    """A value as a message, which can be sent to several processes."""
    file, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    pickler = _Pickler(file, buffers)
    pickler.dump(value)
    raws = [buffer.raw() for buffer in buffers]
    spans, size = [], 0
    for raw in raws:
        spans.append((size, size + raw.nbytes))
        size += -(-raw.nbytes // ALIGNED) * ALIGNED
    if raws:
        memory = Memory.create(size)
        with memory.map() as there:
            for raw, (start, stop) in zip(raws, spans, strict=True):
                there[start:stop] = raw
        pickler.memories[0] = memory
    return Message(file.getvalue(), pickler.memories, spans)


def unpacked(message: Message) -> Any:
    """The value of a message. Its large arrays are copies as soon as they are changed."""
    whole = memoryview(message.memories[0].map(private=True)) if message.spans else memoryview(b"")
    return _Unpickler(
        message.body, message.memories, [whole[start:stop] for start, stop in message.spans]
    ).load()


def send(connection: Connection, pid: int, parts: Sequence[Message]) -> None:
    """Send messages as one, to a process."""
    plain = [
        (part.body, [memory.size for memory in part.memories], list(part.spans)) for part in parts
    ]
    connection.send_bytes(pickle.dumps(plain))
    for part in parts:
        for memory in part.memories:
            if memory.size:
                send_handle(connection, memory.file, pid)


def receive(connection: Connection) -> list[Any]:
    """The values of messages that were sent as one."""
    values = []
    for body, sizes, spans in pickle.loads(connection.recv_bytes()):
        memories = [Memory(recv_handle(connection) if size else -1, size) for size in sizes]
        values.append(unpacked(Message(body, memories, spans)))
    return values

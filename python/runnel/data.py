"""Files of one version of a volume, read without a mount.

    volume = runnel.data.Volume("fashion@latest")
    with volume.open("train/labels.csv", "r", encoding="utf-8") as file: ...
    image = volume.load("train/0001.png")

A version never changes, and gc leaves it while it is open. Works in threads, in forked and in spawned workers: a Volume
that is pickled is the same version there. What goes wrong is an OSError, such as FileNotFoundError.
"""

import atexit
import codecs
import ctypes
import errno
import functools
import io
import os
import pathlib
import shutil
import stat
import sys
import weakref
from collections.abc import Iterator
from multiprocessing import util

BUFFER_BYTES = 128 << 10  # Of a file that is read in parts.
SMALL_BYTES = 64 << 10  # A file of so many comes whole when it is opened.
LIST_AT_ONCE = 1_000

_ABI = 1
_FOLLOW, _ITSELF = 1, 0
_ALL_DETAILS, _INODE_AND_KIND = 1, 0
_PathLike = str | bytes | os.PathLike


class _Error(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("text", ctypes.c_char * 1024)]

    def raised(self, path: str | None = None) -> OSError:
        text = self.text.decode(errors="replace")
        return OSError(self.number, text) if path is None else OSError(self.number, text, path)


class _Attributes(ctypes.Structure):
    _fields_ = [("inode", ctypes.c_uint64), ("size", ctypes.c_uint64), ("changed", ctypes.c_int64),
                ("changed_nanos", ctypes.c_uint32), ("mode", ctypes.c_uint32), ("links", ctypes.c_uint64),
                ("owner", ctypes.c_uint32), ("group", ctypes.c_uint32)]

    def as_stat(self) -> os.stat_result:
        seconds, nanos = self.changed, self.changed_nanos
        times = [seconds] * 3 + [seconds + 1e-9 * nanos] * 3 + [seconds * 1_000_000_000 + nanos] * 3
        return os.stat_result([self.mode, self.inode, 0, self.links, self.owner, self.group, self.size, *times])


class _Entry(ctypes.Structure):
    _fields_ = [("attributes", _Attributes), ("name", ctypes.c_char * 256)]


def _library_places() -> Iterator[pathlib.Path]:
    """Where librunnel.so may be: beside this package, where the home of this package says, or beside the command
    `runnel`, bin/ and lib/."""
    yield pathlib.Path(__file__).with_name("librunnel.so")
    kept = pathlib.Path(__file__).parents[2] / "LIBRARY"
    if kept.is_file():
        yield pathlib.Path(kept.read_text().strip())
    commands = [pathlib.Path(sys.executable).with_name("runnel")]
    if found := shutil.which("runnel"):
        commands += [pathlib.Path(found), pathlib.Path(found).resolve()]
    for command in commands:
        yield command.parent.parent / "lib" / "librunnel.so"


def _library_path() -> pathlib.Path:
    if given := os.environ.get("RUNNEL_LIBRARY"):
        if not os.path.isfile(given):
            raise ImportError(f"RUNNEL_LIBRARY is {given!r}, which is no file; name librunnel.so, or unset it")
        return pathlib.Path(given)
    places = list(_library_places())
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(dict.fromkeys(map(str, places)))
    raise ImportError(f"librunnel.so is not there (looked for {looked}); say where it is: export RUNNEL_LIBRARY=FILE")


@functools.cache
def _library() -> ctypes.CDLL:
    """The C functions of librunnel.so; calls release the GIL."""
    path = _library_path()
    library = ctypes.CDLL(str(path))
    if library.runnel_abi() != _ABI:
        raise ImportError(f"{path} is of another version than {__file__}; install both anew")
    text, handle, error = ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(_Error)
    number, count = ctypes.c_uint64, ctypes.c_size_t
    for name, result, *arguments in (
            ("open", handle, text, text, text, text, text, error),
            ("open_reference", handle, text, text, text, error),
            ("reference", text, handle),
            ("version", text, handle),
            ("stat", ctypes.c_int, handle, text, ctypes.c_int, ctypes.POINTER(_Attributes), error),
            ("list", ctypes.c_int64, handle, text, text, ctypes.c_int, ctypes.POINTER(_Entry), count, error),
            ("read", ctypes.c_int64, handle, number, number, handle, count, error),
            ("load", ctypes.c_int64, handle, text, ctypes.POINTER(_Attributes), handle, count, error),
            ("close", None, handle),
            ("free", None, handle)):
        function = getattr(library, f"runnel_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_new_bytes = ctypes.pythonapi.PyBytes_FromStringAndSize
_new_bytes.restype, _new_bytes.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_ssize_t]

_open_volumes: "weakref.WeakSet[Volume]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for volume in list(_open_volumes):
        volume.close()


def _after_fork(volume: "Volume") -> None:
    """Children of multiprocessing end without atexit, and have a way of their own to be told."""
    util.Finalize(None, volume.close, exitpriority=10)


def _bytes_of(path: _PathLike) -> bytes:
    text = os.fsencode(path)
    if b"\0" in text:
        raise ValueError("embedded null byte")
    return text


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and not folder.endswith("/") else folder + name


def _optional(text: str | os.PathLike | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def _size_text(size: int | str | None) -> bytes | None:
    return None if size is None else (f"{size}B" if isinstance(size, int) else size).encode()


def split_name(name: str, version: str | None = None) -> tuple[str, str]:
    """The name and the version of NAME or NAME@VERSION."""
    name, at, within = name.partition("@")
    if at and not within:
        raise ValueError(f"{name}@ has no version after '@'; write NAME or NAME@VERSION")
    if at and version not in (None, "latest", within):
        raise ValueError(f"the version is {within!r} by the name and {version!r} by the argument; give one of them")
    return name, within or version or "latest"


class Volume:
    """One version of a volume, open for reading.

    name: of the volume, or NAME@VERSION. version: "latest", a tag, an id or the beginning of one.
    store: a URL, file:///FOLDER or s3://BUCKET/PREFIX; the home knows it of volumes that were created in it.
    cache: a folder on a local disk that keeps what was fetched, at most `cache_size` (bytes, or "10GiB", which is the
        default), for all processes and mounts that name it.

    Paths begin at the root of the version, with or without "/"; links are followed inside of it. Names that are not
    UTF-8 are as os.fsdecode() has them. Threads: any, several at once.
    """

    def __init__(self, name: str, version: str = "latest", *, store: str | None = None,
                 cache: str | os.PathLike | None = None, cache_size: int | str | None = None):
        name, version = split_name(name, version)
        self._begin(lambda error: _library().runnel_open(
            name.encode(), version.encode(), _optional(store), _optional(cache), _size_text(cache_size), error),
            cache, cache_size)

    def _begin(self, opened, cache, cache_size) -> None:
        error = _Error()
        self._handle = opened(ctypes.byref(error))
        if not self._handle:
            raise error.raised()
        # At the end of the interpreter it is closed and stays: other threads may be in a call.
        weakref.finalize(self, _library().runnel_free, self._handle).atexit = False
        self._cache, self._cache_size = cache, cache_size
        self._reference = _library().runnel_reference(self._handle)
        #: The id of the version; "" of a volume without versions.
        self.version: str = _library().runnel_version(self._handle).decode()
        _open_volumes.add(self)
        util.register_after_fork(self, _after_fork)

    @classmethod
    def _referred(cls, reference: bytes, cache, cache_size) -> "Volume":
        self = cls.__new__(cls)
        self._begin(lambda error: _library().runnel_open_reference(
            reference, _optional(cache), _size_text(cache_size), error), cache, cache_size)
        return self

    def __reduce__(self):
        return Volume._referred, (self._reference, self._cache, self._cache_size)

    def __repr__(self) -> str:
        return f"<runnel.data.Volume at version {self.version or 'none'}>"

    def __enter__(self) -> "Volume":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the version, in this process. What is read afterwards fails."""
        _library().runnel_close(self._handle)

    def stat(self, path: _PathLike = "", *, follow_symlinks: bool = True) -> os.stat_result:
        """As os.stat(), or os.lstat(), says of the same file in a mount."""
        return self._find(path, _FOLLOW if follow_symlinks else _ITSELF).as_stat()

    def exists(self, path: _PathLike) -> bool:
        return self._mode_of(path) != 0

    def isdir(self, path: _PathLike) -> bool:
        return stat.S_ISDIR(self._mode_of(path))

    def isfile(self, path: _PathLike) -> bool:
        return stat.S_ISREG(self._mode_of(path))

    def listdir(self, path: _PathLike = "") -> list[str]:
        """The names in a folder, in byte order."""
        return [os.fsdecode(entry.name) for entry in self._entries(path, _INODE_AND_KIND)]

    def walk(self, path: _PathLike = "") -> Iterator[tuple[str, list[str], list[str]]]:
        """As os.walk(): (folder, names of folders, names of others), from the top; links are not gone through."""
        top = os.fsdecode(path)
        folders, links, files = [], set(), []
        for entry in self._entries(top, _INODE_AND_KIND):
            name, kind = os.fsdecode(entry.name), entry.attributes.mode
            is_link = stat.S_ISLNK(kind)
            if stat.S_ISDIR(kind) or (is_link and self.isdir(_joined(top, name))):
                folders.append(name)
                links.update([name] if is_link else [])
            else:
                files.append(name)
        yield top, folders, files
        for name in folders:
            if name not in links:
                yield from self.walk(_joined(top, name))

    def load(self, path: _PathLike, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of a file from `offset` on: `length` of them, or all."""
        if offset < 0 or (length or 0) < 0:
            raise ValueError(f"offset {offset} and length {length} must be 0 or more")
        found, whole = self._load(path)
        end = found.size if length is None else min(offset + length, found.size)
        if whole is not None:
            return whole[offset:end]
        return self._read_bytes(found.inode, offset, max(0, end - offset), path)

    def open(self, path: _PathLike, mode: str = "rb", buffering: int = -1, encoding: str | None = None,
             errors: str | None = None, newline: str | None = None) -> io.IOBase:
        """As open() does: "rb" is the default here; "r" and "rt" are text. Files of a version cannot be written."""
        is_text = _check_mode(mode, buffering, encoding, errors, newline)
        raw = _File(self, os.fsdecode(path), *self._load(path))
        if buffering == 0:
            return raw
        file = io.BufferedReader(raw, BUFFER_BYTES if buffering < 2 else buffering)
        return io.TextIOWrapper(file, encoding, errors, newline) if is_text else file

    # What the functions of C say.

    def _find(self, path: _PathLike, links: int = _FOLLOW) -> _Attributes:
        found, error = _Attributes(), _Error()
        if _library().runnel_stat(self._handle, _bytes_of(path), links, ctypes.byref(found), ctypes.byref(error)) < 0:
            raise error.raised(os.fsdecode(path))
        return found

    def _mode_of(self, path: _PathLike) -> int:
        """0: it leads nowhere."""
        try:
            return self._find(path).mode
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
                return 0
            raise

    def _entries(self, path: _PathLike, details: int) -> Iterator[_Entry]:
        after, text = b"", _bytes_of(path)
        while True:
            part, error = (_Entry * LIST_AT_ONCE)(), _Error()
            count = _library().runnel_list(self._handle, text, after, details, part, LIST_AT_ONCE, ctypes.byref(error))
            if count < 0:
                raise error.raised(os.fsdecode(path))
            yield from part[:count]
            if count < LIST_AT_ONCE:
                return
            after = part[count - 1].name

    def _load(self, path: _PathLike) -> tuple[_Attributes, bytes | None]:
        """What a file is, with its bytes unless these are more than SMALL_BYTES."""
        buffer, found, error = ctypes.create_string_buffer(SMALL_BYTES), _Attributes(), _Error()
        size = _library().runnel_load(self._handle, _bytes_of(path), ctypes.byref(found), buffer, SMALL_BYTES,
                                      ctypes.byref(error))
        if size < 0:
            raise error.raised(os.fsdecode(path))
        return found, ctypes.string_at(buffer, size) if found.size <= SMALL_BYTES else None

    def _read_into(self, inode: int, offset: int, address: int, length: int, path: _PathLike) -> int:
        """Fewer bytes than `length` only at the end of the file."""
        error = _Error()
        size = _library().runnel_read(self._handle, inode, offset, address, length, ctypes.byref(error))
        if size < 0:
            raise error.raised(os.fsdecode(path))
        return size

    def _read_bytes(self, inode: int, offset: int, length: int, path: _PathLike) -> bytes:
        """Straight into the object that is returned: a checkpoint is not in memory twice."""
        if length == 0:
            return b""
        data = _new_bytes(None, length)
        address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
        size = self._read_into(inode, offset, address, length, path)
        return data if size == length else data[:size]


def _check_mode(mode: str, buffering: int, encoding, errors, newline) -> bool:
    """Whether a file is to be read as text. Refuses what cannot be."""
    if any(letter in mode for letter in "wax+"):
        raise OSError(errno.EROFS, f"mode {mode!r}: a version of a volume never changes; "
                                   "write to a folder and add it: runnel volume put DIR NAME")
    if mode not in ("r", "rb", "br", "rt", "tr"):
        raise ValueError(f"invalid mode: {mode!r}; it is 'rb' or 'r'")
    is_text = "b" not in mode
    if not is_text and any(given is not None for given in (encoding, errors, newline)):
        raise ValueError("binary mode takes no encoding, errors or newline")
    if is_text and buffering == 0:
        raise ValueError("text needs a buffer")
    if encoding is not None:
        codecs.lookup(encoding)
    return is_text


class _File(io.RawIOBase):
    """One file, at a place in it."""

    mode = "rb"

    def __init__(self, volume: Volume, name: str, found: _Attributes, whole: bytes | None):
        self.name = name
        self._volume = volume
        self._inode = found.inode
        self.size = found.size
        self._whole = whole
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self._check_open()
        view = memoryview(buffer).cast("B")
        length = min(len(view), max(0, self.size - self._place))
        if length == 0:
            return 0
        if self._whole is not None:
            view[:length] = self._whole[self._place:self._place + length]
        else:
            address = ctypes.addressof(ctypes.c_char.from_buffer(view))
            length = self._volume._read_into(self._inode, self._place, address, length, self.name)
        self._place += length
        return length

    def readall(self) -> bytes:
        self._check_open()
        if self._whole is not None:
            data = self._whole[self._place:]
        else:
            rest = max(0, self.size - self._place)
            data = self._volume._read_bytes(self._inode, self._place, rest, self.name)
        self._place += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._check_open()
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}.get(whence)
        if base is None:
            raise ValueError(f"invalid whence: {whence}; it is 0, 1 or 2")
        if base + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._place = base + offset
        return self._place

    def tell(self) -> int:
        self._check_open()
        return self._place

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

"""Volumes for who speaks fsspec: runnel://NAME@VERSION/PATH, read-only.

    with fsspec.open("runnel://fashion@latest/train/labels.csv") as file: ...
    pandas.read_csv("runnel://fashion@latest/train/labels.csv", storage_options={"cache": "/ssd/cache"})

Options are those of runnel.data.Volume: store, cache, cache_size. "latest" is looked up once in a process, and again after
invalidate_cache(); what is pickled stays at the version that was found.
"""

import errno
import os
import stat
import weakref
from datetime import datetime, timezone

try:
    from fsspec import AbstractFileSystem, register_implementation
except ImportError as error:
    raise ImportError("runnel:// needs fsspec: pip install fsspec; runnel.data.Volume works without it") from error

from runnel.data import _ALL_DETAILS, _INODE_AND_KIND, Volume, split_name


# By NAME@VERSION and options: fsspec has a file system for each thread, and these are the same volumes.
_open_volumes: "weakref.WeakValueDictionary[tuple, Volume]" = weakref.WeakValueDictionary()


class RunnelFileSystem(AbstractFileSystem):
    protocol = "runnel"
    root_marker = ""

    def __init__(self, store: str | None = None, cache: str | None = None, cache_size: int | str | None = None, **options):
        super().__init__(store=store, cache=cache, cache_size=cache_size, **options)
        self._options = {"store": store, "cache": cache, "cache_size": cache_size}
        self._volumes: dict[str, Volume] = {}

    def __reduce__(self):
        return _at_versions, (type(self), self.storage_args, self.storage_options, self._volumes)

    @classmethod
    def _strip_protocol(cls, path):
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return os.fspath(path).removeprefix("runnel://").strip("/")

    def _place(self, path: str) -> tuple[str, Volume, str]:
        """NAME@VERSION as it was written, the volume, and the path in it."""
        target, _, inner = self._strip_protocol(path).partition("/")
        if not target:
            raise FileNotFoundError(errno.ENOENT, "a volume is to be named: runnel://NAME@VERSION/PATH", path)
        if target not in self._volumes:
            key = self._key(target)
            self._volumes[target] = _open_volumes.get(key) or _open_volumes.setdefault(
                key, Volume(*split_name(target), **self._options))
        return target, self._volumes[target], inner

    def _key(self, target: str) -> tuple:
        return target, *self._options.values()

    def invalidate_cache(self, path=None):
        """Versions are looked up anew."""
        for target in self._volumes:
            _open_volumes.pop(self._key(target), None)
        self._volumes.clear()
        super().invalidate_cache(path)

    def ls(self, path, detail=True, **_):
        target, volume, inner = self._place(path)
        found = volume.stat(inner)
        if not stat.S_ISDIR(found.st_mode):
            return [_info(self._strip_protocol(path), found)] if detail else [self._strip_protocol(path)]
        top = f"{target}/{inner}" if inner else target
        entries = volume._entries(inner, _ALL_DETAILS if detail else _INODE_AND_KIND)
        if not detail:
            return [f"{top}/{os.fsdecode(entry.name)}" for entry in entries]
        return [self._listed(volume, inner, top, os.fsdecode(entry.name), entry.attributes.as_stat()) for entry in entries]

    def _listed(self, volume, folder: str, top: str, name: str, seen: os.stat_result) -> dict:
        """A link to a file is the file. Any other is itself: nobody walks through it, and perhaps in circles."""
        path = f"{folder}/{name}" if folder else name
        is_link = stat.S_ISLNK(seen.st_mode)
        found = volume.stat(path) if is_link and volume.isfile(path) else seen
        return _info(f"{top}/{name}", found, is_link)

    def info(self, path, **_):
        _, volume, inner = self._place(path)
        is_link = stat.S_ISLNK(volume.stat(inner, follow_symlinks=False).st_mode)
        return _info(self._strip_protocol(path), volume.stat(inner), is_link)

    def exists(self, path, **_):
        return self._answers(Volume.exists, path)

    def isdir(self, path):
        return self._answers(Volume.isdir, path)

    def isfile(self, path):
        return self._answers(Volume.isfile, path)

    def _answers(self, question, path) -> bool:
        """Of a volume or a version that is not there: False, as of a path. A store that does not answer raises."""
        try:
            _, volume, inner = self._place(path)
        except FileNotFoundError:
            return False
        return question(volume, inner)

    def cat_file(self, path, start=None, end=None, **_):
        _, volume, inner = self._place(path)
        if not start and end is None:
            return volume.load(inner)
        size = volume.stat(inner).st_size if (start or 0) < 0 or (end or 0) < 0 else 0
        begin, until = ((place + size if place < 0 else place) if place is not None else None for place in (start, end))
        begin = max(0, begin or 0)
        return volume.load(inner, begin, None if until is None else max(0, until - begin))

    def _open(self, path, mode="rb", block_size=None, autocommit=True, cache_options=None, **_):
        _, volume, inner = self._place(path)
        file = volume.open(inner, mode)
        file.size = file.raw.size  # As files of fsspec have it; `read_block` asks for it.
        return file

    def modified(self, path):
        return datetime.fromtimestamp(self.info(path)["mtime"], timezone.utc)

    def checksum(self, path):
        """The same for as long as the bytes are the same."""
        _, volume, inner = self._place(path)
        return hash((volume.version, volume.stat(inner).st_ino))

    def ukey(self, path):
        _, volume, inner = self._place(path)
        return f"{volume.version}-{volume.stat(inner).st_ino}"

    def _refused(self, *_, **__):
        raise OSError(errno.EROFS, "a version of a volume never changes; add files with runnel volume put DIR NAME")

    mkdir = makedirs = rmdir = rm = rm_file = _rm = cp_file = mv = touch = pipe_file = put_file = _refused


def _info(name: str, found: os.stat_result, is_link: bool = False) -> dict:
    kinds = {stat.S_IFDIR: "directory", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
    return {"name": name, "size": found.st_size, "type": kinds[stat.S_IFMT(found.st_mode)], "mode": found.st_mode,
            "mtime": found.st_mtime, "ino": found.st_ino, "uid": found.st_uid, "gid": found.st_gid, "islink": is_link}


def _at_versions(kind, arguments, options, volumes: dict[str, Volume]) -> RunnelFileSystem:
    """A file system of another process, at the versions that were found there."""
    made = kind(*arguments, **options, skip_instance_cache=True)
    made._volumes.update(volumes)
    return made


register_implementation("runnel", RunnelFileSystem, clobber=True)

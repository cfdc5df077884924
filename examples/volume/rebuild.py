"""Rebuilds a version of a volume from its store alone, by docs/design/volume_format.md. No Runnel is needed.

usage: python3 rebuild.py URL FOLDER [VERSION]

URL is file:///DIR/NAME or s3://BUCKET/PREFIX/NAME, FOLDER must not be there, VERSION is the beginning of an id, or the
newest. Pages and files are checked by SHA-256, objects of other buckets by ETag. Needs fsspec, zstandard; s3fs for S3.
"""

import functools
import hashlib
import io
import json
import os
import sys

import fsspec
import zstandard

PIECE = 1 << 20
NOBODY = bytes(16)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def expect(truth, what):
    if not truth:
        raise SystemExit(f"damaged: {what}")


class Store:
    """The objects of a volume; what a clone has not is below the volumes that it comes of, which lie beside it."""

    def __init__(self, url):
        scheme, place = url.split("://", 1)
        self.files, self.places = fsspec.filesystem(scheme), [place]
        self.get = functools.lru_cache(maxsize=8)(self.fetch)  # Packs are 64 MiB at most.

    def fetch(self, key):
        for place in self.places if key[:2] in ("p/", "i/") else self.places[:1]:
            try:
                return self.files.cat_file(f"{place}/{key}")
            except FileNotFoundError:
                continue
        raise SystemExit(f"damaged: {key} is missing" + ", or its version was dropped" * key.startswith("v/"))

    def part(self, kind, object_id, ref, packed):
        """A page of a bundle or a chunk of a pack."""
        key = f"{kind}/{object_id[:8].hex()}-{object_id[8:].hex()}"
        stored = self.get(key)[ref["offset"]:ref["offset"] + ref["stored"]]
        try:
            return zstandard.decompress(stored, max_output_size=ref["length"]) if packed else stored
        except zstandard.ZstdError as error:
            raise SystemExit(f"damaged: {key} at byte {ref['offset']}: {error}") from None


class Record(io.BytesIO):
    """A decoder of the format's numbers and texts."""

    def take(self, count):
        taken = self.read(count)
        expect(len(taken) == count, "a record ends too early")
        return taken

    def natural(self):
        byte = self.take(1)[0]
        return byte if byte < 128 else byte - 128 + (self.natural() << 7)

    def text(self):
        return self.take(self.natural())


def extents_of(data):
    found = []
    for _ in range(data.natural()):
        extent = {"pack": data.take(16), "offset": data.natural(), "stored": data.natural(),
                  "length": data.natural(), "codec": data.take(1)[0]}
        if extent["codec"] == 2:  # The whole object of a bucket: its store's URL, its key, its ETag.
            extent["object"] = tuple(data.text().decode("utf-8", "surrogateescape") for _ in range(3))
        else:
            data.take(8 * -(-extent["stored"] // 65536))  # XXH3 of its blocks; the file's SHA-256 says more.
        found.append(extent)
    return found


def node_of(data):
    node = {"kind": data.take(1)[0], "mode": data.natural(), "links": data.natural(), "names": {}}
    seconds = data.natural()  # An integer: zigzag.
    node["time_ns"] = (seconds >> 1 ^ -(seconds & 1)) * 10**9 + data.natural()
    node["uid"], node["gid"] = data.natural() - 1, data.natural() - 1
    if node["kind"] == 1:
        node["size"], node["hash"], node["extents"] = data.natural(), data.take(32), extents_of(data)
    elif node["kind"] == 3:
        node["target"] = data.text()
    return node


def entries(store, ref):
    """Key and value of each record below a page."""
    page = store.part("i", ref["bundle"], ref, ref["stored"] != ref["length"])
    expect(sha256(page) == ref["sha256"], f"a page of bundle {ref['bundle'].hex()} at byte {ref['offset']}")
    data, key = Record(page), b""
    height = data.take(1)[0]
    for _ in range(data.natural()):
        key = key[:data.natural()] + data.text()
        value = Record(data.text())
        if height == 0:
            yield key, value
        else:
            below = {"bundle": value.take(16), "offset": value.natural(), "stored": value.natural(),
                     "length": value.natural(), "sha256": value.take(32)}
            yield from entries(store, {**below, "bundle": ref["bundle"]} if below["bundle"] == NOBODY else below)


def tree(store, ref):
    if ref:
        bundle = bytes.fromhex(ref["bundle"].replace("-", ""))
        yield from entries(store, {**ref, "bundle": bundle, "sha256": bytes.fromhex(ref["sha256"])})


def manifest_of(store, version):
    head = json.loads(store.get("head"))
    store.places += [os.path.join(os.path.dirname(store.places[0]), base) for base in head.get("bases", [])]
    expect(head["min_reader"] <= 1, f"the volume needs a reader of format {head['min_reader']}")
    text = head["manifest"].encode() if head.get("manifest") else store.get(head["recent"][0]["key"])
    expect(sha256(text).hex() == head["manifest_sha256"], "the newest manifest")
    found = json.loads(text)
    places = head["recent"] + [tag["place"] for tag in head.get("tags", [])]
    kept = {place["version"]: place["key"] for place in places}
    while not found["version"].startswith(version):  # Many are neither tagged nor among the newest 64.
        key = next((kept[name] for name in kept if name.startswith(version)), found.get("parent_key"))
        expect(key, f"no version {version}")
        found = json.loads(store.get(key))
    return found


def content_of(store, extent):
    if extent["pack"] == NOBODY:  # A hole.
        return bytes(extent["length"])
    if "object" in extent:
        url, key, etag = extent["object"]
        other = Store(url)
        content = other.get(key)
        same = other.files.info(f"{other.places[0]}/{key}")["ETag"].strip('"') == etag
        expect(same and len(content) == extent["length"], f"{url}/{key} is another object")
        return content
    return store.part("p", extent["pack"], extent, extent["codec"] == 1)


def write_file(store, path, node):
    with open(path, "w+b") as file:
        for extent in node["extents"]:
            file.write(content_of(store, extent))
        file.seek(0)
        pieces = [sha256(piece) for piece in iter(lambda: file.read(PIECE), b"")] or [sha256(b"")]
    whole = pieces[0] if len(pieces) == 1 else sha256(b"runnel pieces 1\n", *pieces)
    is_object = any("object" in extent for extent in node["extents"])  # Its hash is of its name and ETag.
    expect(is_object or whole == node["hash"], os.fsdecode(path))


def nodes_of(store, manifest):
    """Each node by its inode, a folder with the names in it."""
    nodes = {}
    for key, value in tree(store, manifest.get("inodes")):
        if len(key) == 8:
            nodes[key] = node_of(value)
        else:  # What follows the node of a long file.
            nodes[key[:8]]["extents"] += extents_of(value)
    for key, value in tree(store, manifest.get("names")):
        value.take(1)  # Its kind is in its node, too.
        nodes[key[:8]]["names"][key[8:]] = value.natural().to_bytes(8, "big")
    return nodes


def rebuild(store, version, folder):
    manifest = manifest_of(store, version)
    nodes, made, todo = nodes_of(store, manifest), {}, [(os.fsencode(folder), (1).to_bytes(8, "big"))]
    for path, inode in todo:  # It grows by what is in each folder.
        node = nodes[inode]
        if node["kind"] == 2:
            expect(inode not in made, "a folder with two names")
            os.mkdir(path)
            for name, below in node["names"].items():
                expect(b"/" not in name and name not in (b"", b".", b".."), "a name")
                todo.append((os.path.join(path, name), below))
        elif inode in made:
            os.link(made[inode], path, follow_symlinks=False)
        elif node["kind"] == 3:
            os.symlink(node["target"], path)
        else:
            write_file(store, path, node)
        made[inode] = path
    for path, inode in reversed(todo):  # A folder's time is of before, once all in it is done.
        if nodes[inode]["kind"] != 3:
            os.chmod(path, nodes[inode]["mode"] & (0o7777 if nodes[inode]["kind"] == 2 else 0o1777))
        os.utime(path, ns=(nodes[inode]["time_ns"],) * 2, follow_symlinks=False)
    print(f"{manifest['version']}: {len(made)} files and folders in {folder}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    os.environ.setdefault("AWS_DEFAULT_REGION", os.environ.get("AWS_REGION", "us-east-1"))
    rebuild(Store(sys.argv[1].rstrip("/")), "".join(sys.argv[3:]), sys.argv[2])

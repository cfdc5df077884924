"""Rebuilds a version of a volume from its store alone, by docs/design/volume_format.md. No Runnel is needed.

usage: python3 rebuild.py URL FOLDER [VERSION]

URL is file:///DIR/NAME or s3://BUCKET/PREFIX/NAME; keys, region and endpoint are those of the AWS_* variables. FOLDER
must not be there. VERSION is the newest, or the beginning of the id of one of its ancestors. Each page and each file is
checked by its SHA-256, an object of another bucket by its ETag. It needs Python 3.9 and libzstd.so.1.
"""

import ctypes
import datetime
import functools
import hashlib
import hmac
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

PIECE = 1 << 20
ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
NOBODY = bytes(16)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def expect(truth, what):
    if not truth:
        raise SystemExit(f"damaged: {what}")


def unzstd(stored, length, what):
    out = ctypes.create_string_buffer(length)
    made = ZSTD.ZSTD_decompress(out, ctypes.c_size_t(length), stored, ctypes.c_size_t(len(stored)))
    expect(made == length, what)
    return out.raw


def s3_request(bucket, key):
    """A signed GET (AWS Signature Version 4, path style)."""
    env = os.environ
    region = env.get("AWS_REGION", "us-east-1")
    endpoint = env.get("AWS_ENDPOINT_URL", f"https://s3.{region}.amazonaws.com")
    path = urllib.parse.quote(f"/{bucket}/{key}")
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": urllib.parse.urlsplit(endpoint).netloc, "x-amz-content-sha256": sha256(b"").hex()}
    headers["x-amz-date"] = now
    if "AWS_SESSION_TOKEN" in env:
        headers["x-amz-security-token"] = env["AWS_SESSION_TOKEN"]
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = f"GET\n{path}\n\n{lines}\n{names}\n{headers['x-amz-content-sha256']}"
    scope = f"{now[:8]}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{sha256(canonical.encode()).hex()}"
    secret = ("AWS4" + env["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in (*scope.split("/"), text):
        secret = hmac.new(secret, part.encode(), "sha256").digest()
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={env['AWS_ACCESS_KEY_ID']}/{scope}, "
                                f"SignedHeaders={names}, Signature={secret.hex()}")
    return urllib.request.Request(endpoint + path, headers=headers)


class Store:
    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.places = [self.url.path]
        self.get = functools.lru_cache(maxsize=8)(self.fetch)  # Packs are 64 MiB at most.

    def fetch(self, key):
        """What a clone has not is below the volumes that it comes of, which lie beside it."""
        for place in self.places if key[:2] in ("p/", "i/") else self.places[:1]:
            try:
                return self.fetch_from(place, key)
            except (FileNotFoundError, urllib.error.HTTPError) as error:
                if getattr(error, "code", 404) != 404:
                    raise
                missing = error
        raise missing

    def fetch_from(self, place, key):
        if self.url.scheme == "file":
            with open(os.path.join(place, key), "rb") as file:
                return file.read()
        with urllib.request.urlopen(s3_request(self.url.netloc, f"{place.strip('/')}/{key}".lstrip("/"))) as answer:
            self.etag = answer.headers.get("ETag", "").strip('"')  # Of what was fetched last.
            return answer.read()


def key_of(kind, object_id):
    return f"{kind}/{object_id[:8].hex()}-{object_id[8:].hex()}"


class Bytes:
    """A decoder of the format's numbers and texts."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        expect(self.at <= len(self.data), "a record ends too early")
        return self.data[self.at - count:self.at]

    def natural(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def integer(self):
        value = self.natural()
        return value >> 1 ^ -(value & 1)

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
    node = {"kind": data.take(1)[0], "mode": data.natural(), "links": data.natural()}
    node["time_ns"] = data.integer() * 10**9 + data.natural()
    node["uid"], node["gid"] = data.natural() - 1, data.natural() - 1
    if node["kind"] == 1:
        node["size"], node["hash"], node["extents"] = data.natural(), data.take(32), extents_of(data)
    elif node["kind"] == 3:
        node["target"] = data.text()
    return node


def entries(store, bundle, ref):
    """Key and value of each record below a page."""
    what = f"a page of {key_of('i', bundle)} at byte {ref['offset']}"
    page = store.get(key_of("i", bundle))[ref["offset"]:ref["offset"] + ref["stored"]]
    if ref["stored"] != ref["length"]:
        page = unzstd(page, ref["length"], what)
    expect(sha256(page) == ref["sha256"], what)
    data, key = Bytes(page), b""
    height = data.take(1)[0]
    for _ in range(data.natural()):
        key = key[:data.natural()] + data.text()
        value = Bytes(data.text())
        if height == 0:
            yield key, value
            continue
        below = value.take(16)
        place = {"offset": value.natural(), "stored": value.natural(), "length": value.natural()}
        yield from entries(store, bundle if below == NOBODY else below, {**place, "sha256": value.take(32)})


def tree(store, ref):
    if ref is None:
        return
    bundle = bytes.fromhex(ref["bundle"].replace("-", ""))
    yield from entries(store, bundle, {**ref, "sha256": bytes.fromhex(ref["sha256"])})


def manifest_of(store, version):
    head = json.loads(store.get("head"))
    store.places += [os.path.join(os.path.dirname(store.url.path), base) for base in head.get("bases", [])]
    expect(head["min_reader"] <= 1, f"the volume needs a reader of format {head['min_reader']}")
    text = head["manifest"].encode() if head.get("manifest") else store.get(head["recent"][0]["key"])
    expect(sha256(text).hex() == head["manifest_sha256"], "the newest manifest")
    found = json.loads(text)
    while not found["version"].startswith(version):
        expect(found.get("parent_key"), f"no version {version}")
        found = json.loads(store.get(found["parent_key"]))
    return found


def content_of(store, extent):
    if extent["pack"] == NOBODY:  # A hole.
        return bytes(extent["length"])
    if "object" in extent:
        url, key, etag = extent["object"]
        other = Store(url)
        try:
            content = other.get(key)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"damaged: {url}/{key}: {error}") from None
        expect(other.etag == etag and len(content) == extent["length"], f"{url}/{key} is another object")
        return content
    key = key_of("p", extent["pack"])
    stored = store.get(key)[extent["offset"]:extent["offset"] + extent["stored"]]
    return unzstd(stored, extent["length"], f"{key} at byte {extent['offset']}") if extent["codec"] else stored


def write_file(store, path, node, extents):
    with open(path, "w+b") as file:
        for extent in extents:
            file.write(content_of(store, extent))
        file.seek(0)
        pieces = [sha256(piece) for piece in iter(lambda: file.read(PIECE), b"")] or [sha256(b"")]
    whole = pieces[0] if len(pieces) == 1 else sha256(b"runnel pieces 1\n", *pieces)
    is_object = any("object" in extent for extent in extents)  # Its hash is of its name and ETag.
    expect(is_object or whole == node["hash"], os.fsdecode(path))
    finish(path, node)


def finish(path, node):
    os.chmod(path, node["mode"])
    os.utime(path, ns=(node["time_ns"],) * 2)


def rebuild(store, version, folder):
    manifest = manifest_of(store, version)
    names, nodes, more = {}, {}, {}
    for key, value in tree(store, manifest.get("names")):
        names.setdefault(key[:8], []).append((key[8:], value.take(1)[0], value.natural().to_bytes(8, "big")))
    for key, value in tree(store, manifest.get("inodes")):
        if len(key) == 8:
            nodes[key] = node_of(value)
        else:
            more.setdefault(key[:8], []).extend(extents_of(value))
    made, todo, folders = {}, [(os.fsencode(folder), (1).to_bytes(8, "big"))], []
    while todo:
        path, inode = todo.pop()
        node = nodes[inode]
        if node["kind"] == 2:
            os.mkdir(path)
            for name, _, below in names.get(inode, []):
                expect(b"/" not in name and name not in (b"", b".", b".."), "a name")
                todo.append((os.path.join(path, name), below))
            folders.append((path, node))
        elif inode in made:
            os.link(made[inode], path, follow_symlinks=False)
        elif node["kind"] == 3:
            os.symlink(node["target"], path)
            os.utime(path, ns=(node["time_ns"],) * 2, follow_symlinks=False)
        else:
            write_file(store, path, node, node["extents"] or more.get(inode, []))
        made[inode] = path
    for path, node in reversed(folders):
        finish(path, node)
    print(f"{manifest['version']}: {len(made)} files and folders in {folder}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    rebuild(Store(sys.argv[1].rstrip("/")), "".join(sys.argv[3:]), sys.argv[2])

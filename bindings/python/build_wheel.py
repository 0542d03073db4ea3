# SPDX-License-Identifier: BSD-2-Clause
"""Builds the package for pip, from the tree of proftrace: with a C compiler, and without anything that pip would have to
download. One binary serves CPython 3.9 and later. pyproject.toml names this file; see PEP 517.
"""

import base64
import glob
import hashlib
import os
import re
import shlex
import subprocess
import sysconfig
import tempfile
import zipfile

with open("proftrace/__init__.py", encoding="utf-8") as file:
    VERSION = re.search(r'^__version__ = "(.*)"', file.read(), re.MULTILINE).group(1)
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
TAG = f"cp39-abi3-{PLATFORM}"
INFO = f"proftrace-{VERSION}.dist-info"

METADATA = f"""Metadata-Version: 2.1
Name: proftrace
Version: {VERSION}
Summary: Marks in a program that a tracer can see, and that cost next to nothing until then
License: BSD-2-Clause
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""

WHEEL = f"""Wheel-Version: 1.0
Generator: proftrace
Root-Is-Purelib: false
Tag: {TAG}
"""

# The second one is no module, but a plug-in of `proftrace --handler`; see proftrace.handlers.
BINARIES = {
    "_native.abi3.so": ("src/*.c", ["-DPy_LIMITED_API=0x03090000"]),
    "_handler.abi3.so": ("handler/handler.c", ["-D_GNU_SOURCE"]),
}


def _compile(sources, options):
    """The bytes of a shared object."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    headers = ["../../include", sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "binary.so")
        subprocess.run(
            [*compiler, "-std=gnu11", "-O2", "-fvisibility=hidden", "-fPIC", "-shared", *options]
            + [f"-I{path}" for path in headers]
            + [*shlex.split(os.environ.get("CFLAGS", "")), *sorted(glob.glob(sources)), "-o", out]
            + [*shlex.split(os.environ.get("LDFLAGS", "")), "-lpthread", "-ldl"],
            check=True,
        )
        return _read(out)


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _metadata():
    return METADATA.encode() + _read("README.md")


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    os.makedirs(os.path.join(metadata_directory, INFO))
    with open(os.path.join(metadata_directory, INFO, "METADATA"), "wb") as file:
        file.write(_metadata())
    return INFO


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {path: _read(path) for path in glob.glob("proftrace/*.py*") + ["proftrace/py.typed"] if os.path.isfile(path)}
    for name, (sources, options) in BINARIES.items():
        files[f"proftrace/{name}"] = _compile(sources, options)
    files[f"{INFO}/METADATA"] = _metadata()
    files[f"{INFO}/WHEEL"] = WHEEL.encode()
    record = ""
    name = f"proftrace-{VERSION}-{TAG}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in sorted(files.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            wheel.writestr(path, data)
        wheel.writestr(f"{INFO}/RECORD", record + f"{INFO}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("proftrace is built from its tree, which has the headers of C, too")

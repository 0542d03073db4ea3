# SPDX-License-Identifier: BSD-2-Clause
"""Builds the extension module from the tree: one binary for CPython 3.9 and later (pip install ./bindings/python)."""

import glob
import os

from setuptools import Extension, setup
from wheel.bdist_wheel import bdist_wheel

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)


class AbiWheel(bdist_wheel):
    """The name of the wheel says which versions it serves."""

    def finalize_options(self):
        self.py_limited_api = "cp39"
        super().finalize_options()


setup(
    ext_modules=[
        Extension(
            "proftrace._native",
            sorted(glob.glob("src/*.c")),
            include_dirs=[os.path.join(os.pardir, os.pardir, "include")],
            depends=["src/native.h", os.path.join(os.pardir, os.pardir, "include", "proftrace.h")],
            define_macros=[("Py_LIMITED_API", "0x03090000")],
            extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden"],
            py_limited_api=True,
        ),
        # No module, but a plug-in of `proftrace --handler`; see proftrace.handlers.
        Extension(
            "proftrace._handler",
            ["handler/handler.c"],
            include_dirs=[os.path.join(os.pardir, os.pardir, "include")],
            define_macros=[("_GNU_SOURCE", None)],
            extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden"],
            py_limited_api=True,
        ),
    ],
    cmdclass={"bdist_wheel": AbiWheel},
)

# SPDX-License-Identifier: BSD-2-Clause
"""The integers of protobuf, for the decoders of these tests, which do not use what they test."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at

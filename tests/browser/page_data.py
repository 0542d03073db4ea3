# SPDX-License-Identifier: BSD-2-Clause
"""
page_data.py PAGE.html EXPRESSION

Prints an expression of the data `d` of a page, read without a browser.
"""
import base64
import json
import re
import sys
import zlib


def read(path):
    with open(path, encoding="utf-8") as file:
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1)
    data = json.loads(text)
    data["timeline"] = json.loads(zlib.decompress(base64.b64decode(data["timeline"], validate=True)))
    return data


if __name__ == "__main__":
    d = read(sys.argv[1])
    print(eval(sys.argv[2]))

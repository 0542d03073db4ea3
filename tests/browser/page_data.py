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

with open(sys.argv[1], encoding="utf-8") as file:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1)
d = json.loads(text)
d["timeline"] = json.loads(zlib.decompress(base64.b64decode(d["timeline"], validate=True)))
print(eval(sys.argv[2]))

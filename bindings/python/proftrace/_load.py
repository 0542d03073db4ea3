# SPDX-License-Identifier: BSD-2-Clause
"""The extension module, or what stands in for it on another system or in a subinterpreter.

The program then runs as well, without its marks. With PROFTRACE_STRICT in the environment it is an ImportError.
"""

import os

try:
    from . import _native as native
except ImportError:
    if os.environ.get("PROFTRACE_STRICT"):
        raise
    from . import _without as native

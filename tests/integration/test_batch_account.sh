#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The accounting of a recording in buffered mode agrees with the counts of the program.
mode=batch
. "$(dirname "$0")/test_account.sh"

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The books of a program and the account of its recording, with marks in batches.
mode=batch
. "$(dirname "$0")/test_account.sh"

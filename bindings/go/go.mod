// SPDX-License-Identifier: BSD-2-Clause

module proftrace

go 1.19

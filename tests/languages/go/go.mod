// SPDX-License-Identifier: BSD-2-Clause

module marks

go 1.19

require proftrace v0.0.0

replace proftrace => ../../../bindings/go

# SPDX-License-Identifier: BSD-2-Clause
# The kinds of markers in the order of their numbers: those of each domain, and those of the control site.
domain_kinds="begin end instant counter async_begin async_end flow_out flow_in alloc free"
control_kinds="thread_name step pause resume dump stop include_json scope_push scope_pop"
n_domain_kinds=$(echo $domain_kinds | wc -w) n_control_kinds=$(echo $control_kinds | wc -w)

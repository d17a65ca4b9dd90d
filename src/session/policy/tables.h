/* SPDX-License-Identifier: MIT */
#ifndef SC_SESSION_POLICY_TABLES_H
#define SC_SESSION_POLICY_TABLES_H

/* One spec per command of the allowlist; judge.c looks them up in sc_policy_specs. */

#include "session/policy/judge.h"

/* clang-format off */
extern const struct sc_spec sc_spec_ls, sc_spec_dir, sc_spec_pwd, sc_spec_tree;
extern const struct sc_spec sc_spec_cat, sc_spec_head, sc_spec_tail, sc_spec_file, sc_spec_stat;
extern const struct sc_spec sc_spec_grep, sc_spec_find, sc_spec_which;
extern const struct sc_spec sc_spec_cut, sc_spec_sort, sc_spec_uniq, sc_spec_wc;
extern const struct sc_spec sc_spec_awk, sc_spec_sed, sc_spec_tr, sc_spec_strings;
extern const struct sc_spec sc_spec_diff, sc_spec_cmp;
extern const struct sc_spec sc_spec_md5sum, sc_spec_sha256sum, sc_spec_shasum;
extern const struct sc_spec sc_spec_jq, sc_spec_xxd, sc_spec_od;
extern const struct sc_spec sc_spec_echo, sc_spec_printf, sc_spec_date, sc_spec_uname;
extern const struct sc_spec sc_spec_printenv, sc_spec_env;
extern const struct sc_spec sc_spec_unzip, sc_spec_tar, sc_spec_zip;
/* clang-format on */

#endif

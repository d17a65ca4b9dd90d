/* SPDX-License-Identifier: MIT */
#include "session/policy/tables.h"

/* The allowlist, in the order of strcmp(). */
const struct sc_spec *const sc_policy_specs[] = {&sc_spec_awk, &sc_spec_cat, &sc_spec_cmp,
	&sc_spec_cut, &sc_spec_date, &sc_spec_diff, &sc_spec_dir, &sc_spec_echo,
	&sc_spec_env, &sc_spec_file, &sc_spec_find, &sc_spec_grep, &sc_spec_head,
	&sc_spec_jq, &sc_spec_ls, &sc_spec_md5sum, &sc_spec_od, &sc_spec_printenv,
	&sc_spec_printf, &sc_spec_pwd, &sc_spec_sed, &sc_spec_sha256sum, &sc_spec_shasum,
	&sc_spec_sort, &sc_spec_stat, &sc_spec_strings, &sc_spec_tail, &sc_spec_tar,
	&sc_spec_tr, &sc_spec_tree, &sc_spec_uname, &sc_spec_uniq, &sc_spec_unzip,
	&sc_spec_wc, &sc_spec_which, &sc_spec_xxd, &sc_spec_zip};

const size_t sc_policy_specs_len = sizeof(sc_policy_specs) / sizeof(sc_policy_specs[0]);

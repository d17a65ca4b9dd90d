/* SPDX-License-Identifier: MIT */
/*
 * The command policy: the input is a command.  What is allowed has a role for every word
 * and parses to the same form from its printed text; and what is allowed without the option
 * for quoted operators is allowed with it.
 */
#include "fuzz.h"

#define POLICY_CHECK FUZZ_CHECK
#include "oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool strict = policy_oracle((const char *)data, size, 0);
	bool quoted =
		policy_oracle((const char *)data, size, SANDCELL_CLI_QUOTED_OPERATORS);

	FUZZ_CHECK(!strict || quoted);
	return 0;
}

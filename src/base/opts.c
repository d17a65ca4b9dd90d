/* SPDX-License-Identifier: MIT */
#include "base/opts.h"

#include <string.h>

#define OPTS_SIZE_MAX 4096

int sc_opts_load(void *mine, size_t mine_size, size_t first_size, const void *theirs,
	const char *name, sandcell_error **err_out)
{
	size_t size = 0;

	memset(mine, 0, mine_size);
	if (theirs) {
		memcpy(&size, theirs, sizeof(size));
		if (size < first_size || size > OPTS_SIZE_MAX)
			return sc_fail(err_out, SANDCELL_E_INVAL,
				"%s: struct_size is %zu, expected %zu; start from "
				"%s_init()",
				name, size, mine_size, name);
		for (size_t i = mine_size; i < size; i++) {
			if (((const unsigned char *)theirs)[i])
				return sc_fail(err_out, SANDCELL_E_INVAL,
					"%s: this library is too old for a member at "
					"offset %zu",
					name, i);
		}
		memcpy(mine, theirs, size < mine_size ? size : mine_size);
	}
	memcpy(mine, &mine_size, sizeof(mine_size));
	return 0;
}

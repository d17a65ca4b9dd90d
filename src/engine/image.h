/* SPDX-License-Identifier: MIT */
#ifndef SC_ENGINE_IMAGE_H
#define SC_ENGINE_IMAGE_H

/* Images; nothing here talks to a registry. */

#include "engine/engine.h"
#include "engine/http.h"

/* SANDCELL_E_NOTFOUND when the engine has no such image. */
int sc_image_inspect(sandcell_engine *engine, const char *name, sc_deadline deadline,
	json_t **root_out, sandcell_error **err_out);
/* Array of list entries; labels as in sc_container_list(). */
int sc_image_list(sandcell_engine *engine, const char *const *labels, sc_deadline deadline,
	json_t **array_out, sandcell_error **err_out);

struct sc_image_import {
	const char *repository; /* "sandcell/python" */
	const char *tag;	/* NULL: "latest" */
	const char *message;	/* NULL: none */
	const char *const
		*changes;     /* "LABEL a=b", "CMD ..."; NULL-terminated; NULL: none */
	sc_http_read_fn read; /* the tar of the root file system */
	void *user;
};

/* Makes an image of a tar.  Slow: only the deadline counts. */
int sc_image_import(sandcell_engine *engine, const struct sc_image_import *import,
	sc_deadline deadline, char **id_out, sandcell_error **err_out);
int sc_image_tag(sandcell_engine *engine, const char *name, const char *repository,
	const char *tag, sc_deadline deadline, sandcell_error **err_out);
/* Missing is success; SANDCELL_E_CONFLICT while a container uses it. */
int sc_image_remove(sandcell_engine *engine, const char *name, sc_deadline deadline,
	sandcell_error **err_out);

#endif

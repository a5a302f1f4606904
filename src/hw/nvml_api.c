/* nvml_api.c: find NVIDIA's management library and its functions. */
#include "hw/nvml_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "hw/backend.h"

#define NVML_SONAME "libnvidia-ml.so.1"
#define WHAT        "NVIDIA GPUs"

_Static_assert(sizeof(struct nvml_field) == 40, "layout of nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "layout of nvmlMemory_v2_t");

enum status nvml_status(int ret)
{
	switch (ret) {
	case NVML_SUCCESS:
		return ST_OK;
	case NVML_NOT_SUPPORTED:
	case NVML_FUNCTION_NOT_FOUND:
	case NVML_ARGUMENT_VERSION_MISMATCH:
	case NVML_DEPRECATED:
		return ST_UNSUPPORTED;
	case NVML_NO_PERMISSION:
		return ST_NO_PERMISSION;
	case NVML_NOT_FOUND:
		return ST_NOT_FOUND;
	case NVML_UNINITIALIZED:
	case NVML_DRIVER_NOT_LOADED:
	case NVML_GPU_IS_LOST:
	case NVML_RESET_REQUIRED:
	case NVML_GPU_NOT_FOUND:
		return ST_LOST;
	case NVML_TIMEOUT:
		return ST_TIMEOUT;
	case NVML_INVALID_ARGUMENT:
		return ST_INVALID;
	case NVML_IN_USE:
		return ST_BUSY;
	case NVML_NO_DATA:
	case NVML_NOT_READY:
		return ST_UNKNOWN;
	case NVML_MEMORY:
		return ST_NOMEM;
	default:
		return ST_IO;
	}
}

const char *nvml_text(const struct nvml_api *api, int ret)
{
	const char *s = api->error_string ? api->error_string(ret) : NULL;

	return s && *s ? s : status_name(nvml_status(ret));
}

enum status nvml_field_value(const struct nvml_field *f, int64_t *out)
{
	if (f->ret != NVML_SUCCESS)
		return nvml_status(f->ret);
	switch (f->type) {
	case NVML_VALUE_DOUBLE:
		if (!(f->value.d >= 0 && f->value.d < 9e18))
			return ST_CORRUPT;
		*out = (int64_t)f->value.d;
		break;
	case NVML_VALUE_UINT:
		*out = f->value.ui;
		return value_status(*out, false);
	case NVML_VALUE_ULONG:
	case NVML_VALUE_ULLONG:
		if (f->value.u64 > INT64_MAX)
			return ST_UNKNOWN;
		*out = (int64_t)f->value.u64;
		break;
	case NVML_VALUE_SLLONG:
		*out = f->value.s64;
		break;
	case NVML_VALUE_SINT:
		*out = f->value.si;
		break;
	case NVML_VALUE_USHORT:
		*out = f->value.us;
		break;
	default:
		return ST_CORRUPT;
	}
	if (*out < 0)
		return ST_UNKNOWN;
	return value_status(*out, true);
}

/* The newest name the library has; NULL when none. */
static void *find(void *lib, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *p = dlsym(lib, names[i]);

		if (p)
			return p;
	}
	return NULL;
}

/* Name of the first needed function that is missing, or NULL. */
static const char *bind(struct nvml_api *api)
{
	const char *missing = NULL;

#define X(need, member, args, ...)                                                                 \
	do {                                                                                       \
		static const char *const names[] = {__VA_ARGS__};                                  \
		void *p = find(api->lib, names, sizeof(names) / sizeof(names[0]));                 \
		memcpy(&api->member, &p, sizeof(p));                                               \
		if (!p)                                                                            \
			log_debug("nvml", "no %s", names[0]);                                      \
		if (!p && need && !missing)                                                        \
			missing = names[0];                                                        \
	} while (0);
	NVML_SYMBOLS(X)
#undef X
	{
		void *p = dlsym(api->lib, "nvmlErrorString");

		memcpy(&api->error_string, &p, sizeof(p));
	}
	api->simulated = dlsym(api->lib, SIM_MARKER_SYMBOL) != NULL;
	return missing;
}

/* Why an explicit path cannot be loaded, before the loader says so less clearly. */
static enum status check_path(const char *path, struct hw_notes *notes, struct err *e)
{
	struct stat sb;
	char why[192];

	if (stat(path, &sb) < 0) {
		snprintf(why, sizeof(why), "'%.120s': %s", path, strerror(errno));
		hw_note(notes, WHAT, why, "correct WATTLAW_NVML, or unset it");
		return err_set(e, ST_UNSUPPORTED, "%s", why);
	}
	if (S_ISDIR(sb.st_mode)) {
		snprintf(why, sizeof(why), "'%.120s' is a directory, not a library", path);
		hw_note(notes, WHAT, why,
			"a container runtime makes one when it mounts a library the host lacks: "
			"remove "
			"it, install the driver on the host, or start the container with --gpus");
		return err_set(e, ST_UNSUPPORTED, "%s", why);
	}
	return ST_OK;
}

static enum status note_dlopen(const char *text, struct hw_notes *notes, struct err *e)
{
	const char *why = text ? text : "the library cannot be loaded";
	const char *fix = "reinstall the NVIDIA driver's libraries";

	if (strstr(why, "wrong ELF class") || strstr(why, "invalid ELF header") ||
		strstr(why, "file too short"))
		fix = "this is not a library for this machine: install the driver libraries of "
		      "this "
		      "architecture";
	else if (strstr(why, "irectory") && !strstr(why, "No such file"))
		fix = "a container runtime makes a directory of that name when the host lacks the "
		      "library: remove it and install the driver on the host";
	else if (strstr(why, "No such file")) {
		why = NVML_SONAME " is not installed";
		fix = "none needed without NVIDIA GPUs; otherwise install the driver, and in a "
		      "container start it with --gpus or the nvidia runtime";
	}
	hw_note(notes, WHAT, why, fix);
	return err_set(e, ST_UNSUPPORTED, "%s", why);
}

static enum status note_init(struct nvml_api *api, int ret, struct hw_notes *notes, struct err *e)
{
	const char *fix = "see the kernel log (dmesg) for the driver's messages";
	char why[192];

	if (ret == NVML_DRIVER_NOT_LOADED)
		fix = "load the driver (modprobe nvidia) or wait until it is up, then start again";
	else if (ret == NVML_NO_PERMISSION)
		fix = "give this user access to /dev/nvidiactl and /dev/nvidia*";
	else if (ret == NVML_LIB_RM_VERSION_MISMATCH)
		fix = "driver and library have different versions: reload the driver or restart";
	else if (ret == NVML_GPU_IS_LOST)
		fix = "a GPU fell off the bus: reset it or restart the machine";
	snprintf(why, sizeof(why), "NVML does not start: %s", nvml_text(api, ret));
	hw_note(notes, WHAT, why, fix);
	return err_set(e, nvml_status(ret) == ST_OK ? ST_IO : nvml_status(ret), "%s", why);
}

enum status nvml_load(struct nvml_api *api, const struct backend_env *env, struct err *e)
{
	const char *path = env->nvml_path;
	struct hw_notes *notes = env->notes;
	const char *missing;
	char why[192];
	enum status st;
	int ret;

	memset(api, 0, sizeof(*api));
	if (path) {
		st = check_path(path, notes, e);
		if (st != ST_OK)
			return st;
	}
	api->lib = dlopen(path ? path : NVML_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!api->lib)
		return note_dlopen(dlerror(), notes, e);
	missing = bind(api);
	if (api->simulated && env->simulated)
		atomic_store(env->simulated, true);
	if (missing) {
		snprintf(why, sizeof(why), "the library has no %s: not a usable NVML", missing);
		hw_note(notes, WHAT, why, "install NVIDIA driver 384 or later");
		dlclose(api->lib);
		memset(api, 0, sizeof(*api));
		return err_set(e, ST_UNSUPPORTED, "%s", why);
	}
	ret = NVML_CALL(api, init);
	if (ret != NVML_SUCCESS) {
		st = note_init(api, ret, notes, e);
		dlclose(api->lib);
		memset(api, 0, sizeof(*api));
		return st;
	}
	return ST_OK;
}

void nvml_unload(struct nvml_api *api)
{
	if (!api->lib)
		return;
	if (api->shutdown)
		api->shutdown();
	dlclose(api->lib);
	memset(api, 0, sizeof(*api));
}

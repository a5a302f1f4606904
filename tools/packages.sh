# packages.sh: the Debian packages that ./start and ./check need; one list for both. Sourced by them.
#
#   packages_require "${packages_start[@]}"
#
# installs what is missing when root, and says exactly what to install when not.

# to build everything and run the main job
packages_start=(
	gcc
	libc6-dev
	libcminpack-dev
	libdnnl-dev
	libjansson-dev
	libjpeg-dev
	libjs-chart.js
	libopenmpi-dev
	libpng-dev
	libsqlite3-dev
	meson
	ninja-build
	openmpi-bin
	pkg-config
	python3
)

# to build every way and run every test, too
packages_check=(
	"${packages_start[@]}"
	chromium
	clang
	clang-format
	g++
	git
	jq
	libclang-rt-14-dev
	locales
	procps
	scdoc
	strace
	slurm-wlm-basic-plugins
	slurmd
	sqlite3
	util-linux
)

# ./check --torch
packages_torch=(
	python3-scipy
	python3-torch
)

packages_missing() {
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

# packages_require PACKAGE…: 0 when all are there now
packages_require() {
	local missing apt_options=(-y -qq --no-install-recommends)

	if ! command -v dpkg-query >/dev/null; then
		echo "not a Debian system: install what these Debian packages hold, if it is missing:" >&2
		echo "  $*" >&2
		return 0
	fi
	mapfile -t missing < <(packages_missing "$@")
	[ ${#missing[@]} -eq 0 ] && return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "missing packages; as root, run:" >&2
		echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
		return 1
	fi
	echo "installing ${missing[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	# a mirror may be away for a moment
	for _ in 1 2 3; do
		apt-get update -qq >&2 && apt-get install "${apt_options[@]}" "${missing[@]}" >&2 && return 0
		sleep 5
	done
	echo "apt-get could not install: ${missing[*]}" >&2
	return 1
}

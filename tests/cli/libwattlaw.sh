# libwattlaw as a training program meets it: the header, the shared library, the Python module.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run
lib=$BUILD_ROOT/src/mark

is "$(nm -D --defined-only "$lib/libwattlaw.so.1" | awk '$2 ~ /[TDBR]/ { print $3 }' | grep -v '^wl_' | grep -c -v '^_')" 0 \
	"only wl_ symbols are exported"
is "$(ldd "$lib/libwattlaw.so.1" | grep -v -e linux-vdso -e ld-linux -e 'libc\.so' -e 'libm\.so' -e libpthread | grep -c '=>')" 0 \
	"it needs nothing but libc"

cat >train.c <<'END'
#include <time.h>
#include <wattlaw/mark.h>
int main(void)
{
	wl_job(1000, 16, 16);
	wl_phase_begin("train");
	for (int i = 0; i < 50; i++) {
		struct timespec t = {0, 10000000};
		nanosleep(&t, 0);
		wl_step(16);
		wl_loss(1.0 / (i + 1));
	}
	wl_phase_end();
	return 0;
}
END
cc=${CC:-cc}
$cc -std=c99 -D_POSIX_C_SOURCE=199309L -Wall -Wextra -Wpedantic -Werror -I"$SOURCE_ROOT/include" train.c -o train \
	-L"$lib" -lwattlaw -Wl,-rpath,"$lib" 2>cc.log
ok $? "a C99 program compiles and links with it" || sed 's/^/# /' cc.log
if command -v g++ >/dev/null; then
	cp train.c train.cpp
	g++ -Wall -Wextra -Werror -I"$SOURCE_ROOT/include" train.cpp -o train_cpp -L"$lib" -lwattlaw -Wl,-rpath,"$lib" 2>cc.log
	ok $? "and so does a C++ program" || sed 's/^/# /' cc.log
else
	skip 1 "g++ is not installed"
fi
try ./train
is "$code" 0 "it runs when nobody measures"
try wattlaw run -q --sensors none --json r.json -- ./train
is "$code" 0 "it runs when wattlaw measures"
is "$(jq -c '[.train.steps, .train.samples]' r.json)" '[50,800]' "its steps and samples are recorded"
is "$(jq -c '[.phases[].name]' r.json)" '["warmup","steady","tail","train"]' "its phases too, beside the derived ones"
is "$(jq '.train.step_s.mean > 0.0099 and .train.step_s.mean < 0.03' r.json)" true "time per step is elapsed over steps"

cat >train.py <<'END'
import time
import wattlaw
with wattlaw.phase("train"):
    for i in range(50):
        time.sleep(0.01)
        wattlaw.step(16)
END
export PYTHONPATH=$SOURCE_ROOT/src/mark/python PYTHONDONTWRITEBYTECODE=1
wattlaw run -q --sensors none --json p.json -- python3 -I -c 'pass'
is "$(jq -c '.train.steps' p.json)" null "a program without marks has unknown steps"
wattlaw run -q --sensors none --json p.json -- python3 train.py
is "$(jq -c '[.train.steps, .train.samples]' p.json)" '[50,800]' "the same from Python"
printf '[gpu 0]\nprofile = v100\npower = 250W\n' >s.ini
out=$(wattlaw sim exec --scenario s.ini -- wattlaw run -q -- python3 -c '
import time, wattlaw
wattlaw.step(1)
time.sleep(1)
before = wattlaw.energy_j()
time.sleep(2)
print(wattlaw.active(), wattlaw.energy_j() - before)' 2>/dev/null)
like "$out" '^True [0-9]' "the job sees that it is measured and what it used (here $out J)"
awk -v j="${out#* }" 'BEGIN { exit !(j > 400 && j < 620) }'
ok $? "about 250 W for two seconds, as far as the meter has come"
done_testing

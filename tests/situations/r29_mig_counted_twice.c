/* R29: with MIG the parent's energy is counted for each instance, or not at all (dcgm-exporter
 * #317, #3, #561). */
#include "feed.h"
#include "select_fake.h"

int main(void)
{
	struct build *b = a_build();
	struct device parent = a_gpu("GPU-0"), one = a_gpu("MIG-1"), two = a_gpu("MIG-2");
	int64_t uj = 0, uj1 = 0, uj2 = 0;

	one.counted = two.counted = false;
	build_device(b, &parent, true, -1);
	build_device(b, &one, true, 0);
	build_device(b, &two, true, 0);
	draws(b, 0, 100 * MS, 12 * S, 200000, true, &uj);
	draws(b, 1, 100 * MS, 12 * S, 200000, true, &uj1);
	draws(b, 2, 100 * MS, 12 * S, 200000, true, &uj2);
	record(b, S, 11 * S, 0);
	is_near((double)rec.energy_uj.v, 2e9, 4e6, "one GPU with two instances: its energy once");
	build_free(b);

	memset(&H, 0, sizeof(H));
	backend("nvml");
	add(DEV_GPU, "GPU-0", "A100", 0, -1);
	add(DEV_GPU, "MIG-1", "A100", 0, 0);
	add(DEV_GPU, "MIG-2", "A100", 1, 0);
	is_str(cuda("MIG-2"), "0 2", "a job with one instance: the parent does not vanish");
	/* the same kind: the other instance is somebody else's; a back end that says instances
	 * count */
	b = a_build();
	one.counted = two.counted = true;
	build_device(b, &parent, true, -1);
	build_device(b, &one, false, 0);
	build_device(b, &two, true, 0);
	uj = uj2 = 0;
	draws(b, 0, 100 * MS, 12 * S, 200000, true, &uj);
	draws(b, 2, 100 * MS, 12 * S, 200000, true, &uj2);
	record(b, S, 11 * S, 0);
	is_near((double)rec.energy_uj.v, 2e9, 4e6, "even if instances claim to count");
	ok(rec.shared_node, "and shared with others' instances");
	has(rec.devs[0].note, "instances of others", "which the device's note says");
	build_free(b);
	run_rec_release(&rec);
	selection_release(&last);
	return tap_done();
}

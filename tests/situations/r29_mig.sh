# R29: MIG instances repeat their GPU's energy, or show 0: the GPU is counted once.
. "$(dirname "$0")/situation.sh"

gpu_run 1.5 <<'END'
[gpu 0]
profile = a100
power = 300W
mig = 3g.20gb, 3g.20gb
END
near "$(run .energy.total_j)" "$(run '.wall_s * 300')" 5 "the total is the GPU's, once"
gpu_probe <scenario.ini
is "$(probe '[.devices[] | select(.kind == "gpu")] | length')" 3 "the GPU and its instances are listed"
is "$(probe '[.devices[] | select(.kind == "gpu" and .counted)] | length')" 1 "one is counted"
is "$(probe '[.devices[] | select(.kind == "gpu" and (.counted | not)).channels[] | select(.name == "energy" or .name == "power")] | length')" \
	0 "an instance claims no energy"

# the same kind: MIG on one GPU of two
gpu_run 1.5 <<'END'
[gpu 0-1]
profile = a100
power = 200W
[gpu 1]
mig = 1g.10gb
END
near "$(run .energy.total_j)" "$(run '.wall_s * 400')" 5 "beside a whole GPU both are counted once"
done_testing

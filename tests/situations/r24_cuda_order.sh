# R24: CUDA counts its devices fastest first, NVML by PCI address: with mixed cards an index is ambiguous.
. "$(dirname "$0")/situation.sh"

cat >mixed.ini <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 100W
[gpu 1]
profile = a100
power = 300W
END
CUDA_VISIBLE_DEVICES=0 gpu_run 2 <mixed.ini
has "$err" "does not say which GPU" "an index on a node of mixed models is said to be ambiguous"
uuid=$(wattlaw sim exec -s mixed.ini -- wattlaw probe --json --only nvml |
	jq -r '.devices[] | select(.kind == "gpu" and (.name | contains("V100"))) | .id')
CUDA_VISIBLE_DEVICES=$uuid gpu_run 2 <mixed.ini
near "$(run .energy.total_j)" "$(run '.wall_s * 100')" 5 "a UUID is not"
CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 gpu_run 2 <mixed.ini
near "$(run .energy.total_j)" "$(run '.wall_s * 300')" 8 "nor is an index in PCI order"

# the same kind: equal cards make any order the same
CUDA_VISIBLE_DEVICES=1 gpu_run 2 <<'END'
[gpu 0-1]
profile = a100
power = 300W
END
hasnt "$err" "does not say which GPU" "equal cards are not ambiguous"
near "$(run .energy.total_j)" "$(run '.wall_s * 300')" 8 "and one of them is counted"
done_testing

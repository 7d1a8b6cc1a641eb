#!/bin/bash
# Translate a large file by a Slurm array, a part a task.
#
#   sbatch --array 1-40 examples/slurm_translate.sh RUN INPUT FOLDER [options of `multihead translate`]
#   multihead translate RUN -i INPUT -o FOLDER --join OUTPUT
#
#SBATCH --job-name=multihead-translate
#SBATCH --requeue
set -euo pipefail

run=$1 input=$2 folder=$3
shift 3
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
part=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))
exec multihead translate "$run" -i "$input" -o "$folder" --part "$part/$SLURM_ARRAY_TASK_COUNT" "$@"

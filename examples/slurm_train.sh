#!/bin/bash
# Train in several processes under Slurm; the arguments are those of `multihead train`.
#
#   sbatch --nodes 2 --ntasks-per-node 2 examples/slurm_train.sh RECIPE --run runs/de-en --training.accumulate 4
#
#SBATCH --job-name=multihead
#SBATCH --requeue
#SBATCH --signal=TERM@120
set -euo pipefail

# SIGTERM comes 120 s before the time limit: the training saves its state, and the same job resumes.
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
export MASTER_ADDR=${hosts%%$'\n'*}
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}

srun --kill-on-bad-exit=1 bash -c '
  export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
  exec multihead train "$@"
' multihead "$@"

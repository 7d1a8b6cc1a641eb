#!/bin/bash
#SBATCH --job-name=multihead
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

# Trains for longer than one job may take: a minute or two before the time limit, and before a preemption, the
# training saves its state and exits with 138; the job is queued again and resumes.
#
#     sbatch examples/slurm/train.sh --src train.de --tgt train.en --run runs/de-en

SAVED_AND_TO_BE_RESUMED=138
MULTIHEAD=${MULTIHEAD:-multihead}

$MULTIHEAD train "$@" &
training=$!
trap 'kill -USR1 $training' USR1 TERM

# A signal ends `wait` early: wait again until the training has ended.
wait $training
code=$?
while kill -0 $training 2> /dev/null; do
    wait $training
    code=$?
done

if [ $code -eq $SAVED_AND_TO_BE_RESUMED ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit $code

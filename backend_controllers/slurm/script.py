"""The script of a job: it waits for its pods' "go", runs one step for each pod, and reports. Pure.

A grant starts nothing: the script only looks at the comment of its own job, and ends by itself when the
grant expires. Each pod is a step with a node of its own; its exit code goes into the name of the job.
Output goes to a file for each pod if there is a spool directory.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.environment import (
    ENV_ADDRESSES,
    environment,
)
from backend_controllers.slurm.mapping import SlurmPlan
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.runners import (
    LATER,
    command_of,
    later_addresses,
    step_options,
)

EXPIRED = 75
"""Exit code of a job that ended because it was not started in time."""

_BODY = """\
set -u
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
# A job that Slurm started again has no grant.
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || exit 75
expires=$(( $(date +%s) + grant ))

commands() {
  squeue --noheader --job "$SLURM_JOB_ID" --format %k 2>/dev/null | {
    read -r line || line=
    printf '%s' "${line##* }"
  }
}

note() { printf '%s\\n' "$2" > "$work/$1.new" && mv "$work/$1.new" "$work/$1.state"; }

run() {
  restarts=0
  while :; do
    note "$1" "R$restarts"
    "pod_$1" "$2" &
    child=$!
    printf '%s\\n' "$child" > "$work/$1.pid"
    wait "$child"
    code=$?
    note "$1" "E$code.$restarts"
    case $3$code in N*|O0) return ;; esac
    [ ! -e "$work/$1.drop" ] || return
    restarts=$((restarts + 1))
    sleep "$(( restarts < 6 ? restarts * restarts * 5 : 300 ))"
    [ ! -e "$work/$1.drop" ] || return
  done
}

drop() {
  : > "$work/$1.drop"
  [ -e "$work/$1.pid" ] || return 0
  read -r child < "$work/$1.pid"
  kill -TERM "$child" 2>/dev/null || return 0
  ( sleep "$2"; kill -KILL "$child" 2>/dev/null ) &
}

summary() {
  text='' last='' times=0 slot=0
  while [ "$slot" -le "$count" ]; do
    state='-'
    if [ "$slot" = "$count" ]; then state=end
    elif [ -e "$work/$slot.state" ]; then read -r state < "$work/$slot.state"; fi
    if [ "$state" = "$last" ]; then times=$((times + 1))
    else
      if [ -n "$last" ]; then
        [ "$times" = 1 ] || last="$last*$times"
        text="$text${text:+,}$last"
      fi
      last=$state times=1
    fi
    slot=$((slot + 1))
  done
}

reported='' looked=0 waits=1 tick=0 begun=0
while :; do
  if [ "$tick" -ge "$looked" ]; then
    wanted=$(commands)
    waits=0 slot=0 rest=$wanted
    [ "${#wanted}" = "$count" ] || { rest='' waits=1; }
    while [ -n "$rest" ]; do
      letter=${rest%"${rest#?}"} rest=${rest#?}
      case $letter in
        g) if [ ! -e "$work/$slot.go" ]; then
             : > "$work/$slot.go"
             begun=1
             eval "policy=\\$policy_$slot grace=\\$grace_$slot"
             run "$slot" "$(node "$slot")" "$policy" &
           fi ;;
        d|x) if [ ! -e "$work/$slot.go" ]; then
             : > "$work/$slot.go"
             : > "$work/$slot.drop"
             note "$slot" E143.0
           elif [ ! -e "$work/$slot.drop" ]; then
             eval "grace=\\$grace_$slot"
             drop "$slot" "$grace"
           fi ;;
        *) waits=1 ;;
      esac
      slot=$((slot + 1))
    done
    # Short steps while a pod waits for its start, and longer ones the longer it is not started.
    if [ "$waits" = 0 ]; then looked=$((tick + control))
    elif [ "$tick" -lt 30 ]; then looked=$((tick + 1))
    else looked=$((tick + 5)); fi
  fi
  if [ "$begun" = 0 ]; then
    [ "$(date +%s)" -lt "$expires" ] || exit 75
  else
    summary
    if [ "$text" != "$reported" ] &&
      scontrol update JobId="$SLURM_JOB_ID" Name="$title $text" >/dev/null 2>&1; then
      reported=$text
    fi
    # It ends when every pod ended for good and the name of the job shows how.
    open=0 worst=0 slot=0
    while [ "$slot" -lt "$count" ]; do
      state='-'
      [ ! -e "$work/$slot.state" ] || read -r state < "$work/$slot.state"
      eval "policy=\\$policy_$slot"
      code=${state#E} code=${code%%.*}
      case $policy$state in
        ?-|?R*) open=1 ;;
        NE*|OE0.*) [ "$code" -le "$worst" ] || worst=$code ;;
        *) [ -e "$work/$slot.drop" ] || open=1 ;;
      esac
      slot=$((slot + 1))
    done
    [ "$open" = 1 ] || [ "$text" != "$reported" ] || exit "$worst"
  fi
  tick=$((tick + 1))
  sleep 1
done
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a script needs to know beside its pods."""

    title: str
    grant_seconds: int
    ranks: Mapping[str, int]
    """The rank of every pod of the gang by name."""
    addresses: Mapping[str, str]
    """Addresses of pods that run already, by name."""


def script_of(plan: SlurmPlan, options: SlurmOptions, setting: Setting) -> str:
    """Return the script of a job."""
    slots = {pod.metadata.name: slot for slot, pod in enumerate(plan.pods)}
    lines = [
        "#!/bin/sh",
        "# Written by podgang. It waits for its start, runs one step for each pod, and reports.",
        f"title={shlex.quote(setting.title)}",
        # A PATH of a pod counts for its command, and never for these programs.
        *(f"{one}=$(command -v {one}) || {one}={one}" for one in ("srun", "apptainer")),
        f"count={len(plan.pods)} grant={setting.grant_seconds} control={options.control_seconds}",
        *_nodes(plan),
        f"export {ENV_ADDRESSES}={_addresses(slots, setting)}",
    ]
    for pod, slot, component in _placed(plan):
        letter = policy_letter(pod)
        grace = pod.spec.termination_grace_period_seconds
        lines.append(f"policy_{slot}={letter} grace_{slot}={grace}")
        lines += _function(pod, slot, component, plan, options, setting)
    return "\n".join(lines) + "\n" + _BODY


def policy_letter(pod: RemotePod) -> str:
    """Return the letter of a pod's restart policy."""
    return {"Always": "A", "OnFailure": "O"}.get(pod.spec.restart_policy, "N")


def _placed(plan: SlurmPlan) -> list[tuple[RemotePod, int, int]]:
    """Each pod with its place in the job and its component."""
    components = [place for place, one in enumerate(plan.components) for _ in range(one.pods)]
    return [(pod, slot, components[slot]) for slot, pod in enumerate(plan.pods)]


def _nodes(plan: SlurmPlan) -> list[str]:
    if len(plan.components) == 1:
        lists = ['"$SLURM_JOB_NODELIST"']
    else:
        lists = [f'"$SLURM_JOB_NODELIST_HET_GROUP_{n}"' for n in range(len(plan.components))]
    shown = "; ".join(f"scontrol show hostnames {one}" for one in lists)
    return [
        f"nodes=$({shown})",
        'node() { printf \'%s\\n\' "$nodes" | sed -n "$(( $1 + 1 ))p"; }',
    ]


def _addresses(slots: Mapping[str, int], setting: Setting) -> str:
    parts = []
    for name, _ in sorted(setting.ranks.items(), key=lambda one: one[1]):
        if name in slots:
            parts.append(f'"$(node {slots[name]})"')
        else:
            parts.append(shlex.quote(setting.addresses.get(name, "")))
    return ",".join(parts)


def _function(
    pod: RemotePod,
    slot: int,
    component: int,
    plan: SlurmPlan,
    options: SlurmOptions,
    setting: Setting,
) -> list[str]:
    rank = setting.ranks.get(pod.metadata.name, 0)
    # Values may refer to the addresses too, so they are computed with a mark for them.
    marked = environment(pod, rank, len(setting.ranks), LATER)
    shape = plan.components[component]
    words = [
        *('"$srun"', "--nodes=1", "--ntasks=1", '--nodelist="$1"', "--overlap", "--input=none"),
        *("--unbuffered", "--kill-on-bad-exit=0", f"--cpus-per-task={shape.cpus}"),
        *([f"--het-group={component}"] if len(plan.components) > 1 else []),
        *(["--gres=" + ",".join(f"{name}:{n}" for name, n in shape.gres)] if shape.gres else []),
        _output(slot, options),
        *step_options(pod, options),
    ]
    exports = [
        f"  export {name}={later_addresses(value)}"
        for name, value in marked.items()
        if name != ENV_ADDRESSES and name.isidentifier()
    ]
    command = " ".join([*words, *command_of(pod, options, marked)])
    # Slurm's own variables describe the whole job and would contradict the step.
    unset = "  unset SLURM_NTASKS SLURM_NPROCS SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE"
    return [f"pod_{slot}() {{", unset, *exports, f"  exec {command}", "}"]


def _output(slot: int, options: SlurmOptions) -> str:
    if options.spool_directory is None:
        return "--output=/dev/null --error=/dev/null"
    path = f'{shlex.quote(options.spool_directory)}/"$SLURM_JOB_ID".{slot}.log'
    return f"--output={path} --error={path} --open-mode=append"

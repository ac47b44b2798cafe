"""Every name that crosses a process boundary, defined once.

API groups, labels, annotations, gates, environment variables, conditions, reasons and field
managers. Keys of one scheduler are not here: its backend owns them, and core must not know them.
This module imports nothing, so every module may import it.
"""

GROVE_GROUP = "grove.io"
SCHEDULER_GROUP = "scheduler.grove.io"
VERSION = "v1alpha1"

# The backend of a PodGang, and the label that Grove's own tools select by.
LABEL_SCHEDULER_BACKEND = "grove.io/scheduler-backend"
LABEL_SCHEDULER_NAME = "grove.io/scheduler-name"

# Labels of managed objects.
LABEL_APP_NAME = "app.kubernetes.io/name"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_PART_OF = "app.kubernetes.io/part-of"
LABEL_COMPONENT = "app.kubernetes.io/component"
LABEL_PODCLIQUE = "grove.io/podclique"
LABEL_PODGANG = "grove.io/podgang"
LABEL_BASE_PODGANG = "grove.io/base-podgang"
LABEL_PCS_REPLICA_INDEX = "grove.io/podcliqueset-replica-index"
LABEL_PCSG = "grove.io/podcliquescalinggroup"
LABEL_PCSG_REPLICA_INDEX = "grove.io/podcliquescalinggroup-replica-index"
LABEL_POD_INDEX = "grove.io/podclique-pod-index"
LABEL_POD_TEMPLATE_HASH = "grove.io/pod-template-hash"
LABEL_MNNVL_GROUP = "grove.io/mnnvl-group"
# On pods of a set with jobs: the attempt that they belong to, if it is not the first.
LABEL_ATTEMPT = "grove.io/attempt"

OWNED_LABELS = frozenset(
    {
        LABEL_SCHEDULER_BACKEND,
        LABEL_SCHEDULER_NAME,
        LABEL_PODCLIQUE,
        LABEL_PODGANG,
        LABEL_BASE_PODGANG,
        LABEL_PCS_REPLICA_INDEX,
        LABEL_PCSG,
        LABEL_PCSG_REPLICA_INDEX,
        LABEL_POD_INDEX,
        LABEL_POD_TEMPLATE_HASH,
        LABEL_MNNVL_GROUP,
        LABEL_ATTEMPT,
    }
)
"""Labels under grove.io/ that core writes. It ignores them in the template of a clique."""

MANAGED_BY = "grove-operator"

# Values of LABEL_COMPONENT.
COMPONENT_HEADLESS_SERVICE = "pcs-headless-service"
COMPONENT_PCSG = "pcs-podcliquescalinggroup"
COMPONENT_HPA = "pcs-hpa"
COMPONENT_PODGANG = "podgang"
COMPONENT_PCS_PODCLIQUE = "pcs-podclique"
COMPONENT_PCSG_PODCLIQUE = "pcsg-podclique"
COMPONENT_RESOURCE_CLAIM = "resource-claim"
COMPONENT_COMPUTE_DOMAIN = "pcs-computedomain"

# Annotations that users write.
ANNOTATION_SCHEDULER_BACKEND = "grove.io/scheduler-backend"
ANNOTATION_PLACEMENT_POLICY = "grove.io/placement-policy"
ANNOTATION_MNNVL_GROUP = "grove.io/mnnvl-group"
ANNOTATION_SHARE_WITH = "grove.io/share-with"
ANNOTATION_RECONCILE_TRIGGER = "grove.io/reconcile-trigger"
ANNOTATION_DISABLE_PROTECTION = "grove.io/disable-managed-resource-protection"

MNNVL_GROUP_NONE = "none"

# Annotations that core writes. Core does not copy metadata with this prefix from a PodCliqueSet.
ANNOTATION_TOPOLOGY_NAME = "grove.io/topology-name"
ANNOTATION_MAX_RUNTIME = "grove.io/max-runtime"
ANNOTATION_PREPARATION = "grove.io/preparation"
ANNOTATION_PODGANG_UID = "grove.io/podgang-uid"
ANNOTATION_HANDOVER = "grove.io/placement-handover"
ANNOTATION_TEMPLATE_HASHES = "grove.io/pod-template-hashes"
ANNOTATION_HASH_ALGORITHM = "grove.io/pod-template-hash-algorithm"
RESERVED_PREFIX = "grove.io/"

# On a pod with a start-up order: `after` and the cliques that it waits for, then `cleared`.
ANNOTATION_STARTUP_ORDER = "grove.io/startup-order"
STARTUP_AFTER = "after "
STARTUP_CLEARED = "cleared"
# Requests of the init container that waits; schedulers that reserve capacity count them.
STARTUP_REQUESTS = {"cpu": "100m", "memory": "32Mi"}

# Scheduling gates. The SchedulerBackend names the gate that core creates the pods with.
GATE_PODGANG = "grove.io/podgang"

# Finalizers of Grove's operator. This product never sets them. It removes them from objects that it
# adopts, because no other controller is left that would.
FINALIZER_GROVE_PCS = "grove.io/podcliqueset.grove.io"
FINALIZER_GROVE_PCLQ = "grove.io/podclique.grove.io"
FINALIZER_GROVE_PCSG = "grove.io/podcliquescalinggroup.grove.io"
FINALIZER_GROVE_COMPUTE_DOMAIN = "grove.io/computedomain-finalizer"

# Environment variables of every container of a managed pod.
ENV_PCS_NAME = "GROVE_PCS_NAME"
ENV_PCS_INDEX = "GROVE_PCS_INDEX"
ENV_PCLQ_NAME = "GROVE_PCLQ_NAME"
ENV_HEADLESS_SERVICE = "GROVE_HEADLESS_SERVICE"
ENV_PCLQ_POD_INDEX = "GROVE_PCLQ_POD_INDEX"
ENV_PCSG_NAME = "GROVE_PCSG_NAME"
ENV_PCSG_INDEX = "GROVE_PCSG_INDEX"
ENV_PCSG_TEMPLATE_NUM_PODS = "GROVE_PCSG_TEMPLATE_NUM_PODS"

# Field managers. That of a backend is the prefix followed by the backend's name.
FIELD_MANAGER_CORE = "core-operator"
FIELD_MANAGER_LIFECYCLE = "core-operator-lifecycle"
FIELD_MANAGER_JOBS = "core-operator-jobs"
FIELD_MANAGER_BACKEND_PREFIX = "backend/"

# Conditions of a PodGang that core applies.
CONDITION_INITIALIZED = "Initialized"
CONDITION_BACKEND_SELECTED = "BackendSelected"
CONDITION_RELEASED = "Released"
CONDITION_UNHEALTHY = "Unhealthy"

# Conditions of a PodGang that its backend applies.
CONDITION_ACCEPTED = "Accepted"
CONDITION_PROGRAMMED = "Programmed"
CONDITION_SCHEDULED = "Scheduled"
CONDITION_READY = "Ready"
CONDITION_DISRUPTION_TARGET = "DisruptionTarget"

# Conditions of a SchedulerBackend: the backend applies Ready, core applies Available.
CONDITION_AVAILABLE = "Available"

# Conditions of PodCliqueSet, PodClique and PodCliqueScalingGroup beside Ready. kstatus defines
# the first two: kubectl wait, Flux and Argo CD read them.
CONDITION_RECONCILING = "Reconciling"
CONDITION_STALLED = "Stalled"
CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE = "TopologyLevelsUnavailable"
CONDITION_PODCLIQUE_SCHEDULED = "PodCliqueScheduled"
CONDITION_MIN_AVAILABLE_BREACHED = "MinAvailableBreached"
CONDITION_GANG_TERMINATION_IN_PROGRESS = "GangTerminationInProgress"
CONDITION_GANG_TERMINATION_PENDING = "GangTerminationPending"
CONDITION_UPDATING = "Updating"
CONDITION_UPDATE_IGNORED = "UpdateIgnored"

# Conditions of everything that runs to completion; core applies them to PodGangs too.
CONDITION_COMPLETED = "Completed"
CONDITION_FAILED = "Failed"

# Condition of a ClusterTopologyBinding.
CONDITION_SCHEDULER_TOPOLOGY_DRIFT = "SchedulerTopologyDrift"

# Reasons of Initialized.
REASON_PODS_CREATION_PENDING = "PodGangPodsCreationPending"
REASON_PODS_CREATED = "PodGangPodsCreated"

# Reasons of BackendSelected, Available and Accepted.
REASON_SELECTED = "Selected"
REASON_BACKEND_AVAILABLE = "BackendAvailable"
REASON_BACKEND_UNAVAILABLE = "BackendUnavailable"
REASON_BACKEND_UNKNOWN = "BackendUnknown"
REASON_NO_CANDIDATE = "NoCandidate"
REASON_POLICY_NOT_FOUND = "PlacementPolicyNotFound"
REASON_SCHEDULERS_DISAGREE = "SchedulersDisagree"
REASON_UNREADABLE = "Unreadable"
REASON_UNSUPPORTED = "Unsupported"
REASON_CONFLICT = "Conflict"
REASON_NO_CAPACITY = "NoCapacity"
REASON_SCHEDULER_API_MISSING = "SchedulerApiMissing"

# Reasons of Programmed and Scheduled that core knows: they require manual action.
REASON_REJECTED = "Rejected"
REASON_QUEUE_DOES_NOT_EXIST = "QueueDoesNotExist"
REASON_PODS_OF_EARLIER_GANG = "PodsOfEarlierGang"

# Reason of Scheduled while the scheduler does nothing with a gang.
REASON_SCHEDULER_NOT_RESPONDING = "SchedulerNotResponding"

# Reasons of TopologyLevelsUnavailable.
REASON_LEVELS_AVAILABLE = "AllClusterTopologyLevelsAvailable"
REASON_LEVELS_UNAVAILABLE = "ClusterTopologyLevelsUnavailable"
REASON_TOPOLOGY_BINDING_NOT_FOUND = "ClusterTopologyNotFound"
REASON_LEVELS_REVERSED = "ClusterTopologyLevelsReversed"
REASON_TOPOLOGY_NAME_MISSING = "TopologyNameMissing"

# Reasons of PodCliqueScheduled and MinAvailableBreached.
REASON_SUFFICIENT_SCHEDULED_PODS = "SufficientScheduledPods"
REASON_INSUFFICIENT_SCHEDULED_PODS = "InsufficientScheduledPods"
REASON_UPDATE_IN_PROGRESS = "UpdateInProgress"
REASON_SCHEDULED_BELOW_MIN_AVAILABLE = "ScheduledReplicasBelowMinAvailable"
REASON_INSUFFICIENT_READY_PODS = "InsufficientReadyPods"
REASON_SUFFICIENT_READY_PODS = "SufficientReadyPods"
REASON_INSUFFICIENT_AVAILABLE_PCSG = "InsufficientAvailablePodCliqueScalingGroupReplicas"
REASON_SUFFICIENT_AVAILABLE_PCSG = "SufficientAvailablePodCliqueScalingGroupReplicas"
REASON_GANG_TERMINATION_ACTIVE = "GangTerminationActive"
REASON_MIN_AVAILABLE_NEVER_MET = "MinAvailableNotMetYet"
REASON_SCALED_TO_ZERO = "ScaledToZero"
REASON_MIN_AVAILABLE_RECOVERING = "MinAvailableRecovering"

# Reasons of Completed and Failed, and of MinAvailableBreached in a set with jobs.
REASON_COMPLETION_CRITERIA_MET = "CompletionCriteriaMet"
REASON_POD_FAILED = "PodFailed"
REASON_RESTART_BUDGET_EXHAUSTED = "RestartBudgetExhausted"
REASON_MAX_RUNTIME_EXCEEDED = "MaxRuntimeExceeded"
REASON_RUNS_TO_COMPLETION = "RunsToCompletion"

# Reasons of UpdateIgnored.
REASON_JOB_RUNNING = "JobRunning"
REASON_JOB_FINISHED = "JobFinished"

# Reasons of SchedulerTopologyDrift.
REASON_TOPOLOGY_IN_SYNC = "InSync"
REASON_TOPOLOGY_DRIFT = "Drift"
REASON_TOPOLOGY_NOT_FOUND = "TopologyNotFound"

# Capabilities that core compares with what a gang needs. A SchedulerBackend may list others.
CAPABILITY_GANG = "Gang"
# Without Gang: core keeps the guarantee from outside, by release.bindTimeoutSeconds of the record.
CAPABILITY_GANG_BY_TIMEOUT = "GangByTimeout"
# Without Gang: the administrator permits scheduling pod by pod, without the gang guarantee.
CAPABILITY_PLAIN_SCHEDULING = "PlainScheduling"
CAPABILITY_GROUP_MINIMUMS = "GroupMinimums"
CAPABILITY_HIERARCHY = "Hierarchy"
CAPABILITY_TOPOLOGY_REQUIRED_GANG = "TopologyRequiredGang"
CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET = "TopologyRequiredGroupSet"
CAPABILITY_TOPOLOGY_REQUIRED_GROUP = "TopologyRequiredGroup"
CAPABILITY_TOPOLOGY_PREFERRED_GANG = "TopologyPreferredGang"
CAPABILITY_TOPOLOGY_PREFERRED_GROUP_SET = "TopologyPreferredGroupSet"
CAPABILITY_TOPOLOGY_PREFERRED_GROUP = "TopologyPreferredGroup"
CAPABILITY_PRIORITY = "Priority"
CAPABILITY_ELASTIC_SURPLUS = "ElasticSurplus"
CAPABILITY_RESIZE_IN_PLACE = "ResizeInPlace"
CAPABILITY_RESERVATION_REUSE = "ReservationReuse"
CAPABILITY_PLACEMENT_SCORE = "PlacementScore"

"""The API types that users, core and backends read and write. Import them from here.

Each kind has a module. `crdgen` generates the CRDs in crds/ from these modules.
"""

from shared_api.models.backend import (
    AfterBound,
    MemberLost,
    PodPreparationSpec,
    PreparationMode,
    ProgramsRelease,
    ReleaseRules,
    SchedulerBackend,
    SchedulerBackendSpec,
    SchedulerBackendStatus,
    SurplusRelease,
)
from shared_api.models.clique_template import PodCliqueScalingGroupConfig, PodCliqueTemplateSpec
from shared_api.models.compute import Accelerator, ComputeResource, Gpus, NodeLocation, Price
from shared_api.models.inventory import BackendInventory, BackendInventorySpec, InventoryRow
from shared_api.models.jobs import JOB_RESTART_POLICIES, GroupWorkloadPolicy, SetWorkloadPolicy
from shared_api.models.meta import (
    Condition,
    KubeModel,
    KubeObject,
    KubeStatus,
    LastError,
    NamespacedName,
    ObjectMeta,
    OwnerReference,
)
from shared_api.models.patch import (
    PLACEHOLDERS,
    PatchedToleration,
    PodPatch,
    PodPatches,
    PodSpecPatch,
    SchedulingGroup,
    WorkloadReference,
)
from shared_api.models.placement import (
    BackendSelector,
    LostAction,
    PlacementObjective,
    PlacementPolicy,
    PlacementPolicySpec,
)
from shared_api.models.podclique import (
    MAX_REPLICAS,
    AutoScalingConfig,
    PodClique,
    PodCliqueSpec,
    PodCliqueStatus,
    PodCliqueUpdateProgress,
    PodsSelectedToUpdate,
)
from shared_api.models.podcliquescalinggroup import (
    PodCliqueScalingGroup,
    PodCliqueScalingGroupStatus,
    PodCliqueScalingGroupUpdateProgress,
    ReplicasSelectedToUpdate,
)
from shared_api.models.podcliqueset import CliqueStartupType, PodCliqueSet, UpdateStrategyType
from shared_api.models.podcliqueset_status import (
    GangPhase,
    PodCliqueSetStatus,
    PodCliqueSetUpdateProgress,
    ReplicaUpdateProgress,
)
from shared_api.models.podgang import (
    BindAttempt,
    GangBlocker,
    GangTopologyConstraint,
    PlacementAttempt,
    PlacementOutcome,
    PlacementStatus,
    PodGang,
    PodGangPhase,
    PodGangStatus,
    PodGroup,
    PodPreparation,
)
from shared_api.models.remotegang import (
    RemoteGang,
    RemoteGangStatus,
    RemoteMember,
    RemoteMemberState,
    RemotePhase,
)
from shared_api.models.schema import JsonObject
from shared_api.models.sharing import (
    MAX_CLAIMS,
    PodCliqueSetResourceSharingSpec,
    ResourceSharingScope,
    ResourceSharingSpec,
    ScalingGroupResourceSharingSpec,
)
from shared_api.models.topology import (
    ClusterTopologyBinding,
    ClusterTopologyBindingStatus,
    SchedulerTopologyBinding,
    SchedulerTopologyStatus,
    TopologyConstraint,
    TopologyPack,
)

"""A gang written by hand for Kubernetes 1.36: a Workload, its PodGroup and gated pods.

It shows what the control plane does without the product.
"""

from local_cluster.api import Object

GATE = "example.com/gang"
API_VERSION = "scheduling.k8s.io/v1alpha2"


def gang_objects(name: str, namespace: str, size: int) -> tuple[Object, Object]:
    """Return the Workload and the PodGroup with a minimum of `size` pods."""
    metadata = {"name": name, "namespace": namespace}
    policy = {"gang": {"minCount": size}}
    workload: Object = {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"podGroupTemplates": [{"name": "main", "schedulingPolicy": policy}]},
    }
    template = {"workload": {"workloadName": name, "podGroupTemplateName": "main"}}
    group: Object = {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"podGroupTemplateRef": template, "schedulingPolicy": policy},
    }
    return workload, group


def gang_pods(name: str, namespace: str, size: int, *, cpu: str) -> list[Object]:
    """Return the gated pods of the gang. The gates are removed when all pods exist."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{index}",
                "namespace": namespace,
                "labels": {"gang": name},
            },
            "spec": {
                "schedulingGroup": {"podGroupName": name},
                "schedulingGates": [{"name": GATE}],
                "containers": [
                    {
                        "name": "main",
                        "image": "example.com/none",
                        "resources": {"requests": {"cpu": cpu}},
                    }
                ],
            },
        }
        for index in range(size)
    ]

"""A small local kubelet: pods of one node run as processes of this machine.

It exists for the product's own Deployments in the local cluster, so that scaling, rolling
updates, RBAC and leader election are real. A watch delivers the node's pods (reflector, agent);
each pod mounts its volumes and runs its containers (pods, volumes, containers); each container
is a process on a leash (processes, leash) with probes and restarts; their state goes
back as status and events (reporting, events). What can be decided without doing anything is
pure: environment, paths, projection, probes, backoff, status, adoption, placement.

It refuses what processes cannot give: images, mount and network namespaces, Secrets, host
paths, resource limits. Its one promise is that no process outlives it.
"""

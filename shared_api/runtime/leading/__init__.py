"""One leader among the replicas, and the fence that only the leader passes."""

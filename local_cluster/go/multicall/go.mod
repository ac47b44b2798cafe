// The program itself, shared by every Kubernetes minor. It requires nothing: the
// module of the minor that builds it pins every version.
module local-cluster/multicall

go 1.25.0

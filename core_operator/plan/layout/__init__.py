"""What a PodCliqueSet consists of: names, PodCliques, scaling groups, gangs and revisions."""

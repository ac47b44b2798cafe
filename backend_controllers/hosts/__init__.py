"""Gangs over several hosts, the same for every kind of host: packing, and all of a gang or nothing.

`executor` is the far side of a backend with hosts; each host is a `GangHost`, such as one Docker engine or
one machine that is reached over SSH. `memory` has what a host reported last, and what calls under way
take from it. `packing` chooses the hosts; it is pure.
"""

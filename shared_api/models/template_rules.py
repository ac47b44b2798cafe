"""Rules of a PodCliqueSet about several cliques and scaling groups.

The API server limits the estimated cost of a rule. So every list in a loop has a bound in its
schema, and loops are nested as little as possible.
"""

from shared_api.models.cel import each, some, text, unchanged
from shared_api.models.jobs import is_job
from shared_api.models.schema import Rule, forbidden, immutable

MAX_NAME_SUM = 45
"""Maximum length of the names of set, group and clique together, as in Grove: with indexes, the
names of pods then have at most 63 characters."""

MAX_STARTUP_CHAIN = 16
"""CEL has no recursion, so the search for cycles repeats its step this many times."""

_GROUPS = "self.podCliqueScalingGroups"
_CLIQUE_NAMES = "self.cliques.map(c, c.name)"


def _same_names(new: str, old: str) -> str:
    return f"size({new}) == size({old}) && {new}.all(a, {old}.exists(b, b.name == a.name))"


# Messages begin as those of Grove's webhooks do, since scripts match on them.
_COMPOSITION = (
    "not allowed to change clique composition: cliques can be neither added, removed nor renamed"
)
_GROUP_COMPOSITION = "not allowed to add or remove PodCliqueScalingGroupConfigs, nor to change scaling group composition"
_FIXED_TEMPLATES = "resource claim templates can be neither added, removed nor renamed"
_HAVE_SAME_NAMES = _same_names("self", "oldSelf")


def _same_presence(field: str) -> str:
    """A rule of the list itself does not run when the whole list is added or removed."""
    return unchanged(f"(has(self.{field}) && size(self.{field}) > 0)")


CLIQUES = (
    Rule(
        check="size(self) > 0",
        message="at least one PodClique must be defined",
        reason="FieldValueRequired",
    ),
    forbidden(_HAVE_SAME_NAMES, _COMPOSITION),
    Rule(
        check=f"self.all(a, self.exists_one(b, {text('b.spec.roleName')} == {text('a.spec.roleName')}))",
        message="Duplicate value: every clique needs a roleName of its own",
        detail=f"""'roleName: Duplicate value: "%s": every clique needs a roleName of its own'.format([
            self.map(c, {text("c.spec.roleName")}).filter(r, !self.exists_one(
            c, {text("c.spec.roleName")} == r))[0]])""",
    ),
    Rule(
        check=f"""[self.map(c, {text("c.spec.podSpec.schedulerName")}).filter(n, n != '')].all(
            used, used.all(n, n == used[0]))""",
        message="the schedulerName for all pods have to be the same, or empty",
        detail=f"""'the schedulerName for all pods have to be the same, or empty; found: %s'.format([
            self.map(c, {text("c.spec.podSpec.schedulerName")}).filter(n, n != '')])""",
    ),
)

SCALING_GROUPS = (forbidden(_HAVE_SAME_NAMES, _GROUP_COMPOSITION),)
CLAIM_TEMPLATES = (immutable(_HAVE_SAME_NAMES, _FIXED_TEMPLATES),)
PRESENCE = (
    forbidden(
        _same_presence("podCliqueScalingGroups"), _GROUP_COMPOSITION, ".podCliqueScalingGroups"
    ),
    immutable(
        _same_presence("resourceClaimTemplates"), _FIXED_TEMPLATES, ".resourceClaimTemplates"
    ),
)

_IMPLICIT = "self.cliqueStartupType != 'CliqueStartupTypeExplicit'"
_PARENTS = "c.spec.startsAfter"
_OWN_PARENT = f"(has({_PARENTS}) && c.name in {_PARENTS})"
_ALL_KNOWN = each(_PARENTS, "p", "self.cliques.exists(d, d.name == p)")


def _peeled() -> str:
    """Names of the cliques that can start, found step by step from those without predecessors."""
    ready = each(_PARENTS, "p", "p in done")
    return "[['']]" + f".map(done, self.cliques.filter(c, {ready}).map(c, c.name))" * (
        MAX_STARTUP_CHAIN
    )


STARTUP = (
    immutable(
        "self.cliqueStartupType == oldSelf.cliqueStartupType",
        "cliqueStartupType cannot be changed",
        ".cliqueStartupType",
    ),
    Rule(
        check="self.cliqueStartupType == 'CliqueStartupTypeAnyOrder'"
        f" || !({_same_names('self.cliques', 'oldSelf.cliques')})"
        f" || {_CLIQUE_NAMES} == oldSelf.cliques.map(c, c.name)",
        message="clique order cannot be changed when StartupType is InOrder or Explicit",
        field=".cliques",
    ),
    Rule(
        check=f"{_IMPLICIT} || !self.cliques.exists(c, {_OWN_PARENT})",
        message="clique dependency cannot refer to itself in startsAfter",
        detail=f"""'clique dependency cannot refer to itself in startsAfter: %s'.format([
            self.cliques.filter(c, {_OWN_PARENT})[0].name])""",
        field=".cliques",
    ),
    Rule(
        check=f"{_IMPLICIT} || self.cliques.all(c, {_ALL_KNOWN})",
        message="unknown clique names found, all clique dependencies must be defined as cliques",
        detail=f"""'unknown clique names found, all clique dependencies must be defined as cliques:
            startsAfter of clique %s; known are: %s'.format([
            self.cliques.filter(c, !{_ALL_KNOWN})[0].name, {_CLIQUE_NAMES}])""",
        field=".cliques",
    ),
    Rule(
        # True where one of the two rules above is false: their messages are more precise.
        check=f"{_IMPLICIT} || self.cliques.exists(c, {_OWN_PARENT} || !{_ALL_KNOWN})"
        f" || {_peeled()}.all(done, size(done) == size(self.cliques))",
        message="clique must not have circular dependencies in startsAfter, nor a chain of more than"
        f" {MAX_STARTUP_CHAIN} cliques",
        field=".cliques",
    ),
)

_UNKNOWN_MEMBER = "!g.cliqueNames.all(n, self.cliques.exists(c, c.name == n))"
_GROUPED = some(_GROUPS, "g", "c.name in g.cliqueNames")
# An autoscaler has the name of its target, whatever the target's kind.
_SAME_AUTOSCALER = f"""(has(c.spec.autoScalingConfig)
    && {some(_GROUPS, "g", "g.name == c.name && has(g.scaleConfig)")})"""

GROUP_MEMBERS = (
    Rule(
        check=f"!{some(_GROUPS, 'g', _UNKNOWN_MEMBER)}",
        message="unidentified PodClique names found in cliqueNames",
        detail=f"""'unidentified PodClique names found in scaling group %s; known are: %s'.format([
            {_GROUPS}.filter(g, {_UNKNOWN_MEMBER})[0].name, {_CLIQUE_NAMES}])""",
        field=".podCliqueScalingGroups",
    ),
    Rule(
        check=f"""!has({_GROUPS}) || self.cliques.all(c, size({_GROUPS}.filter(
            g, c.name in g.cliqueNames)) <= 1)""",
        message="Duplicate value: a clique belongs to at most one scaling group",
        detail=f"""'cliqueNames: Duplicate value: "%s": a clique belongs to at most one group'.format([
            self.cliques.filter(c, size({_GROUPS}.filter(
            g, c.name in g.cliqueNames)) > 1)[0].name])""",
        field=".podCliqueScalingGroups",
    ),
    Rule(
        check=f"self.cliques.all(c, !has(c.spec.autoScalingConfig) || !{_GROUPED})",
        message="AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling group:"
        " use scaleConfig of the group",
        detail=f"""'AutoScalingConfig is not allowed to be defined for PodClique that is part of scaling
            group, use scaleConfig of the group: %s'.format([self.cliques.filter(c, has(c.spec.autoScalingConfig) && {_GROUPED})[0].name])""",
        field=".cliques",
        reason="FieldValueForbidden",
    ),
    Rule(
        check=f"self.cliques.all(c, !has(c.rollingUpdate) || !{_GROUPED})",
        message="a clique of a scaling group has no rollingUpdate: use rollingUpdate of the group",
        detail=f"""'a clique of a scaling group has no rollingUpdate, use rollingUpdate of the group: %s'
            .format([self.cliques.filter(c, has(c.rollingUpdate) && {_GROUPED})[0].name])""",
        field=".cliques",
        reason="FieldValueForbidden",
    ),
    Rule(
        check=f"!self.cliques.exists(c, {_SAME_AUTOSCALER})",
        message="a clique and a scaling group that are both autoscaled need different names",
        detail=f"""'a clique and a scaling group that are both autoscaled need different names: %s'
            .format([self.cliques.filter(c, {_SAME_AUTOSCALER})[0].name])""",
        field=".podCliqueScalingGroups",
    ),
)


def _foreign(owner: str) -> str:
    internal = some("self.resourceClaimTemplates", "t", "t.name == s.name")
    return some(f"{owner}.resourceSharing", "s", f"{text('s.namespace')} != '' && {internal}")


_FOREIGN = "namespace must be empty when name matches an internal resourceClaimTemplate"
_KNOWN_CLIQUES = each("s.filter.childCliqueNames", "n", "self.cliques.exists(c, c.name == n)")
_KNOWN_GROUPS = each("s.filter.childScalingGroupNames", "n", some(_GROUPS, "g", "g.name == n"))

SHARING = (
    Rule(check=f"!{_foreign('self')}", message=_FOREIGN, field=".resourceSharing"),
    Rule(
        check=f"!{some(_GROUPS, 'g', _foreign('g'))}",
        message=_FOREIGN,
        field=".podCliqueScalingGroups",
    ),
    Rule(check=f"!self.cliques.exists(c, {_foreign('c')})", message=_FOREIGN, field=".cliques"),
    Rule(
        check=each("self.resourceSharing", "s", f"!has(s.filter) || {_KNOWN_CLIQUES}"),
        message="Not found: a filter of resourceSharing may only name cliques of this set",
        detail="""'Not found: a filter of resourceSharing may only name cliques of this set: %s'
            .format(["""
        f"{_CLIQUE_NAMES}])",
        field=".resourceSharing",
    ),
    Rule(
        check=each("self.resourceSharing", "s", f"!has(s.filter) || {_KNOWN_GROUPS}"),
        message="Not found: a filter of resourceSharing may only name scaling groups of this set",
        field=".resourceSharing",
    ),
)


def _topology_name(owner: str) -> str:
    constraint = f"{owner}.topologyConstraint"
    return f"(has({constraint}) ? {text(f'{constraint}.topologyName')} : '')"


def _unnamed(owner: str) -> str:
    return f"has({owner}.topologyConstraint) && {_topology_name(owner)} == ''"


_TOPOLOGY_NAMES = f"""([{_topology_name("self")}] + self.cliques.map(c, {_topology_name("c")})
    + (has({_GROUPS}) ? {_GROUPS}.map(g, {_topology_name("g")}) : [])).filter(n, n != '')"""
_INHERITS = some(_GROUPS, "g", f"c.name in g.cliqueNames && {_topology_name('g')} != ''")

TOPOLOGY = (
    Rule(
        check=f"oldSelf.hasValue() || [{_TOPOLOGY_NAMES}].all(u, u.all(n, n == u[0]))",
        message="all topologyConstraint.topologyName values within a PodCliqueSet must match",
        detail=f"""'all topologyConstraint.topologyName values within a PodCliqueSet must match; found: %s'
            .format([
            {_TOPOLOGY_NAMES}])""",
        on_create=True,
    ),
    Rule(
        check=f"""oldSelf.hasValue() || {_topology_name("self")} != '' || !({_unnamed("self")}
            || {some(_GROUPS, "g", _unnamed("g"))}
            || self.cliques.exists(c, {_unnamed("c")} && !{_INHERITS}))""",
        message="topologyName is required when topologyConstraint is set and cannot be inherited",
        reason="FieldValueRequired",
        on_create=True,
    ),
)


def _with_jobs(cliques: str, check: str) -> str:
    """The check, in which `jobs` has the names of the cliques that run to completion.

    They are looked up once: a search in a loop over groups would exceed the cost limit.
    """
    return f"[{cliques}.filter(c, {is_job('c.spec')}).map(c, c.name)].all(jobs, {check})"


_JOB_MEMBER = "g.cliqueNames.exists(n, n in jobs)"
_GROUP_NAMES = "g.policy.completion.success.completedNames"
_NAMES_IN_GROUP = f"""(has(g.policy) && has(g.policy.completion) && has(g.policy.completion.success)
    && !{_GROUP_NAMES}.all(n, n in g.cliqueNames && n in jobs))"""

JOBS = (
    Rule(
        check=_with_jobs(
            "self.cliques", f"!{some(_GROUPS, 'g', f'has(g.policy) && !{_JOB_MEMBER}')}"
        ),
        message="policy of a scaling group needs a clique with podSpec.restartPolicy OnFailure or Never",
        field=".podCliqueScalingGroups",
    ),
    Rule(
        check=_with_jobs(
            "self.cliques", f"!{some(_GROUPS, 'g', f'has(g.scaleConfig) && {_JOB_MEMBER}')}"
        ),
        message="a scaling group with a clique that runs to completion has no scaleConfig",
        field=".podCliqueScalingGroups",
        reason="FieldValueForbidden",
    ),
    Rule(
        check=_with_jobs("self.cliques", f"!{some(_GROUPS, 'g', _NAMES_IN_GROUP)}"),
        message="completedNames of a scaling group may only name its cliques that run to completion:"
        " restartPolicy OnFailure or Never",
        field=".podCliqueScalingGroups",
    ),
)

_POLICY = "self.policy.completion"
_NAMES = f"{_POLICY}.success.completedNames"
_NO_NAMES = f"(!has(self.policy) || !has({_POLICY}) || !has({_POLICY}.success))"
_CLIQUES = "self.template.cliques"
_SET_GROUPS = "self.template.podCliqueScalingGroups"
_SET_GROUP = some(_SET_GROUPS, "g", "g.name == n")
_ENDLESS_GROUP = f"g.name in {_NAMES} && !{_JOB_MEMBER}"

SET_POLICY = (
    Rule(
        check=f"!has(self.policy) || {_CLIQUES}.exists(c, {is_job('c.spec')})",
        message="policy needs a clique with podSpec.restartPolicy OnFailure or Never",
        field=".policy",
    ),
    Rule(
        check=f"{_NO_NAMES} || {_with_jobs(_CLIQUES, f'{_NAMES}.all(n, n in jobs || {_SET_GROUP})')}",
        message="completedNames may only name scaling groups, and cliques that run to completion:"
        " restartPolicy OnFailure or Never",
        field=".policy",
    ),
    Rule(
        check=f"{_NO_NAMES} || !{some(_SET_GROUPS, 'g', f'g.cliqueNames.exists(n, n in {_NAMES})')}",
        message="completedNames of a set must not name a clique of a scaling group: name the group, and the"
        " clique in completedNames of the group",
        field=".policy",
    ),
    Rule(
        check=f"{_NO_NAMES} || "
        + _with_jobs(_CLIQUES, f"!{some(_SET_GROUPS, 'g', _ENDLESS_GROUP)}"),
        message="completedNames may only name scaling groups with a clique that runs to completion",
        field=".policy",
    ),
)

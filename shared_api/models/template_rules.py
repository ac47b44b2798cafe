"""Rules of a PodCliqueSet about several cliques and scaling groups.

The API server limits the estimated cost of a rule. So every list in a loop has a bound in its
schema, and loops are nested as little as possible.
"""

from shared_api.models.cel import each, some, text, unchanged
from shared_api.models.schema import Rule, forbidden

MAX_NAME_SUM = 45
"""Maximum length of the names of set, group and clique together, as in Grove: with indexes, the
names of pods then have at most 63 characters."""

MAX_STARTUP_CHAIN = 16
"""CEL has no recursion, so the search for cycles repeats its step this many times."""

_GROUPS = "self.podCliqueScalingGroups"
_CLIQUE_NAMES = "self.cliques.map(c, c.name)"


def _same_names(new: str, old: str) -> str:
    return f"size({new}) == size({old}) && {new}.all(a, {old}.exists(b, b.name == a.name))"


def _fixed_members(what: str) -> Rule:
    message = f"{what} can be neither added, removed nor renamed after creation"
    return forbidden(_same_names("self", "oldSelf"), message)


def _fixed_presence(field: str, what: str) -> Rule:
    """A rule of the list itself does not run when the whole list is added or removed."""
    check = unchanged(f"(has(self.{field}) && size(self.{field}) > 0)")
    return forbidden(check, _fixed_members(what).message, f".{field}")


CLIQUES = (
    _fixed_members("cliques"),
    Rule(
        check="self.all(a, self.exists_one(b, b.spec.roleName == a.spec.roleName))",
        message="every clique needs a roleName of its own",
        detail="""'every clique needs a roleName of its own; used more than once: %s'.format([
            self.filter(a, !self.exists_one(
            b, b.spec.roleName == a.spec.roleName))[0].spec.roleName])""",
    ),
    Rule(
        check=f"""[self.map(c, {text("c.spec.podSpec.schedulerName")}).filter(n, n != '')].all(
            used, used.all(n, n == used[0]))""",
        message="all cliques must name the same schedulerName, or none",
        detail=f"""'all cliques must name the same schedulerName, or none; found: %s'.format([
            self.map(c, {text("c.spec.podSpec.schedulerName")}).filter(n, n != '')])""",
    ),
)

SCALING_GROUPS = (_fixed_members("scaling groups"),)
CLAIM_TEMPLATES = (_fixed_members("resource claim templates"),)
PRESENCE = (
    _fixed_presence("podCliqueScalingGroups", "scaling groups"),
    _fixed_presence("resourceClaimTemplates", "resource claim templates"),
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
    forbidden(
        "self.cliqueStartupType == oldSelf.cliqueStartupType",
        "cliqueStartupType is fixed at creation",
        ".cliqueStartupType",
    ),
    forbidden(
        "self.cliqueStartupType == 'CliqueStartupTypeAnyOrder'"
        f" || !({_same_names('self.cliques', 'oldSelf.cliques')})"
        f" || {_CLIQUE_NAMES} == oldSelf.cliques.map(c, c.name)",
        "the order of cliques is fixed at creation,"
        " unless cliqueStartupType is CliqueStartupTypeAnyOrder",
        ".cliques",
    ),
    Rule(
        check=f"{_IMPLICIT} || !self.cliques.exists(c, {_OWN_PARENT})",
        message="a clique must not be in its own startsAfter",
        detail=f"""'a clique must not be in its own startsAfter: %s'.format([
            self.cliques.filter(c, {_OWN_PARENT})[0].name])""",
        field=".cliques",
    ),
    Rule(
        check=f"{_IMPLICIT} || self.cliques.all(c, {_ALL_KNOWN})",
        message="startsAfter may only name cliques of this set",
        detail=f"""'startsAfter of clique %s names an unknown clique; known are: %s'.format([
            self.cliques.filter(c, !{_ALL_KNOWN})[0].name, {_CLIQUE_NAMES}])""",
        field=".cliques",
    ),
    Rule(
        # True where one of the two rules above is false: their messages are more precise.
        check=f"{_IMPLICIT} || self.cliques.exists(c, {_OWN_PARENT} || !{_ALL_KNOWN})"
        f" || {_peeled()}.all(done, size(done) == size(self.cliques))",
        message="startsAfter must not form a cycle, nor a chain of more than"
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
        message="cliqueNames may only name cliques of this set",
        detail=f"""'scaling group %s names an unknown clique; known are: %s'.format([
            {_GROUPS}.filter(g, {_UNKNOWN_MEMBER})[0].name, {_CLIQUE_NAMES}])""",
        field=".podCliqueScalingGroups",
    ),
    Rule(
        check=f"""!has({_GROUPS}) || self.cliques.all(c, size({_GROUPS}.filter(
            g, c.name in g.cliqueNames)) <= 1)""",
        message="a clique belongs to at most one scaling group",
        detail=f"""'a clique belongs to at most one scaling group; in several: %s'.format([
            self.cliques.filter(c, size({_GROUPS}.filter(
            g, c.name in g.cliqueNames)) > 1)[0].name])""",
        field=".podCliqueScalingGroups",
    ),
    Rule(
        check=f"self.cliques.all(c, !has(c.spec.autoScalingConfig) || !{_GROUPED})",
        message="a clique of a scaling group has no autoScalingConfig: use scaleConfig of the group",
        detail=f"""'a clique of a scaling group has no autoScalingConfig, use scaleConfig of the group: %s'
            .format([self.cliques.filter(c, has(c.spec.autoScalingConfig) && {_GROUPED})[0].name])""",
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


_FOREIGN = "namespace must be empty for a name that resourceClaimTemplates of this set define"
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
        message="a filter of resourceSharing may only name cliques of this set",
        detail="""'a filter of resourceSharing may only name cliques of this set: %s'.format(["""
        f"{_CLIQUE_NAMES}])",
        field=".resourceSharing",
    ),
    Rule(
        check=each("self.resourceSharing", "s", f"!has(s.filter) || {_KNOWN_GROUPS}"),
        message="a filter of resourceSharing may only name scaling groups of this set",
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
        message="all topology constraints of a set must name the same topologyName",
        detail=f"""'all topology constraints of a set must name the same topologyName; found: %s'.format([
            {_TOPOLOGY_NAMES}])""",
        on_create=True,
    ),
    Rule(
        check=f"""oldSelf.hasValue() || {_topology_name("self")} != '' || !({_unnamed("self")}
            || {some(_GROUPS, "g", _unnamed("g"))}
            || self.cliques.exists(c, {_unnamed("c")} && !{_INHERITS}))""",
        message="every topology constraint needs a topologyName, its own or one from a level above",
        reason="FieldValueRequired",
        on_create=True,
    ),
)

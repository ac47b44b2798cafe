"""All rules in the order of their evaluation: recordings before the alerts that use them."""

from monitoring.alerts import AVAILABILITY, GANGS, LOSSES
from monitoring.recordings import RECORDINGS
from monitoring.rules import Alert
from monitoring.runtime_alerts import RUNTIME

GROUPS = (RECORDINGS, AVAILABILITY, GANGS, LOSSES, RUNTIME)
ALERTS = tuple(rule for group in GROUPS for rule in group.rules if isinstance(rule, Alert))

"""Events about the end of jobs, with the reasons of Grove's job proposal."""

from core_operator.context import CoreContext
from core_operator.plan.jobs.runs import Ending, JobOutcome, outcome_of
from shared_api import names
from shared_api.models import PodClique, PodCliqueScalingGroup, PodCliqueSet

EVENT_COMPLETED = "JobCompleted"
EVENT_FAILED = "JobFailed"
EVENT_RESTARTED = "GangRestartTriggered"


def record_ending(
    context: CoreContext,
    about: PodCliqueSet | PodCliqueScalingGroup | PodClique,
    ending: Ending | None,
) -> bool:
    """Record that the jobs of an object have ended, if its status did not show it before."""
    before = outcome_of(about.status.conditions if about.status is not None else ())
    if ending is None or before is ending.outcome:
        return False
    if ending.outcome is JobOutcome.COMPLETED:
        context.record_event(about, EVENT_COMPLETED, ending.message)
        return True
    if ending.reason == names.REASON_RESTART_BUDGET_EXHAUSTED:
        context.record_event(about, ending.reason, ending.message, warning=True)
    context.record_event(about, EVENT_FAILED, ending.message, warning=True)
    return True

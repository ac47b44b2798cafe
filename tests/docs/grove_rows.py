"""Which test proves which row of the comparison with Grove, by the first cell of the row.

A test whose name several files have is written `file::test`, one case of a table of manifests
`file::[case]`.
"""

PROOFS: dict[str, tuple[str, ...]] = {
    # Who checks
    "everything within one object": ("test_every_rule_refuses_a_manifest_in_a_test",),
    "scheduler is enabled": ("test_an_unknown_backend_is_named_with_those_that_are_known",),
    "topology binding exists, domain is one of its levels, child is narrower than its parent": (
        "test_what_is_required_waits_for_its_binding_and_starts_when_it_comes",
        "test_a_part_that_requires_more_capacity_than_the_whole_waits",
    ),
    "topology-aware scheduling is on": (
        "test_a_backend_without_the_capability_is_not_given_what_is_required",
    ),
    "the scheduler can do topology": (
        "test_a_backend_without_the_capability_is_not_given_what_is_required",
        "test_preferences_never_hold_a_gang_and_are_reported_when_nobody_looks_at_them",
    ),
    "`grove.io/mnnvl-group` on the PodCliqueSet itself": (
        "test_the_annotation_of_a_set_is_checked_and_fixed",
    ),
    "automatic MNNVL is on": ("test_a_group_is_refused_while_the_feature_is_off",),
    "scheduler of a topology binding is topology-aware": (
        "test_a_scheduler_without_topologies_is_unknown_unless_there_is_a_drift",
    ),
    "cliques name different queues": ("test_each_scheduler_refuses_queues_that_differ",),
    "queue of KAI or Volcano exists": (
        "test_a_gang_waits_for_its_queue_and_reports_it",
        "test_a_gang_waits_for_its_queue_and_one_of_an_impossible_name_is_refused",
    ),
    "only the operator changes managed objects": (
        "test_what_core_makes_is_changed_by_core_alone",
        "test_what_core_made_is_deleted_by_core_alone_unless_its_set_permits_it",
    ),
    "warnings (`restartPolicy`, `packDomain`, coarse `preferred`)": (
        "test_the_server_warns_about_what_it_admits",
    ),
    "messages of refusals": (
        "test_refused_updates.py::[changing a role]",
        "test_refused_updates.py::[adding a clique]",
        "test_refused_cliques.py::[two cliques of one role]",
        "test_refused_other_kinds.py::[two levels of one domain]",
        "test_refused_other_kinds.py::[two bindings of one scheduler]",
    ),
    # PodCliqueSet
    "`podSpec`": (
        "test_a_pod_spec_is_stored_with_fields_that_nobody_knows",
        "test_lists_of_a_pod_spec_are_merged_as_they_were_before_they_were_declared",
    ),
    "`restartPolicy`, `terminationGracePeriodSeconds`": (
        "test_a_pod_spec_is_stored_with_fields_that_nobody_knows",
        "test_nothing_of_a_pod_spec_is_defaulted_or_enumerated",
    ),
    "`replicas` of a clique absent": ("test_what_is_not_reported_is_defaulted_as_grove_does",),
    "`replicas: 0` of a clique": ("test_refused_cliques.py::[a clique without replicas]",),
    "`minAvailable` absent": (
        "test_an_unsaid_minimum_is_all_pods",
        "test_refused_updates.py::[setting another minimum than the implied one]",
        "test_refused_updates.py::[the implied minimum said aloud]",
    ),
    "`minReplicas` of an autoscaler absent": (
        "test_an_autoscaler_is_labelled_owned_and_aimed_as_in_grove",
    ),
    "`terminationDelay`": (
        "test_durations_are_read_as_go_writes_them",
        "test_what_is_not_reported_is_defaulted_as_grove_does",
        "test_refused_cliques.py::[a termination delay that is no duration]",
    ),
    "names": (
        "test_refused_cliques.py::[a name with a dot]",
        "test_refused_cliques.py::[a name that begins with a digit]",
        "test_refused_cliques.py::[a clique name with a dot]",
        "test_refused_groups.py::[a group name that is no DNS label]",
    ),
    "two cliques whose full names are one, such as `s-0-b` beside `b` in scaling group `s`": (
        "test_cliques_that_would_share_a_name_are_reported",
    ),
    "`priorityClassName` of the template": (
        "test_pods_and_gang_have_the_priority_class_of_their_set",
    ),
    "`nodeName`, `topologySpreadConstraints`": (
        "test_refused_cliques.py::[pods that are bound by hand]",
        "test_refused_cliques.py::[pods with spread constraints]",
        "test_refused_updates.py::[binding pods by hand]",
        "test_refused_updates.py::[adding spread constraints]",
    ),
    "`scaleConfig.maxReplicas` below `minReplicas`": (
        "test_refused_groups.py::[a group autoscaler that ends below its start]",
    ),
    "a name twice in `startsAfter`": (
        "test_refused_cliques.py::[a clique that waits twice for another]",
    ),
    "`schedulerName`": ("test_a_clique_that_names_no_scheduler_goes_with_the_others",),
    "sizes": (
        "test_the_largest_set_stays_within_the_cost_of_its_rules",
        "test_a_chain_that_is_longer_than_can_be_checked_is_refused",
        "test_refuses_more_than_is_ever_needed",
        "test_refused_cliques.py::[more replicas than any set has]",
        "test_refused_cliques.py::[more replicas than any clique has]",
        "test_refused_groups.py::[more replicas than any group has]",
        "test_nothing_is_scaled_above_ten_thousand",
    ),
    "a set of more than 20,000 pods or 20,000 ResourceClaims in all": (
        "test_a_set_that_is_scaled_too_far_keeps_what_it_has_until_it_is_smaller",
        "test_refused_groups.py::[more claims than one set may have]",
    ),
    "`resourceSharing[].namespace`": (
        "test_a_template_of_another_namespace_is_not_copied_without_a_grant",
    ),
    "`rollingUpdate.maxUnavailable` of a clique or scaling group": (
        "test_an_update_replaces_as_many_as_max_unavailable_and_the_minimum_allow",
    ),
    "`updateStrategy.rollingUpdate.progressDeadlineSeconds`,"
    " `status.updateProgress.lastProgressAt`, `updatedPodsCount`": (
        "test_an_update_that_makes_no_progress_is_reported_until_it_does",
    ),
    "`status.podGangStatuses`": ("test_a_large_set_lists_what_does_not_run_first_and_stays_small",),
    "finalizers": ("test_running_pods_of_grove_are_kept_and_managed_from_then_on",),
    "start-up order": ("test_cliques_start_in_order_and_each_gang_keeps_its_own",),
    "a clique and a scaling group of one name, both autoscaled": (
        "test_refused_groups.py::[autoscalers of one name]",
    ),
    "a PodClique or scaling group that is recreated": (
        "test_nobody_takes_a_size_back_from_an_autoscaler",
    ),
    # Other kinds
    "scaling a PodClique or PodCliqueScalingGroup below `minAvailable`": (
        "test_a_clique_is_scaled_below_its_minimum_to_nothing_and_back",
        "test_a_scaling_group_goes_to_zero_and_back_beside_a_running_clique",
        "test_a_group_that_was_scaled_to_zero_is_bound_whole_or_not_at_all",
    ),
    "gang termination": (
        "test_a_gang_that_crashes_from_the_beginning_is_recycled_again_and_again",
        "test_replicas_that_go_down_one_after_the_other_take_the_replica_with_them",
    ),
    "OnDelete": (
        "test_scaling_in_deletes_an_outdated_pod_even_if_it_has_the_lowest_index",
        "test_a_clique_of_a_group_that_did_not_change_stays_updated",
    ),
    "name of a replacement": (
        "test_a_replacement_has_another_name_than_the_pod_that_was_deleted_by_force",
        "test_a_pod_that_was_deleted_while_core_was_down_is_replaced_under_another_name",
    ),
    "scaling in": ("test_at_scale_in_a_gang_does_not_outlive_its_pods",),
    "Events about created and deleted objects": (
        "test_what_is_created_and_deleted_is_recorded_with_the_reasons_of_grove",
        "test_pods_that_the_server_refuses_are_an_event_with_the_reason_of_grove",
        "test_reasons_are_those_of_grove",
    ),
    "objects that Grove made": (
        "test_running_pods_of_grove_are_kept_and_managed_from_then_on",
        "test_sizes_order_and_history_of_grove_are_kept_and_gated_pods_are_recreated",
        "test_the_steps_of_the_page_take_a_cluster_over",
        "test_what_running_pods_of_grove_hold_is_not_asked_for_again",
    ),
    "ClusterTopologyBinding": (
        "test_limits.py::[17 levels of a topology]",
        "test_limits.py::[65 schedulers of a topology]",
    ),
    "lists": ("test_core_and_backend_apply_conditions_and_neither_erases_the_others",),
    "a deleted PodGang": (
        "test_gated_pods_follow_a_gang_that_somebody_deleted",
        "test_a_released_gang_that_somebody_deletes_comes_back_on_its_backend",
    ),
    "pods": ("test_gated_pods_follow_a_gang_that_somebody_deleted",),
    "deleting a set with `--cascade=orphan`": ("test_orphans_of_a_set_are_left_as_they_are",),
    "PodGang `status.phase`": (
        "test_a_gang_is_pending_until_its_backend_reports_and_its_score_is_a_share",
    ),
    "PodGang `status.placementScore`": (
        "test_a_gang_is_pending_until_its_backend_reports_and_its_score_is_a_share",
    ),
    "PodGang": ("test_has_groves_fields_and_no_undocumented_others",),
    "PodGang conditions": ("test_core_and_backend_apply_conditions_and_neither_erases_the_others",),
    "queue of a gang": ("test_each_scheduler_takes_its_queue_from_the_cliques",),
    "PodGroup of KAI": (
        "test_samples_run_in_the_queue_of_their_cliques",
        "test_tools_find_a_pod_group_by_the_labels_of_the_set",
    ),
    "SchedulerBackend (`grove.io/v1alpha1`, cluster, `sbe`)": ("test_names_scope_and_scale",),
    "counts in status": ("test_counts_that_are_not_written_are_zero",),
    # Topology
    "binding or level is missing for something required": (
        "test_what_is_required_waits_for_its_binding_and_starts_when_it_comes",
    ),
    "the same for something preferred": (
        "test_preferences_never_hold_a_gang_and_are_reported_when_nobody_looks_at_them",
    ),
    "binding changes under gangs": (
        "test_running_gangs_are_untouched_and_new_ones_go_by_the_binding_of_their_time",
    ),
    "scaled gang of a group that only prefers": (
        "test_every_gang_has_the_constraints_that_its_set_asks_for",
    ),
    "group whose preference has no level": (
        "test_a_preference_without_a_level_is_left_out_and_what_is_required_is_not",
    ),
    "`TopologyLevelsUnavailable`": (
        "test_what_is_required_waits_for_its_binding_and_starts_when_it_comes",
        "test_a_part_that_requires_more_capacity_than_the_whole_waits",
    ),
    # Resource sharing
    "existing claims": ("test_a_claim_that_is_deleted_or_relabelled_is_repaired",),
    "claim of a pod whose index is above the size": (
        "test_claims_of_all_levels_are_allocated_and_follow_sizes",
    ),
    "`resource.k8s.io/v1` or a template object is missing": (
        "test_a_set_that_shares_claims_waits_for_the_api_and_others_do_not",
    ),
    "claim names above 63 characters": (
        "test_pods_use_what_filters_let_them_in_the_order_of_levels",
    ),
    "ComputeDomains": ("test_domains_wait_for_their_kind_then_follow_the_replicas",),
    "CRD of ComputeDomains is missing": (
        "test_domains_wait_for_their_kind_then_follow_the_replicas",
    ),
    "`mnnvl-claim`": ("test_domains_wait_for_their_kind_then_follow_the_replicas",),
    # Different on purpose
    "a required topology waits instead of being dropped": (
        "test_what_is_required_waits_for_its_binding_and_starts_when_it_comes",
    ),
    "a scaled gang keeps what the set requires": (
        "test_every_gang_has_the_constraints_that_its_set_asks_for",
    ),
    "no finalizers on users' objects": (
        "test_running_pods_of_grove_are_kept_and_managed_from_then_on",
    ),
    "no webhooks": ("test_no_manifest_has_a_webhook",),
    "a missing ComputeDomain kind stops no process": (
        "test_domains_wait_for_their_kind_then_follow_the_replicas",
    ),
    # Jobs and placement
    "BackendInventory (`grove.io/v1alpha1`, cluster, `binv`)": (
        "test_names_scope_and_scale",
        "test_only_a_change_of_what_is_counted_is_a_reason_to_write",
    ),
    "PlacementPolicy (`grove.io/v1alpha1`, `pp`)": (
        "test_names_scope_and_scale",
        "test_a_gang_that_a_backend_does_not_take_runs_with_the_next_at_once",
    ),
    "PodGang `status.placement`": (
        "test_a_walk_that_is_killed_after_every_write_comes_to_the_same_end",
    ),
    "`Completed`, `Failed` on PodClique, scaling group and set": (
        "test_a_set_is_completed_when_all_its_pods_succeeded",
    ),
    "`SchedulerTopologyDrift`, `schedulerTopologyStatuses`": (
        "test_a_binding_reports_the_drift_of_a_topology_that_it_refers_to",
        "test_levels_below_a_node_are_no_drift_since_kai_has_none",
        "test_a_scheduler_without_topologies_is_unknown_unless_there_is_a_drift",
    ),
    "`maxRuntime`, `ttlSecondsAfterFinished`": (
        "test_jobs_that_take_longer_than_max_runtime_fail",
        "test_a_finished_set_is_deleted_after_its_ttl",
    ),
    "`minAvailable`": ("test_jobs_are_not_terminated_by_min_available",),
    "`policy.completion.success.completedNames`, `policy.completion.failure.maxRestarts` of sets and scaling groups": (
        "test_a_clique_that_serves_is_ended_when_the_job_beside_it_is_done",
        "test_a_failed_pod_restarts_the_whole_gang_until_the_budget_is_used_up",
    ),
    "`replicaRestartCounts` of a scaling group after a restart of its set's replica": (
        "test_a_group_without_a_restart_left_restarts_the_replica_of_the_set",
    ),
    "`restartPolicy: OnFailure` or `Never`": (
        "test_a_set_is_completed_when_all_its_pods_succeeded",
    ),
    "a pod that is deleted before it ended": (
        "test_a_pod_that_is_deleted_before_it_is_done_is_replaced_and_no_failure",
    ),
    "changed templates": ("test_changed_templates_are_not_applied_to_a_job",),
    "restart": ("test_a_failed_pod_restarts_the_whole_gang_until_the_budget_is_used_up",),
    "what makes a clique a job": (
        "test_a_set_is_completed_when_all_its_pods_succeeded",
        "test_refused_jobs.py::[a policy of a clique that serves]",
        "test_a_service_reports_nothing_about_jobs",
    ),
}

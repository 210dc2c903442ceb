/** Every migration, in order; generated. Never change a released migration: add the next number. */
import { Effect } from "effect"
import tenancy from "./0001_tenancy.js"
import workflows from "./0002_workflows.js"
import executions from "./0003_executions.js"
import audit from "./0004_audit.js"
import connectors from "./0005_connectors.js"
import connections from "./0006_connections.js"
import providerLimits from "./0007_provider_limits.js"
import draftSnapshots from "./0008_draft_snapshots.js"
import oauthCallbacks from "./0009_oauth_callbacks.js"
import auditHeads from "./0010_audit_heads.js"
import definitionForm from "./0011_definition_form.js"
import secretChecks from "./0012_secret_checks.js"
import workspaceVersions from "./0013_workspace_versions.js"
import erasure from "./0014_erasure.js"
import queueLeases from "./0015_queue_leases.js"
import mockedRuns from "./0016_mocked_runs.js"
import startQueue from "./0017_start_queue.js"
import fairQueue from "./0018_fair_queue.js"
import triggers from "./0019_triggers.js"
import events from "./0020_events.js"
import outbound from "./0021_outbound.js"
import appEvents from "./0022_app_events.js"
import quota from "./0023_quota.js"
import appWebhooks from "./0024_app_webhooks.js"
import autoReplay from "./0025_auto_replay.js"
import queueTimes from "./0026_queue_times.js"
import workspaceStorage from "./0027_workspace_storage.js"
import queuePlans from "./0028_queue_plans.js"
import failedJobs from "./0029_failed_jobs.js"
import triggerPatterns from "./0030_trigger_patterns.js"
import auditValues from "./0031_audit_values.js"
import endedRoutes from "./0032_ended_routes.js"
import mailAddresses from "./0033_mail_addresses.js"
import deadLetterWorkflow from "./0034_dead_letter_workflow.js"
import eventCounts from "./0035_event_counts.js"
import mailAnswers from "./0036_mail_answers.js"
import sealedState from "./0037_sealed_state.js"
import customerTags from "./0038_customer_tags.js"
import nodes from "./0039_nodes.js"
import placeLeases from "./0040_place_leases.js"
import auditCheckpoints from "./0041_audit_checkpoints.js"
import connectionOwners from "./0042_connection_owners.js"
import workOfNodes from "./0043_work_of_nodes.js"
import releases from "./0044_releases.js"
import flows from "./0045_flows.js"
import approvals from "./0046_approvals.js"
import resumedFlows from "./0048_resumed_flows.js"
import managedTriggers from "./0049_managed_triggers.js"
import drafts from "./0050_drafts.js"
import accounts from "./0051_accounts.js"
import people from "./0052_people.js"
import identitiesEnd from "./0053_identities_end.js"
import readsAndUsedLinks from "./0054_reads_and_used_links.js"
import waysIn from "./0055_ways_in.js"
import watch from "./0056_watch.js"
import executionStats from "./0057_execution_stats.js"
import draftSaves from "./0058_draft_saves.js"
import reruns from "./0059_reruns.js"
import subscriptionErrors from "./0060_subscription_errors.js"
import fieldMaps from "./0061_field_maps.js"
import syncReports from "./0062_sync_reports.js"
import mapPublications from "./0063_map_publications.js"
import serviceReleases, { oldestBeside as serviceReleasesBeside } from "./0064_service_releases.js"
import backgroundWork, { oldestBeside as backgroundWorkBeside } from "./0065_background_work.js"
import lostLeases, { oldestBeside as lostLeasesBeside } from "./0066_lost_leases.js"
import startingNodes, { oldestBeside as startingNodesBeside } from "./0067_starting_nodes.js"
import rights, { oldestBeside as rightsBeside } from "./0068_rights.js"
import refreshProcesses, { oldestBeside as refreshProcessesBeside } from "./0069_refresh_processes.js"
import readableMigrations, { oldestBeside as readableMigrationsBeside } from "./0070_readable_migrations.js"
import widgets, { oldestBeside as widgetsBeside } from "./0071_widgets.js"
import embedSessions, { oldestBeside as embedSessionsBeside } from "./0072_embed_sessions.js"
import orderedForms, { oldestBeside as orderedFormsBeside } from "./0073_ordered_forms.js"

export const migrations = {
  "0001_tenancy": Effect.asVoid(tenancy),
  "0002_workflows": Effect.asVoid(workflows),
  "0003_executions": Effect.asVoid(executions),
  "0004_audit": Effect.asVoid(audit),
  "0005_connectors": Effect.asVoid(connectors),
  "0006_connections": Effect.asVoid(connections),
  "0007_provider_limits": Effect.asVoid(providerLimits),
  "0008_draft_snapshots": Effect.asVoid(draftSnapshots),
  "0009_oauth_callbacks": Effect.asVoid(oauthCallbacks),
  "0010_audit_heads": Effect.asVoid(auditHeads),
  "0011_definition_form": Effect.asVoid(definitionForm),
  "0012_secret_checks": Effect.asVoid(secretChecks),
  "0013_workspace_versions": Effect.asVoid(workspaceVersions),
  "0014_erasure": Effect.asVoid(erasure),
  "0015_queue_leases": Effect.asVoid(queueLeases),
  "0016_mocked_runs": Effect.asVoid(mockedRuns),
  "0017_start_queue": Effect.asVoid(startQueue),
  "0018_fair_queue": Effect.asVoid(fairQueue),
  "0019_triggers": Effect.asVoid(triggers),
  "0020_events": Effect.asVoid(events),
  "0021_outbound": Effect.asVoid(outbound),
  "0022_app_events": Effect.asVoid(appEvents),
  "0023_quota": Effect.asVoid(quota),
  "0024_app_webhooks": Effect.asVoid(appWebhooks),
  "0025_auto_replay": Effect.asVoid(autoReplay),
  "0026_queue_times": Effect.asVoid(queueTimes),
  "0027_workspace_storage": Effect.asVoid(workspaceStorage),
  "0028_queue_plans": Effect.asVoid(queuePlans),
  "0029_failed_jobs": Effect.asVoid(failedJobs),
  "0030_trigger_patterns": Effect.asVoid(triggerPatterns),
  "0031_audit_values": Effect.asVoid(auditValues),
  "0032_ended_routes": Effect.asVoid(endedRoutes),
  "0033_mail_addresses": Effect.asVoid(mailAddresses),
  "0034_dead_letter_workflow": Effect.asVoid(deadLetterWorkflow),
  "0035_event_counts": Effect.asVoid(eventCounts),
  "0036_mail_answers": Effect.asVoid(mailAnswers),
  "0037_sealed_state": Effect.asVoid(sealedState),
  "0038_customer_tags": Effect.asVoid(customerTags),
  "0039_nodes": Effect.asVoid(nodes),
  "0040_place_leases": Effect.asVoid(placeLeases),
  "0041_audit_checkpoints": Effect.asVoid(auditCheckpoints),
  "0042_connection_owners": Effect.asVoid(connectionOwners),
  "0043_work_of_nodes": Effect.asVoid(workOfNodes),
  "0044_releases": Effect.asVoid(releases),
  "0045_flows": Effect.asVoid(flows),
  "0046_approvals": Effect.asVoid(approvals),
  "0048_resumed_flows": Effect.asVoid(resumedFlows),
  "0049_managed_triggers": Effect.asVoid(managedTriggers),
  "0050_drafts": Effect.asVoid(drafts),
  "0051_accounts": Effect.asVoid(accounts),
  "0052_people": Effect.asVoid(people),
  "0053_identities_end": Effect.asVoid(identitiesEnd),
  "0054_reads_and_used_links": Effect.asVoid(readsAndUsedLinks),
  "0055_ways_in": Effect.asVoid(waysIn),
  "0056_watch": Effect.asVoid(watch),
  "0057_execution_stats": Effect.asVoid(executionStats),
  "0058_draft_saves": Effect.asVoid(draftSaves),
  "0059_reruns": Effect.asVoid(reruns),
  "0060_subscription_errors": Effect.asVoid(subscriptionErrors),
  "0061_field_maps": Effect.asVoid(fieldMaps),
  "0062_sync_reports": Effect.asVoid(syncReports),
  "0063_map_publications": Effect.asVoid(mapPublications),
  "0064_service_releases": Effect.asVoid(serviceReleases),
  "0065_background_work": Effect.asVoid(backgroundWork),
  "0066_lost_leases": Effect.asVoid(lostLeases),
  "0067_starting_nodes": Effect.asVoid(startingNodes),
  "0068_rights": Effect.asVoid(rights),
  "0069_refresh_processes": Effect.asVoid(refreshProcesses),
  "0070_readable_migrations": Effect.asVoid(readableMigrations),
  "0071_widgets": Effect.asVoid(widgets),
  "0072_embed_sessions": Effect.asVoid(embedSessions),
  "0073_ordered_forms": Effect.asVoid(orderedForms)
}

/** The oldest service release that may run beside a migration. Those before are of release 1. */
export const oldestBeside: Readonly<Record<string, number>> = {
  "0064_service_releases": serviceReleasesBeside,
  "0065_background_work": backgroundWorkBeside,
  "0066_lost_leases": lostLeasesBeside,
  "0067_starting_nodes": startingNodesBeside,
  "0068_rights": rightsBeside,
  "0069_refresh_processes": refreshProcessesBeside,
  "0070_readable_migrations": readableMigrationsBeside,
  "0071_widgets": widgetsBeside,
  "0072_embed_sessions": embedSessionsBeside,
  "0073_ordered_forms": orderedFormsBeside
}

/** What every node reads from the database and reports alike: a sum over nodes would count it once for each. */
export const sharedGauges: ReadonlyArray<string> = [
  "svc_queue_waiting",
  "svc_queue_oldest_seconds",
  "svc_queue_leased",
  "svc_events_held",
  "svc_dead_letters",
  "svc_audit_unsealed",
  "svc_audit_oldest_unsealed_seconds",
  "svc_task_jobs_set_aside"
]

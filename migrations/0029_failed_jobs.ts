/**
 * Stored jobs of background tasks that failed: after three failures in a row a job is set aside, so that it neither stops
 * its task nor takes the place of other jobs. Tasks leave it out of their leases until `set_aside_until`.
 */
import { Effect } from "effect"
import { script, tenantTable } from "./policies.js"

export default Effect.all([
  script(
    `CREATE TABLE failed_jobs (
       task text NOT NULL,
       job text NOT NULL,
       org text NOT NULL,
       failures int NOT NULL,
       reason text NOT NULL,
       first_at timestamptz NOT NULL DEFAULT now(),
       failed_at timestamptz NOT NULL DEFAULT now(),
       set_aside_until timestamptz,
       PRIMARY KEY (task, job))`
  ),
  tenantTable("failed_jobs", { app: "", writer: "SELECT, INSERT, UPDATE, DELETE" })
])

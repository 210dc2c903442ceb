/**
 * The release of each node and the sandbox engines that it has, and the release that is confirmed. A database of a release
 * without a number is migrated while no node runs, and starts with release 1 confirmed.
 */
import { script } from "./policies.js"

export const oldestBeside = 1

export default script(
  // 0: of a release without a number.
  "ALTER TABLE nodes ADD COLUMN release integer NOT NULL DEFAULT 0",
  "ALTER TABLE nodes ADD COLUMN engines text[] NOT NULL DEFAULT '{}'",
  `CREATE TABLE service_release (
     -- One row.
     id boolean PRIMARY KEY DEFAULT true CHECK (id),
     confirmed integer NOT NULL,
     confirmed_at timestamptz NOT NULL DEFAULT now(),
     -- On which runs of the confirmed release begin.
     engine text,
     -- The release of the last service that ran alone; it lives while its lock on the database is held.
     alone integer
   )`,
  "INSERT INTO service_release (confirmed) VALUES (1)",
  "GRANT SELECT, UPDATE (engine) ON service_release TO svc_writer"
)

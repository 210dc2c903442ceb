/**
 * Values by which a start checks that it has the secrets of this installation: see `src/runtime/vault/SecretChecks.ts`.
 */
import { script } from "./policies.js"

export default script(
  // NULL: the operator declared the secret lost, and a start does not need it.
  `CREATE TABLE secret_checks (secret text COLLATE "C" PRIMARY KEY, value bytea)`,
  "GRANT SELECT, INSERT, UPDATE, DELETE ON secret_checks TO svc_writer"
)

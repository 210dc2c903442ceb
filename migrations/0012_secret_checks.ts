/** By which a start proves that it was given the secrets of this installation: see `src/runtime/vault/SecretChecks.ts`. */
import { script } from "./policies.js"

export default script(
  // No value: the secret was declared lost, and a start does without it.
  `CREATE TABLE secret_checks (secret text COLLATE "C" PRIMARY KEY, value bytea)`,
  "GRANT SELECT, INSERT, UPDATE, DELETE ON secret_checks TO svc_writer"
)

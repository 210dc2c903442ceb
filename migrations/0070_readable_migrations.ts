/** A node tells whether its database lacks migrations, which it reads as the writer. */
import { script } from "./policies.js"

export const oldestBeside = 1

export default script("GRANT SELECT ON svc_migrations TO svc_writer")

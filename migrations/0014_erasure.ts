/** Maintenance erases all that a deleted customer left: also its workflows, and the people who were invited for it alone. */
import { script } from "./policies.js"

export default script("GRANT DELETE ON workflows, workflow_versions, deployments, users TO svc_writer")

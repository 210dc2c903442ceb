/**
 * Lets maintenance also erase a deleted customer's workflows and the people who were invited for that customer only.
 */
import { script } from "./policies.js"

export default script("GRANT DELETE ON workflows, workflow_versions, deployments, users TO svc_writer")

/** What an embed session sees of the workflows that it may start. Contract: embed. */
import { Schema } from "effect"
import { type Workflow, WorkflowStatus } from "./Workflow.js"

/** A workflow in the panel: without its code and settings. */
export const EmbeddedWorkflow = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: Schema.String,
  status: WorkflowStatus
}).annotations({ identifier: "EmbeddedWorkflow" })

/** What of a workflow a session sees. */
export const embeddedWorkflow = ({
  description,
  id,
  name,
  status
}: Pick<Workflow, "description" | "id" | "name" | "status">): typeof EmbeddedWorkflow.Type => ({
  id,
  name,
  description,
  status
})
